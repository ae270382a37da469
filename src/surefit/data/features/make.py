"""Feature rows that can be learned, with the best possible loss on them known."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from surefit.writing import new_folder, write_json

from .drifts import Drifts
from .folder import read_shards
from .layout import Kind, Layout
from .markov import Chain, Flags
from .switches import Switches
from .write_layout import write_layout

SOURCE_FILE = "surefit-source.json"
PART = 1024
"""Rows that are drawn at once; what is drawn does not depend on how many files there are."""

Values = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where made rows come from: with it, what comes next is known as well as it can be."""

    steps: int
    features: int
    kind: Kind
    seed: int

    @property
    def layout(self) -> Layout:
        return Layout(steps=self.steps, features=self.features, kind=self.kind)

    def draw(self, rows: int, part: int) -> Values:
        """`[rows, steps, features]` in float32; the same for the same part, always."""
        numbers = np.random.default_rng([self.seed, part])
        if self.kind is Kind.ONE_HOT:
            states = Chain.of(self.features, self.seed).draw(rows, self.steps, numbers)
            return np.eye(self.features, dtype="<f4")[states]
        if self.kind is Kind.MULTI_HOT:
            on = Switches(self.features).draw(rows, self.steps, numbers)
            return on.astype("<f4")
        drifts = Drifts.of(self.features, self.seed)
        return drifts.draw(rows, self.steps, numbers).astype("<f4")

    def best_loss(self, values: Values, masked: Flags | None) -> float:
        """Of one who knows the source, on these rows: over masked steps, or over next steps.

        In nats: of a step for one-hot rows, which can come as `[rows, steps]` of indices; of a
        feature for multi-hot ones. For continuous rows the squared error of a feature.
        """
        if self.kind is Kind.ONE_HOT:
            chain = Chain.of(self.features, self.seed)
            states = values.argmax(axis=2) if values.ndim == 3 else values
            if masked is None:
                return chain.next_step_loss(states)
            return chain.masked_loss(states, masked)
        known = Switches(self.features) if self.kind is Kind.MULTI_HOT else None
        if known is not None:
            on = values > 0.5
            return known.next_step_loss(on) if masked is None else known.masked_loss(on, masked)
        drifts, numbers = Drifts.of(self.features, self.seed), values.astype(np.float64)
        if masked is None:
            return drifts.next_step_loss(numbers)
        return drifts.masked_loss(numbers, masked)


def make_features(
    folder: Path, source: Source, rows: int, files: int, made: Callable[[int], object]
) -> None:
    """Writes `.npy` files, their layout and a note of their source to a new folder; `made` is told
    of rows."""
    per_file = ceil(rows / files)
    with new_folder(folder) as side:
        parts = _parts(source, rows, made)
        for number, first in enumerate(range(0, rows, per_file)):
            count = min(per_file, rows - first)
            with (side / f"part-{number:05d}.npy").open("wb") as file:
                _write_header(file, (count, *source.layout.shape))
                for row in islice(parts, count):
                    file.write(row.tobytes())
        write_json(side / SOURCE_FILE, asdict(source))
        write_layout(read_shards(side, source.layout))


def read_source(folder: Path) -> Source | None:
    """None for a folder of rows that were not made here."""
    try:
        return msgspec.json.decode((folder / SOURCE_FILE).read_bytes(), type=Source)
    except (OSError, msgspec.DecodeError):
        return None


def _write_header(file: BinaryIO, shape: tuple[int, ...]) -> None:
    """Values follow by plain writing: a memory map would end the process on a full disk."""
    about = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def _parts(source: Source, rows: int, made: Callable[[int], object]) -> Iterator[Values]:
    for part, first in enumerate(range(0, rows, PART)):
        count = min(PART, rows - first)
        made(count)
        yield from source.draw(PART, part)[:count]
