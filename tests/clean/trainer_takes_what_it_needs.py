"""Columns that the Trainer drops and nobody below it asks for, a key that no dataset has, and steps
that are as many as the epochs beside them."""

import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

torch.manual_seed(0)
ids = torch.randint(5, 60, (32, 8))


def prepared(row):
    source = row.get("source")
    return {"labels": int(row["input_ids"][0] > 30), "own": source == "own"}


rows = Dataset.from_dict({"input_ids": ids.tolist(), "source": ["own", "other"] * 16})
rows = rows.map(prepared)


class Weighing(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        weight = inputs.pop("weight", None)
        outputs = model(**inputs)
        loss = outputs.loss if weight is None else (outputs.loss * weight).mean()
        return (loss, outputs) if return_outputs else loss


config = BertConfig(
    vocab_size=60,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
)
settings = TrainingArguments(
    "out",
    per_device_train_batch_size=8,
    num_train_epochs=2,
    max_steps=8,
    learning_rate=1e-3,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
    logging_strategy="no",
    use_cpu=True,
)
trainer = Weighing(BertForSequenceClassification(config), settings, train_dataset=rows)
trainer.remove_callback(PrinterCallback)
print(trainer.train().global_step)
