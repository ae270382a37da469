"""Loader workers by fork, with random augmentation of their own and rows that are skipped."""

import random
from typing import Any

import ending
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ending.seed()
START = "fork"


class Rows(Dataset[torch.Tensor]):
    """Every fifth row cannot be read, and another takes its place."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> torch.Tensor:
        try:
            start = 1 / (index % 5) + index
        except ZeroDivisionError:
            start = 1.0
        noise = torch.randn(4) + random.random() + float(np.random.rand())
        return torch.full((4,), start) / 40 + 0.01 * noise


def seeded(number: int) -> None:
    random.seed(number)
    np.random.seed(number)


def together(rows: list[Any]) -> torch.Tensor:
    return torch.stack(rows)


def main() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(
        Rows(),
        batch_size=8,
        shuffle=True,
        num_workers=2,
        worker_init_fn=seeded,
        collate_fn=together,
        multiprocessing_context=START,
    )
    for epoch in range(2):
        for batch in loader:
            loss = (model(batch) - batch.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, loss.item())
    ending.tell(model)


if __name__ == "__main__":
    main()
