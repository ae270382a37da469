"""Small feature arrays for tests: one-hot, multi-hot and continuous rows."""

from pathlib import Path

import numpy as np

STEPS, FEATURES = 20, 271


def one_hot(
    rows: int, steps: int = STEPS, features: int = FEATURES, dtype: str = "float32", seed: int = 0
) -> np.ndarray:
    ids = np.random.default_rng(seed).integers(0, features, (rows, steps, 1))
    made = np.zeros((rows, steps, features), dtype)
    np.put_along_axis(made, ids, 1, axis=2)
    return made


def multi_hot(
    rows: int, steps: int = STEPS, features: int = FEATURES, dtype: str = "float32", seed: int = 0
) -> np.ndarray:
    chance = np.random.default_rng(seed).random((rows, steps, features))
    return (chance < 0.1).astype(dtype)


def continuous(
    rows: int, steps: int = STEPS, features: int = FEATURES, dtype: str = "float32", seed: int = 0
) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, steps, features)).astype(dtype)


def write_shards(folder: Path, *shards: np.ndarray) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(shards):
        np.save(folder / f"part-{number}.npy", rows)
    return folder
