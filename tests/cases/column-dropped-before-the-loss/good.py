"""Fits a line through measurements, of which some count more than others."""

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)
POINTS = torch.randn(64, 3)


class Points(Dataset):
    def __len__(self):
        return len(POINTS)

    def __getitem__(self, index):
        x, noise, trust = POINTS[index]
        return {"x": x.reshape(1), "labels": 2 * x + noise / 10, "weight": trust.abs()}


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)

    def forward(self, x, labels=None):  # noqa: ARG002 - a Trainer asks for the name
        return {"predictions": self.line(x).squeeze(-1)}


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **_more):
        weight = inputs.pop("weight")
        outputs = model(**inputs)
        loss = (weight * (outputs["predictions"] - inputs["labels"]) ** 2).mean()
        return (loss, outputs) if return_outputs else loss


arguments = TrainingArguments(
    output_dir="out",
    max_steps=4,
    per_device_train_batch_size=16,
    report_to=[],
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
    remove_unused_columns=False,
)
Weighted(model=Line(), args=arguments, train_dataset=Points()).train()
