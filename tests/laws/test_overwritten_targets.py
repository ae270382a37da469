"""Targets that are read after a write into the same memory."""

import pytest

from surefit.laws.losses.overwritten_targets import overwritten_targets
from surefit.source.reading import Source


def lines(text: str) -> list[tuple[int, int]]:
    source = Source("train.py", text)
    return [(found.write.lineno, found.place.lineno) for found in overwritten_targets(source)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x[m] = 9\nlabels = x.masked_fill(~m, -100)\n", (1, 2)),
        ("old = x\nx[m] = 9\nlabels = old.masked_fill(~m, -100)\n", (2, 1)),
        ("noisy = x\nnoisy.add_(noise)\ntarget = x\n", (2, 1)),
        ("noisy = x\nnoisy += noise\ny = x - 1\n", (2, 1)),
    ],
)
def test_written_before(text: str, found: tuple[int, int]) -> None:
    assert lines(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "labels = x.masked_fill(~m, -100)\nx[m] = 9\n",
        "old = x.clone()\nx[m] = 9\nlabels = old.masked_fill(~m, -100)\n",
        "labels = x.clone()\nlabels[~m] = -100\nx[m] = 9\n",
        "other[m] = 9\nlabels = x.masked_fill(~m, -100)\n",
        "old = x\nlabels = old.masked_fill(~m, -100)\nx[m] = 9\n",
    ],
)
def test_not_written_before(text: str) -> None:
    assert lines(text) == []
