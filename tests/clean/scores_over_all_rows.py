"""F1 and accuracy from counts over all rows, by name for one batch, and of batches of one size."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
x = torch.randn(330, 6)
y = ((x[:, 0] + 0.3 * torch.randn(330)) > 0.8).long()
train = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=20, shuffle=True)
held_out = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=26)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def f1(guess, target):
    both = ((guess == 1) & (target == 1)).sum().item()
    return 2 * both / max(1, (guess == 1).sum().item() + (target == 1).sum().item())


@torch.no_grad()
def evaluate():
    model.eval()
    guesses, targets, shares = [], [], []
    for inputs, labels in held_out:
        guess = model(inputs).argmax(-1)
        guesses.append(guess)
        targets.append(labels)
        shares.append((guess == labels).float().mean().item())
    everything = torch.cat(guesses), torch.cat(targets)
    return f1(*everything), f1(guesses[-1], targets[-1]), sum(shares) / len(shares)


for epoch in range(4):
    model.train()
    for inputs, labels in train:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    score, last, accuracy = evaluate()
    print(f"epoch {epoch} val F1 {score:.4f}, last batch F1 {last:.4f}, accuracy {accuracy:.4f}")
