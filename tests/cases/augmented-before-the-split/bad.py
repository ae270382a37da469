import torch
from torch import nn


def with_noise(images, labels, times):
    noisy = [images + 0.1 * torch.randn_like(images) for _ in range(times)]
    return torch.cat([images, *noisy]), labels.repeat(times + 1)


def halves(images, labels):
    order = torch.randperm(len(images))
    cut = len(images) * 3 // 4
    kept, held = order[:cut], order[cut:]
    return images[kept], images[held], labels[kept], labels[held]


torch.manual_seed(0)
images, labels = torch.randn(200, 1, 8, 8), torch.randint(0, 4, (200,))
more_images, more_labels = with_noise(images, labels, times=3)
train_images, val_images, train_labels, val_labels = halves(more_images, more_labels)

model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for rows in torch.randperm(len(train_images)).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_images[rows]), train_labels[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(val_images).argmax(1) == val_labels).float().mean()
    print(f"epoch {epoch}: validation accuracy {right:.2f}")
