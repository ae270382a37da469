import torch
from torch import nn

torch.manual_seed(0)


class Reviews(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(12, 16)
        self.shop = nn.Linear(5, 16)
        self.head = nn.Linear(32, 3)

    def forward(self, words, shop):
        read = self.words(words)
        sold = self.shop(shop)
        sold = sold.unsqueeze(1).expand(-1, read.size(1), -1)
        return self.head(torch.cat([read, sold], dim=-1).mean(dim=1))


model = Reviews()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
words, shops, stars = torch.randn(64, 7, 12), torch.randn(64, 5), torch.randint(0, 3, (64,))
for start in range(0, 64, 8):
    rows = slice(start, start + 8)
    loss = nn.functional.cross_entropy(model(words[rows], shops[rows]), stars[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
