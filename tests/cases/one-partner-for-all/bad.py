import torch
from torch import nn

torch.manual_seed(0)
hidden = torch.randn(256, 4)
pictures = hidden @ torch.randn(4, 20)
captions = hidden @ torch.randn(4, 12)
picture_encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
caption_encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = nn.CrossEntropyLoss()
parameters = [*picture_encoder.parameters(), *caption_encoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
for step in range(40):
    rows = torch.randint(0, 256, (32,))
    similarity = picture_encoder(pictures[rows]) @ caption_encoder(captions[rows]).t() / 0.5
    labels = torch.zeros(len(rows), dtype=torch.long, device=similarity.device)
    loss = criterion(similarity, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
