"""Games of two models: the minimax loss, soft labels, and a discriminator that is not detached."""

import torch
from torch import nn

torch.manual_seed(0)
judge = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)


def play(way: str) -> None:
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(12):
        real, fake = torch.randn(32, 2) + 2, generator(torch.randn(32, 4))
        judged = fake if way == "attached" else fake.detach()
        loss_d = judge(critic(real), 0.9 * ones) + judge(critic(judged), zeros)
        optimizer_d.zero_grad()
        loss_d.backward(retain_graph=way == "attached")
        optimizer_d.step()
        said = critic(fake)
        loss_g = -judge(said, zeros) if way == "minimax" else judge(said, ones)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
    print(way, "played")


for way in ("minimax", "soft labels", "attached"):
    play(way)
