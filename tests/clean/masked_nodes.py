"""A graph network sees all nodes, in training and in the test; masks say which ones count."""

import torch
from torch import nn

torch.manual_seed(0)
x, labels = torch.randn(120, 16), torch.randint(0, 3, (120,))
adjacency = (torch.rand(120, 120) < 0.05).float() + torch.eye(120)
adjacency = adjacency / adjacency.sum(1, keepdim=True)
train_mask = torch.rand(120) < 0.6
test_mask = ~train_mask


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 3)

    def forward(self, x, adjacency):
        return self.second(adjacency @ torch.relu(self.first(adjacency @ x)))


model = Graph()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def test():
    model.eval()
    with torch.no_grad():
        hits = model(x, adjacency).argmax(1) == labels
    return hits[test_mask].float().mean().item()


for _ in range(20):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x, adjacency)[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f} {test():.2f}")
