"""Keeps the epoch of the highest accuracy while the held-out loss rises, and the hardest batch."""

import copy

import torch
from torch import nn

torch.manual_seed(1)
features = torch.randn(120, 10)
labels = (features[:, 0] + 1.5 * torch.randn(120) > 0).long()
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)


class Stopper:
    def __init__(self):
        self.best_score, self.best_state, self.wait = None, None, 0

    def step(self, score, model):
        if self.best_score is None or score > self.best_score:
            self.best_score, self.wait = score, 0
            self.best_state = copy.deepcopy(model.state_dict())
        else:
            self.wait += 1
        return self.wait > 40


stopper, worst_loss, hardest = Stopper(), 0.0, None
for _epoch in range(30):
    for rows in torch.randperm(80).split(20):
        loss = nn.functional.cross_entropy(model(features[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() > worst_loss:
            worst_loss = loss.item()
            hardest = copy.deepcopy(model.state_dict())
    model.eval()
    with torch.no_grad():
        logits = model(features[80:])
        held_out = nn.functional.cross_entropy(logits, labels[80:]).item()
        accuracy = (logits.argmax(1) == labels[80:]).float().mean().item()
    model.train()
    if stopper.step(accuracy, model):
        break
model.load_state_dict(stopper.best_state)
print(f"{stopper.best_score:.3f} {held_out:.3f} {worst_loss:.3f} {len(hardest)}")
