"""Optimizers around others: the schedule of the inner one counts, and that of the outer one."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()
STEPS = 60


class Sharpness(torch.optim.Optimizer):
    """Steps by a closure, or in two halves; the groups are those of the inner optimizer."""

    def __init__(self, params, inner, rho=0.02, **settings):
        super().__init__(params, {"rho": rho, **settings})
        self.inner = inner(self.param_groups, **settings)
        self.param_groups = self.inner.param_groups

    @torch.no_grad()
    def first_half(self):
        self.moved = []
        for group in self.param_groups:
            for parameter in group["params"]:
                change = parameter.grad * group["rho"]
                parameter.add_(change)
                self.moved.append((parameter, change))

    @torch.no_grad()
    def second_half(self):
        for parameter, change in self.moved:
            parameter.sub_(change)
        self.inner.step()

    def step(self, closure):
        closure = torch.enable_grad()(closure)
        loss = closure()
        self.first_half()
        closure()
        self.second_half()
        return loss


class Lookahead(torch.optim.Optimizer):
    """Every few steps the weights go half way back."""

    def __init__(self, fast, every=5):
        self.fast, self.every, self.count = fast, every, 0
        tensors = [p for group in fast.param_groups for p in group["params"]]
        super().__init__(tensors, {"half": 0.5})
        self.slow = [p.detach().clone() for p in tensors]

    @torch.no_grad()
    def step(self):
        self.fast.step()
        self.count += 1
        if self.count % self.every == 0:
            for parameter, slow in zip(self.param_groups[0]["params"], self.slow, strict=True):
                slow.add_(parameter - slow, alpha=0.5)
                parameter.copy_(slow)


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def decay(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.9 * step / STEPS)


def batches():
    for _ in range(STEPS):
        rows = torch.randint(0, len(x), (32,))
        yield x[rows], y[rows]


def by_closure():
    model = network()
    optimizer = Sharpness(model.parameters(), torch.optim.SGD, lr=0.2, momentum=0.9)
    schedule = decay(optimizer.inner)
    for inputs, targets in batches():

        def closure(inputs=inputs, targets=targets):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            return loss

        optimizer.step(closure)
        schedule.step()


def in_halves():
    model = network()
    optimizer = Sharpness(model.parameters(), torch.optim.SGD, lr=0.2, momentum=0.9)
    schedule = decay(optimizer)
    for inputs, targets in batches():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.first_half()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.second_half()
        schedule.step()


def with_lookahead():
    model = network()
    fast = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer, schedule = Lookahead(fast), decay(fast)
    for inputs, targets in batches():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        schedule.step()


for train in (by_closure, in_halves, with_lookahead):
    train()
