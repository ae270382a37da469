"""Resumes training with an adapter that an earlier run has saved."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def classifier():
    torch.manual_seed(0)
    return Classifier()


x = torch.randn(96, 8)
y = x[:, :3].argmax(1)
with tempfile.TemporaryDirectory() as folder:
    first = get_peft_model(classifier(), LoraConfig(r=4, target_modules=["body"]))
    first.save_pretrained(folder)
    model = PeftModel.from_pretrained(classifier(), folder, is_trainable=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x.requires_grad_(True)
for epoch in range(5):
    for rows, labels in zip(x.split(32), y.split(32), strict=True):
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
