"""Measures one contender in this process: epochs between two runs of the limit.

python -m benchmarks.loading.measure NAME FOLDER ANSWER
"""

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.loading.contenders import CONTENDERS
from benchmarks.loading.workload import BATCH, FEW_ROWS, ROW_BYTES, ROWS, SHARD_ROWS, npy_files
from surefit.data.features.many_reads import ManyReads, spare

MOST_CPU = 4.0
"""Seconds after which an epoch is cut: what is wanted is a rate."""

WARM_UP = 1.0
HEADER = 128


def cpu() -> float:
    """User and system time of this process, its threads, and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def private() -> int:
    """Private and shared memory of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    names = ("RssAnon:", "RssShmem:")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))


def limit(folder: Path, buffer: memoryview) -> float:
    """Rows for a CPU second of reading all shards in their order, a batch at a time."""
    began = cpu()
    for path in npy_files(folder):
        file = os.open(path, os.O_RDONLY)
        for row in range(0, SHARD_ROWS, BATCH):
            got = os.preadv(file, [buffer], HEADER + row * ROW_BYTES)
            assert got == len(buffer)
        os.close(file)
    return ROWS / (cpu() - began)


def shuffled_limit(folder: Path, buffer: memoryview) -> float:
    """The same of reading them in a random order, each row to its place in the batch: as many reads
    to a system call as a batch has rows, and nothing else."""
    reads = ManyReads()
    files = np.array([os.open(path, os.O_RDONLY) for path in npy_files(folder)])
    order = np.random.default_rng(0).permutation(ROWS)
    places = np.frombuffer(buffer, np.uint8).ctypes.data + np.arange(BATCH) * ROW_BYTES
    pieces = np.stack([places, np.full(BATCH, ROW_BYTES)], axis=1).astype(np.uint64)
    ends = np.arange(BATCH + 1)
    began = cpu()
    for first in range(0, ROWS, BATCH):
        shards, rows = np.divmod(order[first : first + BATCH], SHARD_ROWS)
        got = reads.read(files[shards], HEADER + rows * ROW_BYTES, pieces, ends)
        assert (got == ROW_BYTES).all()
    took = cpu() - began
    for file in files.tolist():
        os.close(file)
    spare(reads)
    return ROWS / took


def epoch(batches: Iterable[torch.Tensor], most: float, consumed: list[np.ndarray] | None) -> float:
    """Rows for a CPU second. A consumer reads every row's number."""
    began = cpu()
    rows = 0
    for batch in batches:
        rows += len(batch)
        if consumed is not None:
            consumed.append(
                batch[:, 0, 0].numpy().copy() if batch.dim() == 3 else batch[:, 0].numpy()
            )
        if cpu() - began > most:
            break
    del batches  # ends workers, whose time counts only then
    return rows / (cpu() - began)


def design_effect(consumed: list[np.ndarray], rows: int) -> float:
    """Variance of batch means of smooth functions of the stored order, against chance."""
    full = np.stack([some for some in consumed if len(some) == BATCH])
    effects = []
    for waves in range(5, 21):
        at = full * (2 * np.pi * waves / rows)
        effects += [np.var(np.cos(at).mean(1)), np.var(np.sin(at).mean(1))]
    return float(np.mean(effects) * BATCH / 0.5)


def measured(name: str, folder: Path) -> dict[str, Any]:
    contender = CONTENDERS[name]
    buffer = memoryview(bytearray(BATCH * ROW_BYTES))
    limit(folder, buffer)
    before, began = private(), time.monotonic()
    open_epoch = contender.open(folder / contender.data)
    opening = time.monotonic() - began
    epoch(open_epoch(), WARM_UP, None)
    found: dict[str, Any] = {"title": contender.title, "opening": opening, "before": before}
    for kind, consumed in (("bare", None), ("consumed", [])):
        before_it = limit(folder, buffer), shuffled_limit(folder, buffer)
        rate = epoch(open_epoch(), MOST_CPU, consumed)
        after_it = limit(folder, buffer), shuffled_limit(folder, buffer)
        limits, shuffled = zip(before_it, after_it, strict=True)
        found[kind] = {"rows": rate, "limits": limits, "shuffled limits": shuffled}
        if consumed and contender.data != "packed":
            rows = FEW_ROWS if contender.data in ("mds", "litdata") else ROWS
            found["design effect"] = design_effect(consumed, rows)
            every: np.ndarray = np.sort(np.concatenate(consumed))
            found["once"] = bool((np.diff(every) == 1).all()) if len(every) == rows else None
    found["versions"] = versions()
    return found


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("torch", "numpy", "datasets", "litdata", "tensordict", "mosaicml-streaming"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    answer = measured(sys.argv[1], Path(sys.argv[2]))
    Path(sys.argv[3]).write_text(json.dumps(answer))
