import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
sentences = [torch.randint(1, 60, (length,)) for length in (4, 9, 6, 7, 5, 8, 12, 3, 10, 6, 7, 9)]


def collate(rows):
    words = pad_sequence(rows, batch_first=True)
    tags = pad_sequence([row % 4 for row in rows], batch_first=True, padding_value=-100)
    return words, tags


loader = DataLoader(sentences, batch_size=4, collate_fn=collate)
model = nn.Sequential(nn.Embedding(60, 16, padding_idx=0), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for words, tags in loader:
    loss = nn.functional.cross_entropy(model(words).transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

guesses, meant = [], []
with torch.no_grad():
    for words, tags in loader:
        guesses.append(model(words).argmax(-1).flatten().numpy())
        meant.append(tags.flatten().numpy())
guesses = np.concatenate(guesses)
meant = np.concatenate(meant)
counted = meant != -100
print(f"accuracy {(guesses[counted] == meant[counted]).mean():.2f}")
