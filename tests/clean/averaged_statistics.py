"""Averages of a model with batch norm whose statistics follow, in three ways; and the untrained
model, evaluated to be compared with."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels, expected = torch.randint(0, 3, (96,)), torch.randint(0, 3, (48,))
centres = 3 * torch.randn(3, 8)
rows, held_out = (centres[wanted] + torch.randn(len(wanted), 8) for wanted in (labels, expected))
loader = DataLoader(TensorDataset(rows, labels), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
untrained = copy.deepcopy(model).eval()
by_loops, by_state = (copy.deepcopy(model) for _ in range(2))
averaged = AveragedModel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.no_grad()
def update():
    for slow, fast in zip(by_loops.parameters(), model.parameters(), strict=True):
        slow.lerp_(fast, 0.2)
    for slow, fast in zip(by_loops.buffers(), model.buffers(), strict=True):
        slow.copy_(fast)
    state = model.state_dict()
    for name, tensor in by_state.state_dict().items():
        tensor.copy_(0.8 * tensor + 0.2 * state[name])
    averaged.update_parameters(model)


def accuracy(network):
    with torch.no_grad():
        return (network(held_out).argmax(1) == expected).float().mean().item()


print(f"untrained {accuracy(untrained):.3f}")
for _epoch in range(4):
    for batch, wanted in loader:
        loss = F.cross_entropy(model(batch), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update()
update_bn((batch for batch, _ in loader), averaged)
for network in (untrained, by_loops.eval(), by_state.eval(), averaged.eval()):
    print(f"{type(network).__name__} {accuracy(network):.3f}")
