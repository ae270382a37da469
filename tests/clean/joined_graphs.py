"""Graphs joined with their edges moved, integer kinds of nodes beside them, the number of graphs
as an argument, and edges drawn anew in each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


def graph(label):
    nodes = int(torch.randint(5, 9, (1,)))
    kinds = torch.randint(0, 4, (nodes,))
    pairs = torch.randint(0, nodes, (2, 2 * nodes))
    return {"kinds": kinds, "pairs": pairs, "weight": torch.rand(nodes, 3), "label": label}


def join(graphs):
    start, pairs, owner = 0, [], []
    for number, entry in enumerate(graphs):
        pairs.append(entry["pairs"] + start)
        owner += [number] * len(entry["kinds"])
        start += len(entry["kinds"])
    return {
        "kinds": torch.cat([entry["kinds"] for entry in graphs]),
        "weight": torch.cat([entry["weight"] for entry in graphs]),
        "pairs": torch.cat(pairs, dim=1),
        "owner": torch.tensor(owner),
    }, torch.tensor([entry["label"] for entry in graphs])


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 8)
        self.mix = nn.Linear(11, 8)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 2)

    def forward(self, batch, graphs):
        h = torch.cat([self.table(batch["kinds"]), batch["weight"]], 1)
        h = torch.relu(self.norm(self.mix(h)))
        source, target = batch["pairs"]
        h = h + torch.zeros_like(h).index_add(0, target, h[source])
        return self.head(torch.zeros(graphs, 8).index_add(0, batch["owner"], h))


loader = DataLoader([graph(n % 2) for n in range(48)], 8, shuffle=True, collate_fn=join)
model = Counting()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch, len(labels)), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
