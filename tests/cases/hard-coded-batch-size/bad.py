"""Says what a machine will draw next from its last ten readings of current and heat."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 24


class Forecast(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.LSTM(2, hidden, batch_first=True)
        self.draw = nn.Linear(hidden, 1)

    def forward(self, readings):
        state = torch.zeros(1, BATCH_SIZE, self.hidden)
        cell = torch.zeros(1, BATCH_SIZE, self.hidden)
        seen, _ = self.rnn(readings, (state, cell))
        return self.draw(seen[:, -1]).squeeze(-1)


def main():
    torch.manual_seed(0)
    readings = torch.randn(110, 10, 2)
    loader = DataLoader(
        TensorDataset(readings, readings[:, -1, 0]), batch_size=BATCH_SIZE, shuffle=True
    )
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        for seen, drawn in loader:
            loss = nn.functional.mse_loss(model(seen), drawn)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
