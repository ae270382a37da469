"""Small feature arrays for tests, of every kind and in files of every format."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import torch
from safetensors.numpy import save_file

from surefit.data.features.shards import Form

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


def column(rows: np.ndarray) -> pa.Array:
    inner = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[2])
    return pa.FixedSizeListArray.from_arrays(inner, rows.shape[1])


def table(rows: np.ndarray) -> pa.Table:
    return pa.table({"id": pa.array(range(len(rows))), "features": column(rows)})


def write_arrow(path: Path, rows: np.ndarray, stream: bool = False) -> None:
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, make(file, table(rows).schema) as writer:
        writer.write_table(table(rows), max_chunksize=4)


def write_tensors(path: Path, rows: np.ndarray) -> None:
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(rows)
    with pa.OSFile(str(path), "wb") as file:
        made = pa.table({"x": tensor})
        with pa.ipc.new_file(file, made.schema) as writer:
            writer.write_table(made)


def write_lists(path: Path, rows: np.ndarray) -> None:
    pq.write_table(pa.table({"x": pa.array(rows.tolist(), pa.list_(pa.list_(pa.float32())))}), path)


FORMATS: dict[str, tuple[str, Callable[[Path, np.ndarray], object], Form]] = {
    "npy": ("a.npy", lambda path, rows: np.save(path, rows), Form.PLAIN),
    "safetensors": (
        "a.safetensors",
        lambda path, rows: save_file({"x": rows, "ids": np.arange(len(rows))}, path),
        Form.PLAIN,
    ),
    "npz": ("a.npz", lambda path, rows: np.savez(path, x=rows, y=rows[:, 0, 0]), Form.PLAIN),
    "npz, compressed": ("a.npz", lambda path, rows: np.savez_compressed(path, rows), Form.DECODED),
    "arrow": ("a.arrow", write_arrow, Form.PLAIN),
    "arrow stream": ("a.arrow", lambda path, rows: write_arrow(path, rows, True), Form.PLAIN),
    "arrow tensors": ("a.arrow", write_tensors, Form.PLAIN),
    "feather": (
        "a.feather",
        lambda path, rows: pa.feather.write_feather(table(rows), path, compression="uncompressed"),
        Form.PLAIN,
    ),
    "feather, compressed": (
        "a.feather",
        lambda path, rows: pa.feather.write_feather(table(rows), path, compression="lz4"),
        Form.DECODED,
    ),
    "parquet": (
        "a.parquet",
        lambda path, rows: pq.write_table(table(rows), path, row_group_size=4),
        Form.DECODED,
    ),
    "parquet lists": ("a.parquet", write_lists, Form.DECODED),
    "pt": ("a.pt", lambda path, rows: torch.save(torch.from_numpy(rows), path), Form.PLAIN),
    "pt, several": (
        "a.pt",
        lambda path, rows: torch.save({"x": torch.from_numpy(rows), "n": torch.ones(2)}, path),
        Form.DECODED,
    ),
}
