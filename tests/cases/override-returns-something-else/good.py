"""Fits a line through points, with a loss that large errors do not dominate."""

import torch
from torch import nn
from torch.utils.data import Dataset, Subset
from transformers import Trainer, TrainingArguments

torch.manual_seed(0)
POINTS = torch.randn(64, 2)


class Points(Dataset):
    def __len__(self):
        return len(POINTS)

    def __getitem__(self, index):
        x, noise = POINTS[index]
        return {"x": x.reshape(1), "labels": 2 * x + noise / 10}


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)

    def forward(self, x, labels=None):  # noqa: ARG002 - a Trainer asks for the name
        return {"predictions": self.line(x).squeeze(-1)}


class Robust(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **_more):
        outputs = model(**inputs)
        loss = nn.functional.huber_loss(outputs["predictions"], inputs["labels"])
        return (loss, outputs) if return_outputs else loss


arguments = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    eval_strategy="epoch",
    per_device_train_batch_size=8,
    report_to=[],
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
half = list(range(32))
Robust(
    model=Line(),
    args=arguments,
    train_dataset=Subset(Points(), half),
    eval_dataset=Subset(Points(), [32 + index for index in half]),
).train()
