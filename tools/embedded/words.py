"""The word lists of the generators, read from words.txt."""

from pathlib import Path


def _read() -> dict[str, tuple[str, ...]]:
    lists = {}
    for line in Path(__file__).with_name("words.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, entries = line.split(": ", 1)
            lists[name] = tuple(entries.split(" | "))
    return lists


WORDS = _read()
