"""Every bad folder of arrays that a command can be given: what it says, and that nothing is lost.

Each goes through `surefit inspect` and `surefit pack` as a user calls them. The message must name
the file, and the rows and the axis where there are such; the exit code is 1, and all files are
afterwards what they were before.
"""

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from feature_arrays import continuous, one_hot, write_shards
from surefit.cli import main

SIZES = "--steps 20 --features 271"


@dataclass(frozen=True)
class Case:
    """How a folder `data` is broken, and what must be said."""

    break_it: Callable[[], object]
    says: tuple[str, ...]
    call: str = SIZES


def data(*shards: np.ndarray) -> None:
    write_shards(Path("data"), *shards)


def truncated() -> None:
    data(one_hot(10), one_hot(10))
    file = Path("data/part-1.npy")
    file.write_bytes(file.read_bytes()[: 128 + 6 * 21_680 + 99])


def too_long() -> None:
    data(one_hot(10))
    with Path("data/part-0.npy").open("ab") as file:
        file.write(b"more")


def flipped() -> None:
    data(one_hot(200), one_hot(200))
    assert main(["inspect", "data", *SIZES.split(), "--write-layout", "--quiet"]) == 0
    file = Path("data/part-1.npy")
    raw = bytearray(file.read_bytes())
    raw[128 + 100 * 21_680] ^= 64
    file.write_bytes(raw)


def with_value(value: float) -> Callable[[], None]:
    def break_it() -> None:
        rows = continuous(30)
        rows[17, 4, 99] = value
        data(continuous(3), rows)

    return break_it


def objects() -> None:
    data(one_hot(3))
    np.save("data/part-1.npy", np.array([{"a": 1}], object), allow_pickle=True)


def pickled() -> None:
    data(one_hot(3))
    Path("data/rows.pkl").write_bytes(pickle.dumps([1, 2]))


def unpicklable() -> None:
    data(one_hot(3))
    torch.save(Path("x"), "data/rows.pt")


def empty_folder() -> None:
    Path("data").mkdir()


def unreadable() -> None:
    data(one_hot(3), one_hot(3))
    Path("data/part-1.npy").unlink()
    Path("data/part-1.npy").symlink_to("gone.npy")


def forbidden() -> None:
    data(one_hot(3), one_hot(3))
    Path("data/part-1.npy").chmod(0)


def no_array() -> None:
    data(one_hot(3))
    Path("data/part-1.npy").write_text("rows\n")


def vanished() -> None:
    data(one_hot(3), one_hot(3))
    assert main(["inspect", "data", *SIZES.split(), "--write-layout", "--quiet"]) == 0
    Path("data/part-1.npy").unlink()


def not_one_hot() -> None:
    rows = one_hot(30)
    rows[21, 6] = 0
    data(rows)


CASES = {
    "truncated": Case(
        truncated, ("part-1.npy", "86,621 bytes too few", "row 5 (from 0) is the last", "SF032")
    ),
    "too long": Case(too_long, ("part-0.npy", "4 bytes longer", "SF032")),
    "flipped bytes": Case(flipped, ("part-1.npy", "rows 64 to 127", "1 of 4", "SF042")),
    "NaN": Case(with_value(np.nan), ("part-1.npy", "nan in row 17, step 4, feature 99", "SF040")),
    "Inf": Case(with_value(np.inf), ("part-1.npy", "inf in row 17, step 4, feature 99", "SF040")),
    "wrong dtype": Case(
        lambda: data(one_hot(3), one_hot(3, dtype="float64"), one_hot(3)),
        ("part-1.npy", "holds float64, and float32 is declared", "--dtype float64", "SF038"),
    ),
    "big-endian": Case(
        lambda: data(one_hot(3), one_hot(3, dtype=">f4")), ("part-1.npy", "big-endian", "SF038")
    ),
    "Fortran order": Case(
        lambda: data(np.asfortranarray(one_hot(3))), ("part-0.npy", "Fortran order", "--mend-to")
    ),
    "object array": Case(objects, ("part-1.npy", "pickles are not read", "SF033")),
    "pickle": Case(pickled, ("rows.pkl", "pickles are not read", "SF033")),
    "torch file that needs unpickling": Case(
        unpicklable, ("rows.pt", "only be read by unpickling", "SF033")
    ),
    "no rows": Case(
        lambda: data(one_hot(3), one_hot(3)[:0]), ("part-1.npy", "holds no row", "SF035")
    ),
    "empty folder": Case(empty_folder, ("`data` holds no file of arrays", ".npy", "SF030")),
    "no such folder": Case(
        lambda: data(one_hot(3)), ("no file or folder `dta`", "`data`"), f"dta {SIZES}"
    ),
    "unequal shapes": Case(
        lambda: data(one_hot(3), one_hot(3, 20, 200), one_hot(3)),
        ("part-1.npy", "[3, 20, 200]", "its steps are of another width", "SF037"),
    ),
    "unequal shapes, and nothing declared": Case(
        lambda: data(one_hot(3), one_hot(3, 20, 200), one_hot(3)),
        ("part-1.npy", "[3, 20, 200]", "2 of 3 files are [rows, 20, 271] float32"),
        "",
    ),
    "ids": Case(
        lambda: np.save("data.npy", np.zeros((8, 20), "int64")),
        ("data.npy", "integer per step", "np.eye(271, dtype='float32')[ids]"),
        f"data.npy {SIZES}",
    ),
    "other data": Case(
        lambda: data(continuous(16, 99, 40)),
        ("part-0.npy", "these are other data", "no axis is 20 or 271", "no multiple of 5420"),
    ),
    "a link to nowhere": Case(unreadable, ("part-1.npy", "a link to `gone.npy`", "SF031")),
    "not an array": Case(no_array, ("part-1.npy", "is not the array of NumPy", "SF031")),
    "a shard that is gone": Case(vanished, ("part-1.npy", "no longer here", "SF043")),
    "rows of another kind": Case(
        not_one_hot, ("part-0.npy", "row 21", "step 6", "sum 0", "SF041"), f"{SIZES} --kind one-hot"
    ),
    "nothing declared": Case(lambda: data(one_hot(3)), ("SF036", "--steps"), "--write-layout"),
}
if os.geteuid():
    CASES["may not be read"] = Case(forbidden, ("part-1.npy", "may not be read", "chmod u+r"))


def everything() -> dict[str, bytes]:
    files = [path for path in sorted(Path().rglob("*")) if path.is_file()]
    return {str(path): path.read_bytes() for path in files if os.access(path, os.R_OK)}


def run(command: str, call: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    where = call if call.startswith(("dta", "data")) else f"data {call}"
    more = ["--examples", "0"] if command == "inspect" else ["out"]
    words = where.split()
    return main([command, words[0], *more, *words[1:]]), " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", CASES)
def test_inspect_names_it_and_changes_nothing(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    case.break_it()
    before = everything()
    code, said = run("inspect", case.call, capsys)
    assert code == 1, said
    for words in case.says:
        assert words in said
    assert "Traceback" not in said
    assert everything() == before


NOT_PACKED = [
    name for name, case in CASES.items() if SIZES in case.call and name != "flipped bytes"
]


@pytest.mark.parametrize("name", NOT_PACKED)
def test_pack_refuses_it_and_writes_nothing(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    case.break_it()
    before = everything()
    code, said = run("pack", case.call, capsys)
    assert code == 1, said
    assert "Traceback" not in said
    assert everything() == before
    assert not Path("out").exists()
