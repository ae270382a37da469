import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.sin(torch.arange(8.0) * index), float(index % 2)


torch.manual_seed(0)
loader = DataLoader(Waves(), batch_size=8, num_workers=1, multiprocessing_context="spawn")
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

if __name__ == "__main__":
    for waves, labels in loader:
        loss = (model(waves).squeeze(1) - labels).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")
