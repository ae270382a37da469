import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=50,
    n_positions=64,
    n_embd=16,
    n_layer=1,
    n_head=2,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=1,
)
model = GPT2LMHeadModel(config).eval()


def complete(prompts, longest):
    seen = torch.ones_like(prompts)
    whole = model.generate(prompts, attention_mask=seen, max_new_tokens=longest, do_sample=False)
    return whole[:, prompts.shape[1] :]


for length in (6, 12, 18):
    prompts = torch.randint(2, 50, (4, length))
    print(f"{length}: {complete(prompts, 16).shape[1]} new tokens")
