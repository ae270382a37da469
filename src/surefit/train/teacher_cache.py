"""What a teacher said of every row, kept in files, so that later runs need no teacher."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from safetensors import SafetensorError, safe_open

from surefit import __version__
from surefit.data.tokens import TokenSet
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.losses.teacher import TopK
from surefit.models.load import ModelSource
from surefit.models.vocabulary import tokenizer_fingerprint
from surefit.models.weight_files import weights_fingerprint_of

OTHER_CACHE = refusal(
    "SF145",
    "teacher-cache-of-another-run",
    "A teacher cache belongs to other rows, another teacher or other settings.",
)
DAMAGED_CACHE = refusal("SF146", "teacher-cache-damaged", "A teacher cache is damaged.")

ABOUT = "cache.json"
ENDS = "ends"
"""The tensor of a file that says where the places of each row begin and end."""

LOW = 1 << 16
"""Ids below it are kept in two bytes; a third one is kept for vocabularies that go beyond."""


@dataclass(frozen=True, slots=True)
class CacheIdentity:
    """What a cache was made of, and what a run asks of one."""

    teacher: str
    """Its name, as the user gives it."""

    weights: str | None
    """A fingerprint of its files; None where they are not on this machine."""

    tokenizer: str
    rows: dict[str, str]
    """Fingerprints of the rows of each part: of training, and held out."""

    tokens: int
    """Of the vocabulary that teacher and student share."""

    k: int
    temperature: float

    @classmethod
    def of(
        cls,
        source: ModelSource,
        tokenizer: Any,
        parts: Mapping[str, TokenSet],
        tokens: int,
        k: int,
        temperature: float,
    ) -> "CacheIdentity":
        """The teacher is not loaded for it."""
        return cls(
            source.name,
            weights_fingerprint_of(source),
            tokenizer_fingerprint(tokenizer),
            {name: rows.fingerprint() for name, rows in parts.items()},
            tokens,
            min(k, tokens),
            float(temperature),
        )


@dataclass(frozen=True, slots=True)
class CacheFile:
    """One file: consecutive rows of a part."""

    name: str
    bytes: int
    part: str
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True)
class About:
    """What stands in a file beside the others."""

    made_of: CacheIdentity
    files: list[CacheFile]
    format: Literal[1] = 1
    surefit: str = __version__


class TeacherCache:
    """Rows by their index in a part; files stay mapped, and are read where rows lie in them."""

    def __init__(self, folder: Path, files: Sequence[CacheFile], k: int) -> None:
        """`k` likeliest tokens are given, of those that were kept."""
        self.folder = folder
        self.k = k
        self._files: dict[str, list[CacheFile]] = {}
        for file in sorted(files, key=lambda one: one.first_row):
            self._files.setdefault(file.part, []).append(file)
        self._first_rows = {
            part: [file.first_row for file in some] for part, some in self._files.items()
        }
        self._mapped: dict[str, dict[str, torch.Tensor]] = {}

    def of(self, part: str, rows: Sequence[int]) -> TopK:
        """The places of these rows, row by row, as `find_places` has them in a padded batch."""
        found = [self._row(part, int(row)) for row in rows]
        if not found:
            none = torch.empty(0)
            ids = torch.empty(0, self.k, dtype=torch.int32)
            return TopK(ids, torch.empty(0, self.k), none, none)
        joined = {name: torch.cat([one[name] for one in found]) for name in found[0]}
        ids = joined["ids"].to(torch.int32)
        if "ids_high" in joined:
            ids += joined["ids_high"].to(torch.int32) * LOW
        return TopK(
            ids,
            joined["log_probabilities"],
            joined["log_normaliser"],
            joined["target_log_probability"],
        )

    def _row(self, part: str, row: int) -> dict[str, torch.Tensor]:
        at = bisect_right(self._first_rows[part], row) - 1
        file = self._files[part][at]
        kept, place = self._open(file), row - file.first_row
        here = slice(*kept[ENDS][place : place + 2].tolist())
        return {
            name: tensor[here, : self.k] if tensor.dim() == 2 else tensor[here]
            for name, tensor in kept.items()
            if name != ENDS
        }

    def _open(self, file: CacheFile) -> dict[str, torch.Tensor]:
        found = self._mapped.get(file.name)
        if found is None:
            try:
                with safe_open(self.folder / file.name, framework="pt") as opened:
                    found = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            except (OSError, SafetensorError) as error:
                said = f"{type(error).__name__}: {error}"
                raise BadInput(_damaged(self.folder, file.name, said)) from error
            self._mapped[file.name] = found
        return found


def is_teacher_cache(folder: Path) -> bool:
    return (folder / ABOUT).is_file()


def open_teacher_cache(folder: Path, wanted: CacheIdentity) -> TeacherCache:
    """Raises `BadInput` with what differs if it was not made of what this run asks for.

    It can hold more of the likeliest tokens than are asked for, never fewer. Where the teacher's
    files are not on this machine, its name must do.
    """
    about = _read_about(folder)
    for file in about.files:
        there = folder / file.name
        if not there.is_file() or there.stat().st_size != file.bytes:
            size = f"{there.stat().st_size:,} bytes" if there.is_file() else "no file"
            raise BadInput(_damaged(folder, file.name, f"{size}, {file.bytes:,} were written"))
    differing = _differing(about.made_of, wanted)
    if differing:
        raise BadInput(_other(folder, differing))
    return TeacherCache(folder, about.files, wanted.k)


def _read_about(folder: Path) -> About:
    try:
        return msgspec.json.decode((folder / ABOUT).read_bytes(), type=About)
    except (OSError, msgspec.MsgspecError) as error:
        said = f"{type(error).__name__}: {error}"
        raise BadInput(_damaged(folder, ABOUT, said)) from error


def _differing(made: CacheIdentity, wanted: CacheIdentity) -> list[Fact]:
    if wanted.weights is None or made.weights is None:
        made, wanted = replace(made, weights=None), replace(wanted, weights=None)
    elif made.weights == wanted.weights:
        made = replace(made, teacher=wanted.teacher)  # the same files, under another name
    if wanted.k <= made.k:
        made = replace(made, k=wanted.k)
    names = {
        "teacher": "teacher",
        "weights": "the teacher's weights",
        "tokenizer": "tokenizer",
        "tokens": "tokens",
        "k": "likeliest tokens",
        "temperature": "temperature",
    }
    pairs = [(said, getattr(made, name), getattr(wanted, name)) for name, said in names.items()]
    for part in sorted({*made.rows, *wanted.rows}):
        pairs.append((f"{part} rows", made.rows.get(part), wanted.rows.get(part)))
    return [
        Fact(said, f"{_shown(one)} in the cache, {_shown(other)} now")
        for said, one, other in pairs
        if one != other
    ]


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else f"{value}"


def _other(folder: Path, differing: list[Fact]) -> Finding:
    return OTHER_CACHE.finding(
        Place(str(folder)),
        "This cache was written with a different "
        f"{', '.join(f'`{fact.name}`' for fact in differing)}.",
        facts=differing,
        why="The student would learn from outputs for other rows or of another teacher.",
        fixes=[
            Fix("Restore the rows, teacher and settings it was written with."),
            Fix("Or write a new cache to another folder:  --cache-teacher FOLDER"),
        ],
    )


def _damaged(folder: Path, name: str, said: str) -> Finding:
    return DAMAGED_CACHE.finding(
        Place(str(folder / name)),
        f"`{name}` of the teacher cache is damaged: {said}.",
        fixes=[Fix(f"Remove the folder {folder}; the next run writes the cache again.")],
    )
