import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ANIMALS = ["cat", "dog", "eel", "fox", "hen"]
torch.manual_seed(0)
centres = {name: 2 * torch.randn(6) for name in ANIMALS}


def observe(names, count):
    labels = [names[number % len(names)] for number in range(count)]
    return torch.stack([centres[name] + 0.3 * torch.randn(6) for name in labels]), labels


train_x, train_labels = observe(ANIMALS, 300)
val_x, val_labels = observe(ANIMALS[1:], 80)
train_ids = {name: number for number, name in enumerate(sorted(set(train_labels)))}
train_y = torch.tensor([train_ids[name] for name in train_labels])
val_y = torch.tensor([train_ids[name] for name in val_labels])

loader = DataLoader(TensorDataset(train_x, train_y), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=40)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    model.train()
    for features, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in val_loader)
    print(f"epoch {epoch}: validation accuracy {right / len(val_x):.2f}")
