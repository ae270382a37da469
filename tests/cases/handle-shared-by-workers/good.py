"""Learns from records of one file, which lies on a slow drive and is read in parts."""

import time
import zlib
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ROWS, WIDTH, PARTS = 64, 64, 8
SIZE = WIDTH * 4


def write(path):
    rows = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))
    blobs = [row.numpy().tobytes() for row in rows]
    with path.open("wb") as file:
        file.writelines(blobs)
    return [zlib.crc32(blob) for blob in blobs]


class Records(Dataset):
    def __init__(self, path, sums):
        self.path, self.file = path, None
        self.sums = sums

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        if self.file is None:
            self.file = self.path.open("rb", buffering=0)
        self.file.seek(i * SIZE)
        blob = b""
        for _ in range(PARTS):
            blob += self.file.read(SIZE // PARTS)
            time.sleep(0.002)
        if zlib.crc32(blob) != self.sums[i]:
            raise ValueError("Bad CRC-32 of a record")
        row = torch.frombuffer(bytearray(blob), dtype=torch.float32)
        return row, row[0] > 0


def main():
    torch.manual_seed(0)
    path = Path("records.bin")
    data = Records(path, write(path))
    model = nn.Linear(WIDTH, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for row, positive in DataLoader(data, batch_size=8, num_workers=2):
        loss = nn.functional.binary_cross_entropy_with_logits(model(row)[:, 0], positive.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
