"""Forecasts the next hour of a sensor from a table of readings that NumPy holds."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Readings(Dataset):
    def __init__(self, hours=200, window=12):
        self.values = np.sin(np.arange(hours) / 7.0)
        self.window = window

    def __len__(self):
        return len(self.values) - self.window

    def __getitem__(self, first):
        last = first + self.window
        past = torch.from_numpy(self.values[first:last]).float()
        return past, torch.tensor(self.values[last], dtype=torch.float32)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for past, following in DataLoader(Readings(), batch_size=32, shuffle=True):
        forecast = model(past).squeeze(-1)
        loss = nn.functional.mse_loss(forecast, following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
