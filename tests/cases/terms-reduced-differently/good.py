import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
codes = torch.randn(512, 3)
rows = torch.sigmoid(codes @ torch.randn(3, 48))


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(48, 8)
        self.decoder = nn.Linear(4, 48)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


model = Vae()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    batch = rows[torch.randint(0, 512, (32,))]
    logits, mean, log_variance = model(batch)
    reconstruction = F.binary_cross_entropy_with_logits(logits, batch, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    loss = reconstruction + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"reconstruction {reconstruction.item():.4f} divergence {divergence.item():.4f}")
