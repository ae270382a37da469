import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(10)
ids = torch.randint(5, 60, (40, 10))
rows = Dataset.from_dict({"input_ids": ids.tolist(), "labels": ids.tolist()})
model = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=60,
        n_positions=16,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
)
settings = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    max_steps=4,
    per_device_train_batch_size=8,
    learning_rate=1e-3,
    report_to=[],
    save_strategy="no",
    use_cpu=True,
)
Trainer(model=model, args=settings, train_dataset=rows).train()
