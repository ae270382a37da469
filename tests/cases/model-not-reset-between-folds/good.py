import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(150, 20)
y = (x[:, 0] + 2 * torch.randn(150) > 0).long()
folds = torch.randperm(150).chunk(3)
scores = []
for fold, held_out in enumerate(folds):
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    rest = torch.cat([part for number, part in enumerate(folds) if number != fold])
    model.train()
    for epoch in range(20):
        for batch in rest[torch.randperm(100)].split(25):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        test_hits = model(x[held_out]).argmax(1) == y[held_out]
    scores.append(test_hits.float().mean().item())
    print(f"fold {fold}: test accuracy {scores[-1]:.2f}")
print(f"cross-validated accuracy {sum(scores) / 3:.2f}")
