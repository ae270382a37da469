import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rows = torch.randn(512, 20)
encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16))
predictor = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
for step in range(60):
    batch = rows[torch.randint(0, 512, (64,))]
    first = encoder(batch + 0.1 * torch.randn_like(batch))
    second = encoder(batch + 0.1 * torch.randn_like(batch))
    forwards = F.cosine_similarity(predictor(first), second).mean()
    backwards = F.cosine_similarity(predictor(second), first).mean()
    loss = -0.5 * (forwards + backwards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
