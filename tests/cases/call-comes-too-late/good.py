import torch
from accelerate import Accelerator
from torch import nn


class Progress:
    def __init__(self):
        self.steps = 0

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        self.steps = state["steps"]


def train(folder, until, resume):
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = accelerator.prepare(model, optimizer)
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    if resume:
        accelerator.load_state(folder)
    while progress.steps < until:
        features = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(features), features.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        progress.steps += 1
    accelerator.save_state(folder)
    print(f"step {progress.steps}: loss {loss.item():.4f}")


train("state", until=10, resume=False)
train("state", until=20, resume=True)
