import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(4)


def load():
    x = rng.gamma(2.0, 3.0, size=(500, 9))
    y = (x[:, 0] * x[:, 1] > 30).astype(np.int64)
    return x, y


x, y = load()
x = (x - x.mean(axis=0)) / x.std(axis=0)
order = rng.permutation(len(x))
cut = 400
x_train, y_train = x[order[:cut]], y[order[:cut]]
x_val, y_val = x[order[cut:]], y[order[cut:]]
train = DataLoader(
    TensorDataset(torch.tensor(x_train, dtype=torch.float32), torch.tensor(y_train)),
    batch_size=32,
    shuffle=True,
)
xv, yv = torch.tensor(x_val, dtype=torch.float32), torch.tensor(y_val)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 2))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(2):
    net.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(epoch, round(acc, 3))
