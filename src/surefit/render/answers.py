"""Answers of a model to the same rows, before and after training, side by side."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

WIDTH = 80


def before_and_after(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], most: int
) -> str:
    """The first rows in their order, as they came out; none is chosen."""
    return "\n".join(_one(then, now) for then, now in list(zip(before, after, strict=True))[:most])


def _one(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    return (
        f"{fill(str(now['input']), WIDTH)}\n"
        f"  target  {now['target']}\n"
        f"  before  {_short(then['answer'])}\n"
        f"  after   {_short(now['answer'])}\n"
    )


def _short(text: str) -> str:
    line = " ".join(text.split()) or "(nothing)"
    return line if len(line) <= WIDTH - 10 else f"{line[: WIDTH - 11]}…"
