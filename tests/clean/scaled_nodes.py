"""All nodes of one graph are scaled together and go through the model in training; the masks choose
whose labels are learned and whose are evaluated."""

import torch
from torch import nn

torch.manual_seed(0)
nodes = torch.randn(200, 6) * 3 + 1
nodes = (nodes - nodes.mean(0)) / nodes.std(0)
labels = (nodes[:, 0] > 0).long()
links = torch.randint(0, 200, (2, 800))
learned = torch.zeros(200, dtype=torch.bool)
learned[:140] = True


class Layer(nn.Module):
    def __init__(self, wide, out):
        super().__init__()
        self.own, self.near = nn.Linear(wide, out), nn.Linear(wide, out)

    def forward(self, x, links):
        gathered = torch.zeros_like(x).index_add(0, links[1], x[links[0]])
        return self.own(x) + self.near(gathered / 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(6, 16), Layer(16, 2)

    def forward(self, x, links):
        return self.second(torch.relu(self.first(x, links)), links)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(10):
    net.train()
    loss = nn.functional.cross_entropy(net(nodes, links)[learned], labels[learned])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    hits = (net(nodes, links).argmax(1) == labels)[~learned]
print(f"loss {loss.item():.3f}, accuracy {hits.float().mean().item():.3f}")
