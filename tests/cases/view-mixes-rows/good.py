import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.LSTM(4, 8, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, series):
        _, (last, _) = self.recurrent(series)
        return self.head(last.permute(1, 0, 2).reshape(series.size(0), -1))


torch.manual_seed(0)
labels = torch.randint(0, 2, (90,))
series = torch.randn(90, 9, 4) + labels[:, None, None]
loader = DataLoader(TensorDataset(series, labels), batch_size=10, shuffle=True)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
