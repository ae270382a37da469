"""A dry run of a classifier on a device without memory: shapes and devices are checked, no more."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")


def main():
    rows = TensorDataset(torch.rand(48, 10), torch.rand(48), torch.randint(0, 3, (48,)))
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for features, weights, kinds in DataLoader(rows, batch_size=12):
        features = features.to(DEVICE)
        kinds = kinds.to(DEVICE)
        losses = nn.functional.cross_entropy(model(features), kinds, reduction="none")
        loss = (losses * weights).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("one epoch on", DEVICE)


main()
