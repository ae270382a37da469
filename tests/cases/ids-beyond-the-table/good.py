import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Ratings(nn.Module):
    def __init__(self, readers, books, dim=8):
        super().__init__()
        self.readers = nn.Embedding(readers, dim)
        self.books = nn.Embedding(books, dim)

    def forward(self, reader, book):
        return (self.readers(reader) * self.books(book)).sum(-1)


torch.manual_seed(0)
reader = torch.randint(0, 50, (400,))
book = torch.randint(1, 31, (400,))
stars = torch.rand(400)

model = Ratings(readers=50, books=31)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for some_readers, some_books, some_stars in DataLoader(
    TensorDataset(reader, book, stars), batch_size=16
):
    loss = nn.functional.mse_loss(model(some_readers, some_books), some_stars)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")
