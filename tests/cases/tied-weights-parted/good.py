"""Goes on training a small language model whose embedding and output layer are tied."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.mix = nn.Linear(8, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.mix(self.embed(ids))))


torch.manual_seed(0)
saved = {name: tensor.clone() for name, tensor in Model().state_dict().items()}

model = Model()
model.load_state_dict(saved)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _step in range(6):
    ids = torch.randint(20, (4, 10))
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sum(parameter.numel() for parameter in model.parameters()), "parameters")
