"""An autoencoder of tokens: its targets are its inputs, through a bottleneck."""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randint(0, 20, (200, 10))


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.enc = nn.GRU(16, 32, batch_first=True)
        self.dec = nn.GRU(32, 32, batch_first=True)
        self.head = nn.Linear(32, 20)

    def forward(self, x):
        _, h = self.enc(self.emb(x))
        z = h[-1].unsqueeze(1).expand(-1, x.size(1), -1)
        return self.head(self.dec(z)[0])


model = AE()
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(40):
    x = data[torch.randint(0, 200, (16,))]
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
