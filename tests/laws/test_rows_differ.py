"""Rows that were scaled by their own numbers, from figures of their features."""

from dataclasses import replace

import numpy as np
import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.phase_inputs import FeatureFigures, PhaseInput
from surefit.laws.invariants.rows_differ import LEAST_SHARE, has_its_own_scale, squares
from surefit.rules.data.standardised_along_the_row import axes_along_rows
from surefit.source.reading import Source

DRAW = np.random.default_rng(0)
TABLE = np.stack([DRAW.normal(100_000, 900, 400), DRAW.normal(60, 4, 400), DRAW.random(400)], 1)
WAVES = DRAW.normal(0, 1, (400, 12))


def given(rows: np.ndarray) -> PhaseInput:
    figures = tuple(
        FeatureFigures(
            mean=float(column.mean()),
            spread=float(column.std()),
            row_spread=float(column.std()),
            least=float(column.min()),
            greatest=float(column.max()),
            zeros=0.0,
            negative=0.5,
        )
        for column in rows.T
    )
    plain = PhaseInput(
        taker="Net", model=1, name="x", trained=True, grad=True, stack=(Place("train.py", 9),),
        call=None, position=0, library="", step=0, calls=8, looked=8, rows=len(rows),
        dtype="float32", shape=rows.shape, axis="feature",
    )  # fmt: skip
    return replace(plain, features=figures)


def standard(rows: np.ndarray, axis: int) -> np.ndarray:
    scaled: np.ndarray = (rows - rows.mean(axis, keepdims=True)) / rows.std(axis, keepdims=True)
    return scaled


@pytest.mark.parametrize(
    ("rows", "alike"),
    [
        (standard(TABLE, 1), True),
        (TABLE / np.linalg.norm(TABLE, axis=1, keepdims=True), True),
        (standard(TABLE, 0), False),
        (TABLE, False),
        (standard(WAVES, 1), False),
        (standard(WAVES, 0), False),
    ],
)
def test_rows_of_one_scale(rows: np.ndarray, alike: bool) -> None:
    same, differs = squares(given(rows))
    assert (has_its_own_scale(given(rows)) and differs < LEAST_SHARE * (same + differs)) is alike


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("m, s = x.mean(1, keepdims=True), x.std(1, keepdims=True)\n", 2),
        ("import numpy as np\nx = (x - np.mean(x, axis=-1)) / np.std(x, axis=-1)\n", 2),
        ("x = (x - x.mean(dim=1)) / x.std(dim=1)\n", 2),
        ("import numpy as np\nx = x / np.linalg.norm(x, axis=1)\n", 1),
        ("x = (x - x.mean(0)) / x.std(0)\n", 0),
        ("m = x.mean(1)\n", 0),
        ("def forward(self, x):\n    return (x - x.mean(1)) / x.std(1)\n", 0),
    ],
)
def test_axes_in_the_source(text: str, axes: int) -> None:
    assert len(list(axes_along_rows(Source("train.py", text)))) == axes
