"""Trains in two jobs; the second one goes on from what the first one saved."""

import torch
from torch import nn

FILE, EPOCHS = "last.pt", 12
torch.manual_seed(0)
x = torch.randn(128, 10)
y = torch.sin(x @ torch.randn(10, 1))


def job(until):
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
    start = 0
    if until == EPOCHS:
        saved = torch.load(FILE)
        model.load_state_dict(saved["weights"])
        optimizer.load_state_dict(saved["adam"])
        schedule.load_state_dict(saved["schedule"])
        start = saved["epoch"] + 1
    for epoch in range(start, until):
        for rows in torch.arange(128).split(32):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, rate {schedule.get_last_lr()[0]:.4f}")
        state = {
            "epoch": epoch,
            "weights": model.state_dict(),
            "adam": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
        }
        torch.save(state, FILE)


job(until=8)
job(until=EPOCHS)
