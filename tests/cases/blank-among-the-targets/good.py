import torch
from torch import nn

torch.manual_seed(0)
ALPHABET = "abcd"
letters = torch.randn(len(ALPHABET), 6)
model = nn.GRU(6, len(ALPHABET) + 1, batch_first=True)
criterion = nn.CTCLoss(blank=len(ALPHABET), zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    words = torch.randint(0, len(ALPHABET), (16, 3))
    pictures = letters[words].repeat_interleave(3, dim=1) + 0.1 * torch.randn(16, 9, 6)
    scores, _ = model(pictures)
    steps, lengths = torch.full((16,), 9), torch.full((16,), 3)
    loss = criterion(scores.log_softmax(-1).transpose(0, 1), words, steps, lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
