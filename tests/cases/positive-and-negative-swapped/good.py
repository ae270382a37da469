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
    anchor, caption = picture_encoder(pictures[rows]), caption_encoder(captions[rows])
    loss = F.triplet_margin_loss(anchor, caption, caption.roll(1, dims=0), margin=0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
