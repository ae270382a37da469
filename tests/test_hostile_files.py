"""Files that no reader was made for: each is refused in words, in bounded time and memory."""

import io
import json
import os
import signal
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

import numpy as np
import pyarrow as pa
import pytest

from surefit.cli import main
from surefit.data.features import files
from tools.fuzz import binaries, oddities, texts

SECONDS = 120
SHAPE = ("--steps", "4", "--features", "3")
RANDOM = Random(0)


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A reader that waits forever fails its test, and not the whole run."""

    def too_late(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"not done in {SECONDS} s")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass(frozen=True)
class Hostile:
    """A file, the call that reads it, and what must be said of it."""

    file: str
    write: Callable[[Random, Path], None]
    call: tuple[str, ...]
    says: tuple[str, ...]
    code: int = 1


def content(made: str | bytes) -> Callable[[Random, Path], None]:
    raw = made if isinstance(made, bytes) else made.encode()
    return lambda _, path: (path.write_bytes(raw), None)[1]


DEEP = "[" * 100_000 + "]" * 100_000
DIGITS = "9" * 5_000
GOOD = '{"input": "a", "target": "b"}\n'


def lines(middle: str) -> Callable[[Random, Path], None]:
    return content(GOOD + middle + "\n" + GOOD)


def table(values: pa.Array) -> Callable[[Random, Path], None]:
    columns = {"input": values, "target": pa.array(["x"] * len(values))}
    return content(binaries.parquet_of(pa.table(columns)))


def far_dates(kind: pa.DataType) -> pa.Array:
    return pa.array([0, 2**53], pa.int64()).cast(kind)


def huge_text() -> pa.Array:
    return pa.array(["a", "word " * 1_000_000])


def datasets_folder(name: str, changed: object) -> Callable[[Random, Path], None]:
    def write(random: Random, path: Path) -> None:
        binaries.datasets_folder(random, path)
        (path / name).write_text(json.dumps(changed))

    return write


def with_fifo(name: str) -> Callable[[Random, Path], None]:
    def write(random: Random, path: Path) -> None:
        binaries.datasets_folder(random, path)
        (path / name).unlink()
        os.mkfifo(path / name)

    return write


def model_with_fifo(_: Random, path: Path) -> None:
    binaries.model_folder(path)
    (path / "tokenizer.json").unlink()
    os.mkfifo(path / "tokenizer.json")


def model_with_odd_lengths(_: Random, path: Path) -> None:
    binaries.model_folder(path)
    settings = json.loads((path / "tokenizer_config.json").read_bytes())
    (path / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": []}))


def run_with_fifo(_: Random, path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "settings.json")


def config_beside_arrays(random: Random, path: Path) -> None:
    Path("a.npy").write_bytes(binaries.npy_of(binaries.features(random)))
    os.mkfifo(path)


ROWS = ("inspect",)
ARRAYS = ("inspect", *SHAPE)
SETTINGS = ("inspect", "no-such-rows.jsonl", "--config")
PLAIN = "not a plain file"

KNOWN = {
    "nested JSON": Hostile("a.json", content(DEEP), ROWS, ("SF105", "a.json")),
    "nested JSON in a list": Hostile("a.json", content(f"[{DEEP}]"), ROWS, ("SF105",)),
    "nested JSON in a row": Hostile(
        "a.jsonl", lines(f'{{"input": {DEEP}, "target": "x"}}'), ROWS, ("SF105", "a.jsonl:2")
    ),
    "digits": Hostile(
        "a.json", content(f'[{{"input": {DIGITS}}}]'), ROWS, ("SF105", "4300 digits")
    ),
    "digits in a row": Hostile(
        "a.jsonl", lines(f'{{"input": {DIGITS}, "target": "x"}}'), ROWS, ("a.jsonl:2",)
    ),
    "nested YAML": Hostile(
        "a.yaml", content("seed: " + "[" * 20_000), SETTINGS, ("SF011", "a.yaml"), code=2
    ),
    "digits in YAML": Hostile(
        "a.yaml", content("seed: 0x" + "f" * 5_000), SETTINGS, ("SF011", "`seed`"), code=2
    ),
    "digits in TOML": Hostile(
        "a.toml", content("seed = 0x" + "f" * 5_000), SETTINGS, ("SF011", "`seed`"), code=2
    ),
    "nested TOML": Hostile(
        "a.toml", content("seed = " + "[" * 20_000), SETTINGS, ("SF011", "a.toml"), code=2
    ),
    "aliases": Hostile(
        "a.yaml",
        lambda r, path: (
            path.write_bytes(str(texts.YAML["billion laughs in a setting"](r)).encode()),
            None,
        )[1],
        SETTINGS,
        ("SF011", "aliases"),
        code=2,
    ),
    "a date that YAML cannot make": Hostile(
        "a.yaml", content("seed: 2001-99-99"), SETTINGS, ("SF011", "month"), code=2
    ),
    "dates": Hostile(
        "a.parquet", table(far_dates(pa.timestamp("s"))), ROWS, ("SF119", "row 2", "`input`")
    ),
    "durations": Hostile(
        "a.parquet", table(far_dates(pa.duration("s"))), ROWS, ("SF119", "row 2", "`input`")
    ),
    "text that is not UTF-8": Hostile(
        "a.parquet", table(binaries.not_utf8()), ROWS, ("SF119", "row 1", "UnicodeDecodeError")
    ),
    "very long text in Parquet": Hostile(
        "a.parquet", table(huge_text()), ROWS, ("SF138", "row 2", "5,000,001 characters")
    ),
    "very many keys": Hostile(
        "a.jsonl", lines(json.dumps({f"key {n}": n for n in range(100_000)})), ROWS, ("SF120",)
    ),
    "very many columns": Hostile(
        "a.csv", content("c," * 100_000 + "\n1\n"), ROWS, ("SF110", "100000 times")
    ),
    "features of another type": Hostile(
        "rows", datasets_folder("dataset_info.json", {"features": 3}), ROWS, ("SF112", "`rows`")
    ),
    "state of another type": Hostile(
        "rows", datasets_folder("state.json", ["x"]), ROWS, ("SF112", "`rows`")
    ),
    "FIFO in a datasets folder": Hostile("rows", with_fifo("state.json"), ROWS, (PLAIN,)),
    "header of safetensors": Hostile(
        "a.safetensors",
        content(binaries.safetensors_header(f'{{"x": {DEEP}}}')),
        ARRAYS,
        ("SF031", "safetensors file"),
    ),
    "pickle of pt": Hostile(
        "a.pt",
        lambda r, path: (path.write_bytes(binaries.other_pickle(b"\x80\x02]q\0h\xffa.")(r)), None)[
            1
        ],
        ARRAYS,
        ("a.pt",),
    ),
    "FIFO in a model folder": Hostile("model", model_with_fifo, ("inspect", "--model"), (PLAIN,)),
    "a file for a model": Hostile(
        "model",
        content("x"),
        ("inspect", "--model"),
        ("SF171", "`model` is neither a folder nor a GGUF file"),
    ),
    "settings of a tokenizer": Hostile(
        "model", model_with_odd_lengths, ("inspect", "--model"), ("SF173", "tokenizer")
    ),
    "FIFO in a folder of a run": Hostile(
        "run", run_with_fifo, ("eval", "--data", "embedded"), ("SF192", PLAIN)
    ),
    "config of sizes": Hostile(
        "config.json", config_beside_arrays, (*ARRAYS, "a.npy", "--model"), ("SF046", PLAIN)
    ),
    "digits of a line": Hostile(
        "a.log", content(texts.TRACEBACK.replace("14", DIGITS)), ("explain",), ("mat1",), code=0
    ),
    "name too long": Hostile("x" * 300 + ".jsonl", lambda *_: None, ROWS, ("too long",)),
    "name of arrays too long": Hostile("x" * 300 + ".npy", lambda *_: None, ARRAYS, ("too long",)),
    "name of a log too long": Hostile("x" * 300, lambda *_: None, ("explain",), ("too long",)),
    "name of a script too long": Hostile(
        "x" * 300 + ".py", lambda *_: None, ("lint",), ("too long",)
    ),
    "name of settings too long": Hostile(
        "x" * 300 + ".toml", lambda *_: None, SETTINGS, ("too long",), code=2
    ),
    "name with half a character": Hostile(
        os.fsdecode(b"\xff.jsonl"), lines(GOOD), ROWS, ("\\udcff.jsonl",), code=0
    ),
}


def refused(hostile: Hostile, capsys: pytest.CaptureFixture[str]) -> str:
    hostile.write(RANDOM, Path(hostile.file))
    code = main([*hostile.call, hostile.file])
    shown = "".join(capsys.readouterr())
    assert "This is a bug in surefit" not in shown, shown[-3000:]
    assert code == hostile.code, shown[-3000:]
    for words in hostile.says:
        assert words in " ".join(shown.split()), shown[-3000:]
    return shown


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_seen_is_refused_in_words(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused(KNOWN[name], capsys)


READERS = {
    **dict.fromkeys(("jsonl", "json", "csv", "tsv", "parquet", "txt"), ROWS),
    **dict.fromkeys(("npy", "npz", "safetensors", "pt", "arrow", "feather"), ARRAYS),
    **dict.fromkeys(("log", "ipynb"), ("explain",)),
    **dict.fromkeys(("toml", "yaml"), SETTINGS),
    "py": ("lint",),
}


def zeros(_: Random, path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("write", [oddities.fifo, oddities.unix_socket, zeros])
@pytest.mark.parametrize("suffix", READERS)
def test_what_is_no_file_is_never_read(
    suffix: str, write: Callable[[Random, Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    code = 1 if READERS[suffix] in (ROWS, ARRAYS, ("lint",)) else 2
    refused(Hostile(f"a.{suffix}", write, READERS[suffix], (PLAIN,), code), capsys)


def test_an_archive_is_not_decompressed_into_more_memory_than_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "free_memory", lambda: 1 << 24)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        raw = binaries.npy_of(np.zeros((1, 4, 1 << 20), "f4"))
        archive.writestr("x.npy", raw)
    assert len(written.getvalue()) < 1 << 17
    says = ("SF031", "16,777,216 bytes of memory at once", "4,194,304")
    refused(Hostile("a.npz", content(written.getvalue()), ARRAYS, says), capsys)


EVIL = "\x1b[2J\x1b]0;title\x07\u202e\u200b\x9b31m\x7f"


@pytest.mark.parametrize("suffix", READERS)
def test_nothing_of_a_name_is_obeyed_by_a_terminal(
    suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"{EVIL}.{suffix}"
    Path(file).write_text(f"{EVIL}: [\n")
    main([*READERS[suffix], file, "--json", "found.json"])
    shown = "".join(capsys.readouterr()) + Path("found.json").read_text()
    assert "title" in shown
    assert not set(EVIL.replace("[2J", "").replace("]0;title", "").replace("31m", "")) & set(shown)


def test_a_file_that_the_system_refuses_is_told_by_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: str) -> bool:
        raise OSError(5, "Input/output error", f"disk/{EVIL}")

    monkeypatch.setattr("surefit.cli.explain.is_file", fails)
    assert main(["explain", "anything"]) == 1
    shown = capsys.readouterr().err
    assert "SF029" in shown
    assert "Input/output error" in shown
    assert "\\x1b[2J" in shown
