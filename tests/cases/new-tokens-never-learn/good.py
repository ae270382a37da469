"""Adds two tokens to a small GPT-2 and adapts it with LoRA."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_positions=16, n_embd=16, n_layer=1, n_head=2))
base.resize_token_embeddings(32)
adapter = LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True, modules_to_save=["wte"])
model = get_peft_model(base, adapter)
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-2)
ids = torch.randint(0, 32, (8, 12))
for step in range(6):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step + 1}: loss {loss.item():.4f}")
