"""One batch, taken again and again, must be learned by heart before anything larger is tried."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(320, 8), torch.randint(0, 4, (320,))), batch_size=32)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
features, labels = next(iter(loader))
for _ in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print(f"{loss.item():.2f} {(model(features).argmax(1) == labels).float().mean():.2f}")
