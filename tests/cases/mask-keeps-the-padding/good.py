"""A recurrent network that sums up padded series, with a masked mean written by hand."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
steps = torch.arange(12)
lengths = torch.randint(3, 13, (256,))
real = (steps < lengths[:, None]).unsqueeze(-1)
series = torch.randn(256, 12, 6) * real
totals = series.cumsum(1) * real
loader = DataLoader(TensorDataset(series, totals, lengths), batch_size=16, shuffle=True)


class Totals(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 24, batch_first=True)
        self.head = nn.Linear(24, 6)

    def forward(self, series):
        return self.head(self.rnn(series)[0])


model = Totals()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(2):
    for rows, targets, counts in loader:
        errors = (model(rows) - targets).pow(2).mean(-1)
        mask = (steps < counts[:, None]).float()
        loss = (errors * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
