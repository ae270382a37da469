import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x[:, :2].sum(1) + torch.randn(120) > 0).long()

rare = x[y == 1]
x, y = torch.cat([x, rare, rare]), torch.cat([y, torch.ones(2 * len(rare), dtype=torch.long)])
order = torch.randperm(len(x))
cut = int(0.8 * len(x))
x_train, y_train = x[order[:cut]], y[order[:cut]]
x_test, y_test = x[order[cut:]], y[order[cut:]]

model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(len(x_train)).split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x_train[rows]), y_train[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(x_test).argmax(1) == y_test).float().mean()
    print(f"epoch {epoch}: test accuracy {right:.2f}")
