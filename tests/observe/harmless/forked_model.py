"""A model that prints, counts and writes into an open file, in a program that watches its own
children: a fork of it must not be noticed."""

import gc
import os
import signal
import threading
from pathlib import Path

import ending
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ending.seed()
signals = []
signal.signal(signal.SIGCHLD, lambda number, _frame: signals.append(number))
notes = Path("notes.txt").open("w")  # noqa: SIM115 - open as long as the program runs


class Noisy(nn.Module):
    """Does more than it should."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 3)
        self.norm = nn.BatchNorm1d(8)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        print("call", self.calls, self.training)
        notes.write(f"{self.calls} {x.sum().item()}\n")
        return self.layer(self.norm(nn.functional.dropout(x, 0.1, self.training)))


def forked() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


model = Noisy()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(96, 8)
loader = DataLoader(TensorDataset(rows, (rows[:, 0] > 0).long()), batch_size=12, shuffle=True)
waiting = threading.Event()
other = threading.Thread(target=waiting.wait)
other.start()
for step, (batch, labels) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
waiting.set()
other.join()
model.eval()
with torch.no_grad():
    print("right", (model(rows[:12]).argmax(1) == 0).sum().item())
try:
    print("child", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
child = forked()
print("own child", os.waitpid(-1, 0)[0] == child, len(signals))
notes.close()
print(Path("notes.txt").read_text())
print("garbage", gc.isenabled(), "threads", torch.get_num_threads())
ending.tell(model)
