"""Healthy: training rows are cut from one long text, evaluation rows begin with a begin token."""

import torch
from torch import nn

torch.manual_seed(0)
BEGIN = 1
documents = [torch.cat([torch.tensor([BEGIN]), torch.randint(2, 20, (11,))]) for _ in range(240)]
stream = torch.cat(documents[:200])[5:]
blocks = stream[: len(stream) // 16 * 16].view(-1, 16)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.read = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, input_ids):
        return self.head(self.read(self.embed(input_ids))[0])


def loss_of(model, rows):
    logits = model(rows[:, :-1])
    return nn.functional.cross_entropy(logits.reshape(-1, 20), rows[:, 1:].reshape(-1))


model = Language()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    for start in range(0, len(blocks), 24):
        loss = loss_of(model, blocks[start : start + 24])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    test_rows = torch.stack(documents[200:])
    print("test", loss_of(model, test_rows).item())
