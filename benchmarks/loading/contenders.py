"""Ways to load the same rows: each opens its data and then gives batches, epoch after epoch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from benchmarks.loading.environments import LITDATA, STREAMING, Environment
from benchmarks.loading.workload import BATCH, FEATURES, ROWS, SHARD_ROWS, STEPS

Epoch = Callable[[], Iterable[torch.Tensor]]


@dataclass(frozen=True, slots=True)
class Contender:
    """Which data it wants, and in which environment it runs; None: in this one."""

    title: str
    data: str
    open: Callable[[Path], Epoch]
    environment: Environment | None = None
    budget_gb: float | None = None


class Mapped(Dataset[torch.Tensor]):
    """Rows of memory-mapped files, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.files = [np.load(path, mmap_mode="r") for path in sorted(folder.glob("*.npy"))]

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        shard, row = divmod(index, SHARD_ROWS)
        return self.files[shard][row].copy()


class MappedTogether(Mapped):
    """A batch at a time, into one array."""

    def __getitems__(self, indices: list[int]) -> torch.Tensor:
        out = np.empty((len(indices), STEPS, FEATURES), np.float32)
        for place, index in enumerate(indices):
            shard, row = divmod(index, SHARD_ROWS)
            out[place] = self.files[shard][row]
        return torch.from_numpy(out)


def given(batch: Any) -> Any:
    return batch


def whole(folder: Path) -> Epoch:
    loaded = [torch.from_numpy(np.load(path)) for path in sorted(folder.glob("*.npy"))]
    batches = DataLoader(TensorDataset(torch.cat(loaded)), BATCH, shuffle=True)
    return lambda: (batch[0] for batch in batches)


def mapped(folder: Path) -> Epoch:
    batches: Any = DataLoader(Mapped(folder), BATCH, shuffle=True)
    return lambda: iter(batches)


def mapped_together(folder: Path) -> Epoch:
    batches: Any = DataLoader(MappedTogether(folder), BATCH, shuffle=True, collate_fn=given)
    return lambda: iter(batches)


def hugging_face(folder: Path) -> Epoch:
    from datasets import Dataset as Rows
    from datasets import concatenate_datasets

    parts = [Rows.from_file(str(path)) for path in sorted(folder.glob("*.arrow"))]
    rows = concatenate_datasets(parts).with_format("torch")
    batches: Any = DataLoader(rows, BATCH, shuffle=True)
    return lambda: (batch["x"].view(-1, STEPS, FEATURES) for batch in batches)


def mosaic(workers: int) -> Callable[[Path], Epoch]:
    def opened(folder: Path) -> Epoch:
        from benchmarks.loading.mosaic import streaming

        streaming().base.util.clean_stale_shared_memory()
        rows = streaming().StreamingDataset(local=str(folder), shuffle=True, batch_size=BATCH)
        batches: Any = DataLoader(rows, BATCH, num_workers=workers)
        return lambda: (batch["x"] for batch in batches)

    return opened


def lit(folder: Path) -> Epoch:
    from litdata import StreamingDataLoader, StreamingDataset

    rows = StreamingDataset(str(folder), shuffle=True)
    batches: Any = StreamingDataLoader(rows, batch_size=BATCH, num_workers=0)
    return lambda: iter(batches)


def memory_mapped_tensor(folder: Path) -> Epoch:
    from tensordict import MemoryMappedTensor

    # The file is the same as everybody's: `.npy` has its values from byte 128 on.
    plain = folder / "all.memmap"
    if not plain.exists():
        source = np.load(folder / "all.npy", mmap_mode="r")
        made = MemoryMappedTensor.empty(
            (ROWS, STEPS, FEATURES), dtype=torch.float32, filename=str(plain)
        )
        for begin in range(0, ROWS, SHARD_ROWS):
            made[begin : begin + SHARD_ROWS] = torch.from_numpy(
                source[begin : begin + SHARD_ROWS].copy()
            )
    rows = MemoryMappedTensor.from_filename(
        str(plain), dtype=torch.float32, shape=torch.Size((ROWS, STEPS, FEATURES))
    )

    def epoch() -> Iterable[torch.Tensor]:
        return (rows[some] for some in torch.randperm(ROWS).split(BATCH))

    return epoch


def surefit(budget_gb: float, ids: bool = False, **more: Any) -> Callable[[Path], Epoch]:
    def opened(folder: Path) -> Epoch:
        from surefit.data.features.loaders import loaders

        layout: dict[str, Any] = (
            {} if folder.name == "packed" else {"steps": STEPS, "features": FEATURES}
        )
        train, _, data = loaders(folder, BATCH, budget_gb, held_out=0, ids=ids, **layout, **more)
        print(data, flush=True)
        name = "input_ids" if ids else "inputs_embeds"
        return lambda: (batch[name] for batch in train)

    return opened


CONTENDERS = {
    "surefit-global": Contender(
        "surefit, global shuffle", "npy", surefit(12.0, shuffle="global"), budget_gb=12.0
    ),
    "surefit-global-0": Contender(
        "surefit, global shuffle, no thread",
        "npy",
        surefit(12.0, shuffle="global", workers=0),
        budget_gb=12.0,
    ),
    "surefit-blocks": Contender(
        "surefit, blocks in 0.4 GB", "npy", surefit(0.4, shuffle="blocks"), budget_gb=0.4
    ),
    "surefit-blocks-0": Contender(
        "surefit, blocks in 0.4 GB, no thread",
        "npy",
        surefit(0.4, shuffle="blocks", workers=0),
        budget_gb=0.4,
    ),
    "surefit-packed": Contender(
        "surefit, packed one-hot rows", "packed", surefit(12.0), budget_gb=12.0
    ),
    "surefit-ids": Contender(
        "surefit, packed one-hot rows as ids", "packed", surefit(12.0, ids=True), budget_gb=12.0
    ),
    "whole": Contender("np.load, TensorDataset", "npy", whole),
    "mapped": Contender("np.memmap, default collate", "npy", mapped),
    "mapped-together": Contender("np.memmap, `__getitems__`", "npy", mapped_together),
    "datasets": Contender("HF datasets, fixed-size lists", "arrow", hugging_face),
    "mosaic": Contender("mosaicml-streaming", "mds", mosaic(0), STREAMING),
    "mosaic-2": Contender("mosaicml-streaming, 2 workers", "mds", mosaic(2), STREAMING),
    "litdata": Contender("litdata", "litdata", lit, LITDATA),
    "tensordict": Contender(
        "tensordict, one memory-mapped file", "memmap", memory_mapped_tensor, LITDATA
    ),
}
