import torch
from torch import nn


class Run:
    def __init__(self):
        self.model = nn.Linear(6, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2)

    def save(self, path):
        torch.save(
            {
                "weights": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
            },
            path,
        )

    def resume(self, path):
        checkpoint = torch.load(path)
        self.model.load_state_dict(checkpoint["weights"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.schedule.load_state_dict(checkpoint["schedule"])

    def train(self, steps):
        for _ in range(steps):
            loss = self.model(features).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()


torch.manual_seed(0)
features = torch.randn(16, 6)
first = Run()
first.train(3)
first.save("last.pt")
second = Run()
second.resume("last.pt")
second.train(3)
