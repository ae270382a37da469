import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

NOTES = ["pump leaks oil", "valve is stuck", "oil smells burnt", "n/a", "pump is loud"]
WORDS = ["pump", "valve", "oil", "leaks", "stuck", "loud"]
IDS = {word: number for number, word in enumerate(WORDS, 1)}

torch.manual_seed(0)
rows = []
for number, note in enumerate(NOTES * 8):
    known = [IDS[word] for word in note.split() if word in IDS]
    if not known:
        continue
    rows.append((torch.tensor(known, dtype=torch.long), number % 2))

embed = nn.Embedding(len(IDS) + 1, 8, padding_idx=0)
reader = nn.GRU(8, 8, batch_first=True)
head = nn.Linear(8, 2)
parameters = [*embed.parameters(), *reader.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
for start in range(0, len(rows), 3):
    ids, labels = zip(*rows[start : start + 3], strict=True)
    lengths = torch.tensor([len(row) for row in ids])
    padded = embed(pad_sequence(ids, batch_first=True))
    packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    loss = nn.functional.cross_entropy(head(reader(packed)[1][-1]), torch.tensor(labels))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
