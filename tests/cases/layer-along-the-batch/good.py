import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.GRU(6, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, signals):
        states, _ = self.recurrent(signals)
        return self.head(states[:, -1])


torch.manual_seed(0)
kinds = torch.randint(0, 3, (96,))
signals = torch.randn(96, 10, 6)
signals[:, :4, 0] += kinds[:, None].float()
loader = DataLoader(TensorDataset(signals, kinds), batch_size=12, shuffle=True)
model = Gestures()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
