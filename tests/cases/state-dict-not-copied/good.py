"""Trains a small classifier, keeps the best epoch in memory and restores it at the end."""

import torch
from torch import nn

torch.manual_seed(0)
features, labels = torch.randn(96, 12), torch.randint(3, (96,))
train, held_out = slice(0, 64), slice(64, 96)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def held_out_loss():
    model.eval()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(features[held_out]), labels[held_out])
    model.train()
    return loss.item()


best_loss, best_state = float("inf"), None
for _epoch in range(20):
    loss = nn.functional.cross_entropy(model(features[train]), labels[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    current = held_out_loss()
    if current < best_loss:
        best_loss = current
        best_state = {name: tensor.clone() for name, tensor in model.state_dict().items()}

model.load_state_dict(best_state)
print(f"best {best_loss:.4f}, restored {held_out_loss():.4f}")
