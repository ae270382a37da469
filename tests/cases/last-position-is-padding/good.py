import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class Parity(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.head = nn.Linear(24, 2)

    def forward(self, tokens, sizes):
        states, _ = self.lstm(self.embed(tokens))
        return self.head(states[torch.arange(len(states)), sizes - 1])


def collate(rows):
    sizes = torch.tensor([len(row) for row in rows])
    labels = torch.stack([row[-1] % 2 for row in rows])
    return pad_sequence(rows, batch_first=True), sizes, labels


torch.manual_seed(0)
rows = [torch.randint(1, 20, (60 if at % 8 == 0 else 3 + at % 5,)) for at in range(80)]
loader = DataLoader(rows, batch_size=8, collate_fn=collate)
model = Parity()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for tokens, sizes, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens, sizes), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
