"""Tells machines apart by their hum; recordings are twice as long as those of the first trial."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES = 400


class HumNet(nn.Module):
    def __init__(self, machines=6, channels=24):
        super().__init__()
        self.channels = channels
        self.listen = nn.Sequential(nn.Conv1d(1, channels, 9, padding=4), nn.ReLU())
        self.shorten = nn.AdaptiveAvgPool1d(1)
        self.name = nn.Linear(channels, machines)

    def forward(self, hum):
        heard = self.shorten(self.listen(hum))
        return self.name(heard.view(-1, self.channels))


def main():
    torch.manual_seed(0)
    hums = TensorDataset(torch.randn(60, 1, SAMPLES), torch.randint(0, 6, (60,)))
    model = HumNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for hum, machine in DataLoader(hums, batch_size=10, shuffle=True):
        guessed = model(hum)
        loss = nn.functional.cross_entropy(guessed, machine)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
