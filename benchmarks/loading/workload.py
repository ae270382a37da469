"""The rows that everybody loads, in the form that each wants; made in a temporary folder."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

STEPS, FEATURES = 20, 271
ROW_BYTES = STEPS * FEATURES * 4
SHARDS, SHARD_ROWS = 16, 6144
ROWS = SHARDS * SHARD_ROWS
FEW_ROWS = ROWS // 8
"""For those that take minutes to convert all, and are slow enough to be measured on these."""

BATCH = 256


def shards() -> Iterator[np.ndarray]:
    """Rows whose first value is their number."""
    rows = np.random.default_rng(0).random((SHARD_ROWS, STEPS, FEATURES), np.float32)
    for number in range(SHARDS):
        rows[:, 0, 0] = np.arange(number * SHARD_ROWS, (number + 1) * SHARD_ROWS)
        yield rows


def npy_files(folder: Path) -> list[Path]:
    return sorted((folder / "npy").glob("*.npy"))


def make_npy(to: Path, _: Path) -> None:
    for number, rows in enumerate(shards()):
        np.save(to / f"part-{number:02}.npy", rows)


def make_arrow(to: Path, npy: Path) -> None:
    import pyarrow as pa

    for path in sorted(npy.glob("*.npy")):
        values = np.load(path).reshape(-1)
        column = pa.FixedSizeListArray.from_arrays(pa.array(values), STEPS * FEATURES)
        table = pa.table({"x": column})
        with (
            pa.OSFile(str(to / f"{path.stem}.arrow"), "wb") as file,
            pa.ipc.new_stream(file, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=256)


def make_memmap(to: Path, npy: Path) -> None:
    rows = np.lib.format.open_memmap(to / "all.npy", "w+", np.float32, (ROWS, STEPS, FEATURES))
    for number, path in enumerate(sorted(npy.glob("*.npy"))):
        rows[number * SHARD_ROWS : (number + 1) * SHARD_ROWS] = np.load(path, mmap_mode="r")
    rows.flush()


def make_mds(to: Path, npy: Path) -> None:
    from benchmarks.loading.mosaic import streaming

    columns = {"x": f"ndarray:float32:{STEPS},{FEATURES}"}
    with streaming().MDSWriter(out=str(to), columns=columns) as writer:
        for row in few(npy):
            writer.write({"x": row})


def make_litdata(to: Path, npy: Path) -> None:
    import litdata

    paths = [str(path) for path in sorted(npy.glob("*.npy"))[: FEW_ROWS // SHARD_ROWS]]
    litdata.optimize(
        fn=rows_of, inputs=paths, output_dir=str(to), chunk_bytes="64MB", num_workers=1
    )


def rows_of(path: str) -> Iterator[np.ndarray]:
    yield from np.load(path)


def make_packed(to: Path, _: Path) -> None:
    """One-hot rows as ids, as `surefit pack` writes them."""
    chance = np.random.default_rng(0)
    for number in range(SHARDS):
        ids = chance.integers(0, FEATURES, (SHARD_ROWS, STEPS), np.uint16)
        np.save(to / f"part-{number:02}.npy", ids)
    layout = {"surefit_layout": 1, "steps": STEPS, "features": FEATURES, "dtype": "float32"}
    text = json.dumps({**layout, "kind": "one-hot", "form": "ids"})
    (to / "surefit-layout.json").write_text(text)


def few(npy: Path) -> Iterator[np.ndarray]:
    for path in sorted(npy.glob("*.npy"))[: FEW_ROWS // SHARD_ROWS]:
        yield from np.load(path, mmap_mode="r")


MAKE: dict[str, Callable[[Path, Path], Any]] = {
    "npy": make_npy,
    "arrow": make_arrow,
    "memmap": make_memmap,
    "mds": make_mds,
    "litdata": make_litdata,
    "packed": make_packed,
}


if __name__ == "__main__":
    kind, made_in = sys.argv[1], Path(sys.argv[2])
    (made_in / kind).mkdir()
    MAKE[kind](made_in / kind, made_in / "npy")
