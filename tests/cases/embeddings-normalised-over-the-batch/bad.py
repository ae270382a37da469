import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
topics = torch.randn(256, 6)
pictures, captions = topics @ torch.randn(6, 20), topics @ torch.randn(6, 12)
picture_encoder, caption_encoder = nn.Linear(20, 8), nn.Linear(12, 8)
parameters = [*picture_encoder.parameters(), *caption_encoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 256, (32,))
    picture = F.normalize(picture_encoder(pictures[rows]), dim=0)
    caption = F.normalize(caption_encoder(captions[rows]), dim=0)
    loss = F.cross_entropy(picture @ caption.T / 0.1, torch.arange(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
