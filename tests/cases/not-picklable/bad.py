"""Loads rows in workers that begin anew, as on macOS and Windows."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def main():
    torch.manual_seed(0)
    rows = [(torch.randn(3), at % 2) for at in range(24)]
    loader = DataLoader(
        rows,
        batch_size=4,
        num_workers=1,
        multiprocessing_context="spawn",
        collate_fn=lambda rows: (
            torch.stack([x for x, _ in rows]),
            torch.tensor([y for _, y in rows]),
        ),
    )
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
