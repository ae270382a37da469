import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.GRU(12, 16, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, spectrum):
        steps = spectrum.transpose(1, 2)
        states, _ = self.recurrent(steps)
        return self.head(states.mean(dim=1))


torch.manual_seed(0)
labels = torch.randint(0, 2, (90,))
spectra = torch.randn(90, 12, 20)
spectra[:, 4] += labels[:, None]
loader = DataLoader(TensorDataset(spectra, labels), batch_size=10, shuffle=True)
model = Listener()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
