import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Gate(nn.Module):
    """Mixes four experts by weights that add up to one."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 2) for _ in range(4))

    def forward(self, features):
        weights = F.softmax(self.weights(features), dim=0)
        outputs = torch.stack([expert(features) for expert in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outputs).sum(dim=1)


torch.manual_seed(0)
features = torch.randn(120, 8)
labels = (features[:, 0] * features[:, 1] > 0).long()
loader = DataLoader(TensorDataset(features, labels), batch_size=15)
model = Gate()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
