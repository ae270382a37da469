import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 1))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
judge = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for _ in range(25):
    real = torch.randn(32, 2) + 2
    fake = generator(torch.randn(32, 4))
    loss_d = judge(discriminator(real), ones) + judge(discriminator(fake.detach()), zeros)
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
    loss_g = judge(discriminator(fake), zeros)
    optimizer_g.zero_grad()
    loss_g.backward()
    optimizer_g.step()
print(f"generator {loss_g.item():.4f}, discriminator {loss_d.item():.4f}")
