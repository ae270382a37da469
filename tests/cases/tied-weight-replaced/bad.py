import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 30, bias=False)
        self.head.weight = self.embed.weight

    def start_from(self, vectors):
        self.embed.weight = nn.Parameter(vectors.clone())

    def forward(self, ids):
        return self.head(self.recurrent(self.embed(ids))[0])


torch.manual_seed(0)
text = torch.randint(0, 30, (90, 12))
loader = DataLoader(TensorDataset(text[:, :-1], text[:, 1:]), batch_size=15)
model = Words()
model.start_from(0.3 * torch.randn(30, 16))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for ids, following in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
