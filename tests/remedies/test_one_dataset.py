"""An array that is put into the dataset of a loop."""

import pytest

from surefit.doctor.findings import Place
from surefit.remedies.one_dataset import part_taken, put_into_the_dataset
from surefit.source.patches import patched
from surefit.source.reading import Source

LOADER = "loader = DataLoader(TensorDataset({}), shuffle=True)\n"


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        ("for i, (a,) in enumerate(loader):", "for i, (a, soft) in enumerate(loader):"),
        ("for (a,) in loader:", "for (a, soft) in loader:"),
        ("for a, b in loader:", None),
        ("for i, a in enumerate(loader):", None),
    ],
)
def test_loops(loop: str, after: str | None) -> None:
    text = LOADER.format("x") + f"{loop}\n    soft = cached[i : i + 8]\n    step(a, soft)\n"
    source = Source("train.py", text)
    part = part_taken(source, Place("train.py", 4), "cached")
    assert part is not None
    edit = put_into_the_dataset(source, part, ("x", "cached"))
    expected = LOADER.format("x, cached") + f"{after}\n    step(a, soft)\n" if after else None
    assert (patched(edit, text) if edit else None) == expected


def test_an_array_that_is_used_twice() -> None:
    text = LOADER.format("x") + "for (a,) in loader:\n    step(a, cached[0], cached[1])\n"
    assert part_taken(Source("train.py", text), Place("train.py", 3), "cached") is None
