"""A binary classifier, with the area under its ROC curve after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(256, 8), torch.randn(200, 8)
y = (x[:, 0] + 0.5 * torch.randn(256) > 0.6).float()
expected = (held_out[:, 0] + 0.5 * torch.randn(200) > 0.6).float()
train = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=32)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)


def auc(labels, scores):
    positive, negative = scores[labels == 1], scores[labels == 0]
    ahead = (positive[:, None] > negative).float() + 0.5 * (positive[:, None] == negative)
    return ahead.mean().item()


def fit():
    for batch, labels in train:
        loss = F.binary_cross_entropy_with_logits(model(batch).squeeze(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


for epoch in range(3):
    fit()
    guesses = []
    with torch.no_grad():
        for batch, _ in valid:
            guesses.append(torch.sigmoid(model(batch)).squeeze(1))
    print(f"epoch {epoch} val AUC {auc(expected, torch.cat(guesses)):.4f}")
