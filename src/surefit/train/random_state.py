"""The random numbers of one process: its own, kept, and put back."""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import torch


def seed_rank(seed: int, rank: int) -> None:
    """Processes that begin with the same weights drop out different places."""
    _seed(f"{seed} {rank}".encode())


def random_state() -> dict[str, Any]:
    cuda = torch.cuda.is_available()
    return {
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if cuda else None,
    }


def restore_random_state(saved: Sequence[dict[str, Any]], rank: int) -> None:
    """`saved` is of all processes there were; one that is new draws its own from the first's."""
    if rank >= len(saved):
        _seed(saved[0]["torch"].numpy().tobytes() + f" {rank}".encode())
        return
    mine = saved[rank]
    random.setstate(mine["python"])
    torch.set_rng_state(mine["torch"])
    if torch.cuda.is_available() and mine["cuda"] is not None:
        torch.cuda.set_rng_state(mine["cuda"])


def _seed(material: bytes) -> None:
    number = int.from_bytes(hashlib.sha256(material).digest()[:7], "big")
    random.seed(number)
    torch.manual_seed(number)
