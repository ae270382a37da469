import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

NOTES = 40
NOTHING = -1


class Melody(nn.Module):
    def __init__(self, notes, dim=16):
        super().__init__()
        self.notes = nn.Embedding(notes, dim)
        self.line = nn.GRU(dim, dim, batch_first=True)
        self.next_note = nn.Linear(dim, notes)

    def forward(self, played):
        hidden, _ = self.line(self.notes(played))
        return self.next_note(hidden)


def stack(melodies):
    return pad_sequence(melodies, batch_first=True, padding_value=NOTHING)


torch.manual_seed(0)
melodies = [torch.randint(0, NOTES, (8,)) for _ in range(16)]
melodies += [torch.randint(0, NOTES, (length,)) for length in range(5, 21)]

model = Melody(NOTES)
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(melodies, batch_size=8, collate_fn=stack):
    logits = model(batch[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:], ignore_index=NOTHING)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")
