import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16, padding_idx=0)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, ids, mask):
        x = self.embed(ids)
        x, _ = self.attention(x, x, x, key_padding_mask=mask == 1)
        return self.head(x)


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
