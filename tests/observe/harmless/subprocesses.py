"""Other programs beside the training: Python, a shell, one that fails, one that is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import ending
import torch
from torch import nn

ending.seed()
here = Path(__file__).parent
child = "import sys, random; random.seed(1); print('child', sys.argv, random.random())"
print(subprocess.run([sys.executable, "-c", child, "a"], capture_output=True, text=True).stdout)
inner = subprocess.run([sys.executable, here / "child.py", "b"], capture_output=True, text=True)
print(inner.returncode, inner.stdout, inner.stderr)
print(subprocess.check_output("echo from the shell", shell=True, text=True))
sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
sleeping.send_signal(signal.SIGKILL)
print("killed", sleeping.wait())
print(subprocess.run([sys.executable, "-I", "-c", "print('isolated')"]).returncode, flush=True)

model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 2)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
ending.tell(model)
