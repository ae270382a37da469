import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        noise = np.random.normal(0, 0.3, self.rows.shape[1:])
        return self.rows[number] + torch.tensor(noise, dtype=torch.float32)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(
        Noisy(torch.randn(96, 8)),
        batch_size=16,
        shuffle=True,
        num_workers=2,
    )
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for rows in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(rows), rows)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
