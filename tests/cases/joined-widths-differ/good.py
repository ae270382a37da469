"""Sorts short notes with a picture each: words and picture patches go through one encoder."""

import torch
from torch import nn

WORDS, CLASSES, PATCH = 300, 5, 4


class Notes(nn.Module):
    def __init__(self, width=48, picture_width=32):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.patches = nn.Conv2d(3, picture_width, PATCH, stride=PATCH)
        self.project = nn.Sequential(nn.LayerNorm(picture_width), nn.Linear(picture_width, width))
        layer = nn.TransformerEncoderLayer(width, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, ids, pictures):
        seen = self.patches(pictures).flatten(2).transpose(1, 2)
        seen, read = self.project(seen), self.words(ids)
        both = torch.cat([seen, read], dim=1)
        return self.head(self.encoder(both).mean(1))


def main():
    torch.manual_seed(0)
    model = Notes()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(4):
        ids, pictures = torch.randint(0, WORDS, (8, 12)), torch.rand(8, 3, 16, 16)
        loss = nn.functional.cross_entropy(model(ids, pictures), torch.randint(0, CLASSES, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
