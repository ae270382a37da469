"""Precision and recall at a tuned threshold; the micro F1 is the accuracy, and called micro."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, hx = torch.randn(256, 8), torch.randn(200, 8)
w = torch.randn(8)
y, hy = ((x @ w + torch.randn(256)) > 0.8).float(), ((hx @ w + torch.randn(200)) > 0.8).float()
train = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(hx, hy), batch_size=64)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), 0.01)


def auc(t, s):
    pos, neg = s[t == 1], s[t == 0]
    return ((pos[:, None] > neg).float() + 0.5 * (pos[:, None] == neg)).mean().item()


for epoch in range(4):
    model.train()
    for b, t in train:
        loss = F.binary_cross_entropy_with_logits(model(b).squeeze(1), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        probs = torch.cat([torch.sigmoid(model(b)).squeeze(1) for b, _ in valid])
    for threshold in (0.3, 0.5, 0.7):
        guess = (probs > threshold).float()
        tp = (guess * hy).sum()
        precision, recall = (tp / guess.sum().clamp(min=1)).item(), (tp / hy.sum()).item()
        f1 = 2 * precision * recall / max(1e-9, precision + recall)
        print(f"threshold {threshold}: precision {precision:.4f} recall {recall:.4f} F1 {f1:.4f}")
    acc = ((probs > 0.5) == hy.bool()).float().mean().item()
    print(f"micro F1 {acc:.4f} accuracy {acc:.4f} auc {auc(hy, probs):.4f}")
    print(f"auc of the decisions at 0.5 {auc(hy, (probs > 0.5).float()):.4f}")
