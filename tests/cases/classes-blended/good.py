import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)


class Scenes(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.images = torch.rand(n, 1, 48, 48, generator=g)
        self.masks = torch.zeros(n, 48, 48, dtype=torch.long)
        for i in range(n):
            r, c = torch.randint(0, 24, (2,), generator=g).tolist()
            self.masks[i, r : r + 20, c : c + 20] = 3
        self.images += self.masks[:, None] * 0.4

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = nn.functional.interpolate(
            self.images[i][None], size=(20, 20), mode="bilinear", align_corners=False
        )[0]
        mask = nn.functional.interpolate(
            self.masks[i][None, None].float(), size=(20, 20), mode="nearest"
        )[0, 0]
        return image, mask.long()


net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
criterion = nn.CrossEntropyLoss()
train = DataLoader(Scenes(32, 1), batch_size=8, shuffle=True)
val = DataLoader(Scenes(16, 2), batch_size=8)
for epoch in range(2):
    net.train()
    for image, mask in train:
        optimizer.zero_grad()
        loss = criterion(net(image), mask)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(i).argmax(1) == m).float().mean().item() for i, m in val) / len(val)
    print(epoch, loss.item(), right)
