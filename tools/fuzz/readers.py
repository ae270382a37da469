"""Every reader of surefit: how it is called, what it reads, and what it is given instead."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import torch

from . import binaries, texts
from .oddities import ODDITIES, Write, mutated, odd_name

FILE = "FILE"
SHAPE = ("--steps", "4", "--features", "3")
NOWHERE = "no-such-rows.jsonl"
"""Settings are read before rows are looked for."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One way into surefit."""

    name: str
    suffix: str
    calls: tuple[tuple[str, ...], ...]
    """Command lines; `FILE` stands for the path."""

    valid: Callable[[Random], str | bytes] | None = None
    """What it is meant to read, to be changed at random."""

    contents: Mapping[str, Callable[[Random], str | bytes]] = field(default_factory=dict)
    paths: Mapping[str, Write] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One hostile file, and the call that reads it."""

    reader: str
    label: str
    arguments: tuple[str, ...]


def attempt(reader: Reader, random: Random, folder: Path, number: int) -> Attempt:
    """Puts the file into the folder."""
    label, write = chosen(reader, random, number)
    name = "file" + reader.suffix
    if random.random() < 0.06:
        name, label = odd_name(random, reader.suffix), f"{label}, under an odd name"
    path = folder / name
    try:
        write(random, path)
    except OSError as error:
        label = f"no file: {error.strerror}"
    call = random.choice(reader.calls)
    arguments = tuple(name if word == FILE else word for word in call)
    return Attempt(reader=reader.name, label=label, arguments=arguments)


def chosen(reader: Reader, random: Random, number: int) -> tuple[str, Write]:
    """Every known hostility in turn; between them valid content, changed, and odd paths."""
    listed: list[tuple[str, Write]] = [
        *((label, written(content)) for label, content in reader.contents.items()),
        *reader.paths.items(),
    ]
    if number < len(listed):
        return listed[number]
    if number < len(listed) + len(ODDITIES):
        return list(ODDITIES.items())[number - len(listed)]
    lot = random.random()
    if reader.valid is not None and lot < 0.7:
        return "changed", written(changed(reader.valid))
    if listed and lot < 0.93:
        return random.choice(listed)
    return random.choice(list(ODDITIES.items()))


def written(content: Callable[[Random], str | bytes]) -> Write:
    def write(random: Random, path: Path) -> None:
        path.write_bytes(as_bytes(content(random)))

    return write


def changed(valid: Callable[[Random], str | bytes]) -> Callable[[Random], bytes]:
    return lambda random: mutated(random, as_bytes(valid(random)))


def as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")


def rows_reader(name: str, suffix: str, **known: object) -> Reader:
    calls = (("inspect", FILE), ("inspect", FILE, "--skip-bad-rows", "--json", "found.json"))
    return Reader(name=name, suffix=suffix, calls=calls, **known)  # type: ignore[arg-type]


def arrays_reader(name: str, suffix: str, **known: object) -> Reader:
    calls = (("inspect", FILE, *SHAPE), ("inspect", FILE, *SHAPE, "--json", "found.json"))
    return Reader(name=name, suffix=suffix, calls=calls, **known)  # type: ignore[arg-type]


CONFIG = (
    ("sft", NOWHERE, "--config", FILE),
    ("inspect", NOWHERE, "--config", FILE),
    ("pretrain", "no-such-folder", "--config", FILE, *SHAPE),
)

READERS = (
    rows_reader("JSON Lines", ".jsonl", valid=texts.json_lines, contents=texts.JSON_LINES),
    rows_reader("JSON", ".json", valid=lambda r: json.dumps(texts.rows(r)), contents=texts.JSON),
    rows_reader("CSV", ".csv", valid=texts.table, contents=texts.CSV),
    rows_reader("TSV", ".tsv", valid=lambda r: texts.table(r, "\t"), contents=texts.CSV),
    rows_reader("text", ".txt", valid=lambda _: "a line\n\nanother\n" * 9, contents=texts.PLAIN),
    rows_reader(
        "Parquet rows",
        ".parquet",
        valid=lambda r: binaries.parquet_of(binaries.text_table(r)),
        contents=binaries.PARQUET,
    ),
    rows_reader("datasets folder", "", paths=binaries.FOLDERS),
    arrays_reader(
        "Parquet arrays",
        ".parquet",
        valid=lambda r: binaries.parquet_of(binaries.list_table(r)),
        contents=binaries.PARQUET,
    ),
    arrays_reader(
        "Arrow",
        ".arrow",
        valid=lambda r: binaries.arrow_of(binaries.list_table(r), stream=r.random() < 0.5),
        contents=binaries.ARROW,
    ),
    arrays_reader(
        "npy",
        ".npy",
        valid=lambda r: binaries.npy_of(binaries.features(r)),
        contents=binaries.NPY,
    ),
    arrays_reader(
        "npz",
        ".npz",
        valid=lambda r: binaries.npz_of({"x.npy": binaries.npy_of(binaries.features(r))}),
        contents=binaries.NPZ,
    ),
    arrays_reader(
        "pt",
        ".pt",
        valid=lambda r: binaries.torch_of(torch.from_numpy(binaries.features(r))),
        contents=binaries.TORCH,
    ),
    arrays_reader(
        "safetensors",
        ".safetensors",
        valid=binaries.safetensors_of,
        contents=binaries.SAFETENSORS,
    ),
    arrays_reader("pickle", ".pkl", paths={"side effect": binaries.pickles}),
    arrays_reader("array folder", "", paths=binaries.ARRAY_FOLDERS),
    Reader(
        name="YAML settings",
        suffix=".yaml",
        calls=CONFIG,
        valid=lambda _: texts.CONFIG_YAML,
        contents=texts.YAML,
    ),
    Reader(
        name="TOML settings",
        suffix=".toml",
        calls=CONFIG,
        valid=lambda _: texts.CONFIG_TOML,
        contents=texts.TOML,
    ),
    Reader(
        name="script",
        suffix=".py",
        calls=(("lint", FILE),),
        valid=lambda _: texts.SCRIPT,
        contents=texts.SCRIPTS,
    ),
    Reader(
        name="notebook",
        suffix=".ipynb",
        calls=(("lint", FILE), ("explain", FILE)),
        valid=lambda _: json.dumps(texts.notebook(), indent=1),
        contents=texts.NOTEBOOKS,
    ),
    Reader(
        name="log",
        suffix=".log",
        calls=(("explain", FILE), ("explain", FILE, "--brief")),
        valid=lambda _: texts.LOG,
        contents=texts.LOGS,
    ),
    Reader(
        name="table of a log",
        suffix=".csv",
        calls=(("explain", FILE),),
        valid=lambda _: "step,loss\n" + "".join(f"{n},{3 / (n + 1)}\n" for n in range(60)),
        contents={**texts.CSV, **texts.LOGS},
    ),
    Reader(
        name="traceback",
        suffix=".txt",
        calls=(("explain", FILE), ("explain", FILE, "--json", "found.json")),
        valid=lambda _: texts.TRACEBACK,
        contents=texts.TRACEBACKS,
    ),
    Reader(
        name="Trainer state",
        suffix=".json",
        calls=(("explain", FILE),),
        valid=lambda _: json.dumps(texts.trainer_state()),
        contents=texts.STATES,
    ),
    Reader(
        name="run folder",
        suffix="",
        calls=(("eval", FILE, NOWHERE), ("ask", FILE, "why")),
        paths=binaries.RUNS,
    ),
    Reader(
        name="sizes of a model",
        suffix="",
        calls=(("inspect", binaries.BESIDE, *SHAPE, "--model", FILE),),
        paths=binaries.SIZES,
    ),
    Reader(
        name="model folder",
        suffix="",
        calls=(("inspect", "--examples", "0", "--model", FILE),),
        paths=binaries.MODELS,
    ),
)
