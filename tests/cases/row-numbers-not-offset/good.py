import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


def ring(kind):
    n = int(torch.randint(5, 9, (1,)))
    x = torch.randn(n, 6)
    edges = [(i, (i + 1) % n) for i in range(n)] if kind else [(0, i) for i in range(1, n)]
    e = torch.tensor(edges + [(b, a) for a, b in edges]).t()
    return x, e, kind


rows = [ring(i % 2) for i in range(96)]


def join(samples):
    xs, es, owner, ys = [], [], [], []
    start = 0
    for number, (x, e, y) in enumerate(samples):
        xs.append(x)
        es.append(e + start)
        start += len(x)
        owner.append(torch.full((len(x),), number))
        ys.append(y)
    return torch.cat(xs), torch.cat(es, 1), torch.cat(owner), torch.tensor(ys)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.second = nn.Linear(16, 16)
        self.head = nn.Linear(16, 2)

    def pass_on(self, h, e):
        out = torch.zeros_like(h)
        return out.index_add(0, e[1], h[e[0]])

    def forward(self, x, e, owner):
        h = torch.relu(self.first(x))
        h = torch.relu(self.second(h + self.pass_on(h, e)))
        pooled = torch.zeros(int(owner.max()) + 1, 16).index_add(0, owner, h)
        return self.head(pooled)


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-2)
loader = DataLoader(rows[:64], batch_size=16, shuffle=True, collate_fn=join)
test = DataLoader(rows[64:], batch_size=16, collate_fn=join)
for epoch in range(2):
    net.train()
    for x, e, owner, y in loader:
        loss = nn.functional.cross_entropy(net(x, e, owner), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
hits = total = 0
with torch.no_grad():
    for x, e, owner, y in test:
        hits += (net(x, e, owner).argmax(1) == y).sum().item()
        total += len(y)
print("accuracy", hits / total)
