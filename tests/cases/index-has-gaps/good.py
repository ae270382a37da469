"""Predicts the yield of orchards from weather; years without rain data are left out."""

import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Orchards(Dataset):
    def __init__(self, weather, harvest):
        self.weather = weather
        self.harvest = harvest

    def __len__(self):
        return len(self.harvest)

    def __getitem__(self, number):
        inputs = torch.tensor([self.weather["rain"][number], self.weather["sun"][number]])
        return inputs, torch.tensor([self.harvest[number]])


def years(count=40):
    rows = range(count)
    rain = [None if row % 15 == 8 else row % 7 / 7 for row in rows]
    return pd.DataFrame(
        {"rain": rain, "sun": [row % 5 / 5 for row in rows], "tons": [row % 3 / 3 for row in rows]}
    )


torch.manual_seed(0)
known = years().dropna(subset=["rain"]).reset_index(drop=True)
loader = DataLoader(Orchards(known[["rain", "sun"]], known["tons"]), batch_size=4)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, tons in loader:
    loss = nn.functional.mse_loss(model(inputs.float()), tons.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
