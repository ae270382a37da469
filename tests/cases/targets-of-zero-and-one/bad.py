import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 8))
criterion = nn.CosineEmbeddingLoss(margin=0.2)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
for step in range(40):
    first = torch.randn(32, 12)
    same = torch.rand(32) < 0.5
    second = torch.where(same[:, None], first + 0.1 * torch.randn(32, 12), torch.randn(32, 12))
    labels = same.float()
    loss = criterion(encoder(first), encoder(second), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
