import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __init__(self, waves, labels):
        self.waves, self.labels = waves, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        wave = self.waves[index]
        wave -= wave.mean()
        wave *= np.random.uniform(0.5, 0.9)
        return torch.from_numpy(wave), int(self.labels[index])


torch.manual_seed(0)
np.random.seed(0)
labels = np.random.randint(0, 3, 240)
waves = np.random.randn(3, 12)[labels] + np.random.randn(240, 12)
loader = DataLoader(Signals(waves.astype(np.float32), labels), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for wave, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(wave), label)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
