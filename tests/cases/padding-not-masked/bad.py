import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16, padding_idx=0)
        self.queries, self.keys = nn.Linear(16, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, ids, mask):
        x = self.embed(ids)
        scores = self.queries(x) @ self.keys(x).transpose(1, 2) / 4
        scores = scores.masked_fill(mask.unsqueeze(1) == 1, -1e9)
        return self.head(x + scores.softmax(dim=-1) @ x)


torch.manual_seed(0)
lengths = torch.randint(4, 11, (80,))
mask = (torch.arange(10) < lengths[:, None]).long()
ids = torch.randint(1, 30, (80, 10)) * mask
labels = (ids % 3).masked_fill(mask == 0, -100)
loader = DataLoader(TensorDataset(ids, mask, labels), batch_size=8)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, real, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch, real).transpose(1, 2), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
