"""Goes through all rows once with the teacher, and keeps its likeliest tokens in files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from surefit.data.batches import PadRows
from surefit.data.tokens import TokenSet
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.places import find_places
from surefit.losses.teacher import TopK
from surefit.losses.top_k import top_k_of
from surefit.writing import new_folder, write_json

from .teacher import Teacher
from .teacher_cache import ABOUT, ENDS, LOW, About, CacheFile, CacheIdentity

FOLDER_IN_USE = refusal(
    "SF147", "teacher-cache-folder-in-use", "The folder for a teacher cache holds other files."
)

FILE_BYTES = 256_000_000
"""What a file holds at most, unless a single row holds more."""

BATCHES_SORTED = 32
"""Batches whose rows are sorted by length together, so that little of them is padding."""


@dataclass(frozen=True, slots=True)
class Pass:
    """How the teacher goes through rows."""

    teacher: Teacher
    identity: CacheIdentity
    pad_id: int
    batch_size: int
    device: torch.device


def write_teacher_cache(
    folder: Path,
    parts: Mapping[str, TokenSet],
    going: Pass,
    each: Callable[[int], object] = lambda _: None,
) -> None:
    """The folder takes its name when it is whole. `each` is told how many rows were done since it
    was last called."""
    check_cache_folder(folder)
    with new_folder(folder, "start this run again") as side:
        files: list[CacheFile] = []
        for part, rows in parts.items():
            first = 0
            for some in _filled(_said_of(rows, going, each)):
                name = f"{part}-{len(files):05d}.safetensors"
                save_file(_joined(some), side / name)
                size = (side / name).stat().st_size
                files.append(CacheFile(name, size, part, first, len(some)))
                first += len(some)
        write_json(side / ABOUT, About(going.identity, files))


def check_cache_folder(folder: Path) -> None:
    """Raises `BadInput` for a folder that is not empty: it would be replaced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(_in_use(folder))


def packed(said: TopK, temperature: float, tokens: int) -> dict[str, torch.Tensor]:
    """As it is kept: log-probabilities in 2 bytes, ids in 2 or 3.

    The normaliser takes up what rounding did to the sum of the kept probabilities, so that the
    tail is as large as it was.
    """
    exact = said.log_probabilities
    rounded = exact.clamp(min=torch.finfo(torch.float16).min).to(torch.float16)
    moved = (rounded.to(exact.dtype) / temperature).logsumexp(1)
    moved -= (exact / temperature).logsumexp(1)
    assert said.target_log_probability is not None
    ids = said.ids.to(torch.int32)
    kept = {
        "ids": (ids % LOW).to(torch.uint16),
        "log_probabilities": rounded,
        "log_normaliser": (said.log_normaliser + moved).to(torch.float32),
        "target_log_probability": said.target_log_probability.to(torch.float32),
    }
    high = {"ids_high": (ids // LOW).to(torch.uint8)} if tokens > LOW else {}
    return {name: tensor.cpu().contiguous() for name, tensor in (kept | high).items()}


def _said_of(
    rows: TokenSet, going: Pass, each: Callable[[int], object]
) -> Iterator[dict[str, torch.Tensor]]:
    """Row by row, in their order."""
    window = BATCHES_SORTED * going.batch_size
    for begin in range(0, len(rows), window):
        here = range(begin, min(begin + window, len(rows)))
        by_length = sorted(here, key=rows.lengths.__getitem__)
        found: dict[int, dict[str, torch.Tensor]] = {}
        for at in range(0, len(by_length), going.batch_size):
            chosen = by_length[at : at + going.batch_size]
            found.update(zip(chosen, _said_of_batch(rows, chosen, going), strict=True))
            each(len(chosen))
        yield from (found[row] for row in here)


def _said_of_batch(
    rows: TokenSet, chosen: Sequence[int], going: Pass
) -> list[dict[str, torch.Tensor]]:
    identity = going.identity
    padded = PadRows(pad_id=going.pad_id)(rows.features(chosen))
    batch = {name: tensor.to(going.device) for name, tensor in padded.items()}
    places = find_places(batch["labels"])
    said = going.teacher.read(batch, places, identity.tokens)
    top = top_k_of(said.hidden, said.head, places.targets, identity.k, identity.temperature)
    kept = packed(top, identity.temperature, identity.tokens)
    counts = [int(rows.supervised[row]) for row in chosen]
    parted = {name: tensor.split(counts) for name, tensor in kept.items()}
    return [
        {name: tensors[row].clone() for name, tensors in parted.items()}
        for row in range(len(chosen))
    ]


def _filled(
    rows: Iterator[dict[str, torch.Tensor]],
) -> Iterator[list[dict[str, torch.Tensor]]]:
    """As many rows together as a file holds."""
    some: list[dict[str, torch.Tensor]] = []
    size = 0
    for row in rows:
        own = sum(tensor.nbytes for tensor in row.values())
        if some and size + own > FILE_BYTES:
            yield some
            some, size = [], 0
        some.append(row)
        size += own
    if some:
        yield some


def _joined(rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    counts = torch.tensor([0, *(len(row["ids"]) for row in rows)])
    joined = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    return {**joined, ENDS: counts.cumsum(0)}


def _in_use(folder: Path) -> Finding:
    held = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else ["a file"]
    return FOLDER_IN_USE.finding(
        Place(str(folder)),
        f"`{folder}` cannot become a teacher cache: it holds other files.",
        facts=[Fact("contents", ", ".join(held[:20]))],
        why="Writing a cache replaces its folder.",
        fixes=[Fix("Use a folder that is empty or does not exist:  --cache-teacher FOLDER")],
    )
