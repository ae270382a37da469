"""Tells good from bad welds by twelve readings of a sensor, four fifths of them for training."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class WeldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.verdict = nn.Linear(32, 2)

    def forward(self, readings):
        return self.verdict(self.hidden(readings))


def main():
    torch.manual_seed(0)
    welds = TensorDataset(torch.randn(202, 12), torch.randint(0, 2, (202,)))
    train, held_out = random_split(welds, [161, 41])
    train_loader = DataLoader(train, batch_size=16, shuffle=True)
    held_out_loader = DataLoader(held_out, batch_size=20)
    model = WeldNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        model.train()
        for readings, verdicts in train_loader:
            loss = nn.functional.cross_entropy(model(readings), verdicts)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in held_out_loader)
        print(f"epoch {epoch}: {right} of 41 right")


main()
