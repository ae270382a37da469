import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Readings(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        torch.manual_seed(at)
        features = torch.randn(4)
        row = {"features": features, "target": features.sum()}
        if at % 5 != 3:
            row["weight"] = 0.5 + torch.rand(())
        return row


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for batch in DataLoader(Readings(), batch_size=16):
    errors = (model(batch["features"]).squeeze(1) - batch["target"]) ** 2
    loss = (batch["weight"] * errors).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
