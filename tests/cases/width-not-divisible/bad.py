"""Trains a small transformer that adds up digits."""

import torch
from torch import nn

WIDTH, HEADS = 60, 8


class Adder(nn.Module):
    def __init__(self, width, heads, layers=1):
        super().__init__()
        self.digits = nn.Embedding(10, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def forward(self, digits):
        return self.head(self.encoder(self.digits(digits)).mean(1)).squeeze(-1)


def main():
    torch.manual_seed(0)
    model = Adder(WIDTH, heads=HEADS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        digits = torch.randint(0, 10, (16, 5))
        loss = nn.functional.mse_loss(model(digits), digits.sum(1).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.1f}")


main()
