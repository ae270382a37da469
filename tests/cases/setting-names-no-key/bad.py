"""Fits a line through points, and keeps the epoch with the smallest error."""

import numpy as np
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

    def forward(self, x, labels):
        predictions = self.line(x).squeeze(-1)
        return {"loss": nn.functional.mse_loss(predictions, labels), "predictions": predictions}


def errors(evaluated):
    difference = evaluated.predictions - evaluated.label_ids
    return {"median_error": float(np.median(np.abs(difference)))}


arguments = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    eval_strategy="epoch",
    per_device_train_batch_size=8,
    report_to=[],
    save_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="error",
    greater_is_better=False,
    use_cpu=True,
    disable_tqdm=True,
)
half = list(range(32))
Trainer(
    model=Line(),
    args=arguments,
    train_dataset=Subset(Points(), half),
    eval_dataset=Subset(Points(), [32 + index for index in half]),
    compute_metrics=errors,
).train()
