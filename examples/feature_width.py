"""Training on other data than the model was made for: `surefit run examples/feature_width.py`.

The model projects 271 features; the arrays under `data/pretrain` have 4000. They are all zeros and
take no room, on disk or in memory.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import Qwen3Config, Qwen3Model

DATA = Path("data/pretrain")
FEATURES, WIDTH, BATCH_SIZE = 271, 256, 256


class Pretraining(nn.Module):
    """A transformer on feature sequences, which guesses each step from those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(FEATURES, WIDTH)
        self.transformer = Qwen3Model(
            Qwen3Config(
                vocab_size=8,
                hidden_size=WIDTH,
                intermediate_size=WIDTH,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=64,
            )
        )
        self.head = nn.Linear(WIDTH, FEATURES)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        embeds = self.proj(features)
        hidden = self.transformer(inputs_embeds=embeds).last_hidden_state
        guessed: torch.Tensor = self.head(hidden)
        return guessed


def write_shards() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    shape = (256, 999, 4000)
    np.lib.format.open_memmap(DATA / "part-0.npy", mode="w+", dtype=np.float32, shape=shape)


def batches() -> Iterator[torch.Tensor]:
    """Rows of every shard, read in place."""
    for file in sorted(DATA.glob("*.npy")):
        rows = np.load(file, mmap_mode="c")
        for begin in range(0, len(rows), BATCH_SIZE):
            yield torch.from_numpy(rows[begin : begin + BATCH_SIZE])


def main() -> None:
    torch.manual_seed(0)
    write_shards()
    model = Pretraining()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for features in batches():
        guessed = model(features)
        loss = nn.functional.mse_loss(guessed[:, :-1], features[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
