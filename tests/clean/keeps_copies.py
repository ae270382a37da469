"""Keeps states in every way that is a copy, or is meant to be live, and restores them."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
features, labels = torch.randn(80, 6), torch.randint(2, (80,))
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
target = copy.deepcopy(model)
average = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
start = copy.deepcopy(model.state_dict())
shown = model.state_dict()
print({name: tuple(tensor.shape) for name, tensor in shown.items()})
snapshots, best, best_accuracy, best_model = [], None, 0.0, None

for step in range(24):
    loss = nn.functional.cross_entropy(model(features[:64]), labels[:64])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.1)
    if step % 4 == 3:
        target.load_state_dict(model.state_dict())
        model.eval()
        with torch.no_grad():
            accuracy = (model(features[64:]).argmax(1) == labels[64:]).float().mean().item()
        model.train()
        if accuracy > best_accuracy:
            best_accuracy = accuracy
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            best_model = copy.deepcopy(model)
        snapshots.append(copy.deepcopy(model.state_dict()))
    if step == 12:
        model.load_state_dict(start)

model.load_state_dict(model.state_dict())
mean = {name: torch.stack([state[name] for state in snapshots]).mean(0) for name in snapshots[0]}
model.load_state_dict(mean)
torch.save(model.state_dict(), "mean.pt")
model.load_state_dict(best)
torch.save({"model": model.state_dict(), "best": best_accuracy}, "best.pt")
print(f"{best_accuracy:.2f}")
