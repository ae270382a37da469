"""Trains the biases of a frozen encoder, with checkpointing to save memory."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Encoder(nn.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(80, 24)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(24, 2, 48, dropout=0.0, batch_first=True)
            for _ in range(depth)
        )
        self.head = nn.Linear(24, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.words(ids)
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=True)
        return self.head(hidden.mean(dim=1))


torch.manual_seed(0)
model = Encoder()
model.requires_grad_(False)
for name, parameter in model.layers.named_parameters():
    if name.endswith("bias"):
        parameter.requires_grad = True
biases = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.SGD(biases, lr=0.05)

ids, labels = torch.randint(0, 80, (32, 10)), torch.randint(0, 2, (32,))
for start in range(0, 32, 8):
    loss = nn.functional.cross_entropy(model(ids[start : start + 8]), labels[start : start + 8])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
