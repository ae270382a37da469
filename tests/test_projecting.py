"""A projection for declared rows takes these and refuses all others."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefit
from surefit.data.features.layout import Kind, Layout
from surefit.data.features.make import Source, make_features
from surefit.errors import BadInput

LAYOUT = Layout(steps=6, features=9, kind=Kind.ONE_HOT)


def one_hot(rows: int) -> torch.Tensor:
    return torch.from_numpy(Source(steps=6, features=9, kind=Kind.ONE_HOT, seed=0).draw(rows, 0))


def test_declared_rows_are_projected_also_as_indices() -> None:
    projection = surefit.projection_for(LAYOUT, 4)
    rows = one_hot(5)
    assert projection(rows).shape == (5, 6, 4)
    torch.testing.assert_close(projection(rows), projection(rows.argmax(-1)))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda rows: rows.flatten(1), "flattened"),
        (lambda rows: rows.transpose(1, 2), "swapped"),
        (lambda rows: rows.mean(1), "pool"),
        (lambda rows: rows.new_zeros(4, 99, 40), "other data"),
    ],
)
def test_other_rows_are_refused_by_what_they_are(made: object, said: str) -> None:
    projection = surefit.projection_for(LAYOUT, 4)
    with pytest.raises(BadInput) as refused:
        projection(made(one_hot(8)))  # type: ignore[operator]
    assert said in refused.value.findings[0].headline


def test_it_is_sized_by_what_the_loaders_read(tmp_path: Path) -> None:
    source = Source(steps=6, features=9, kind=Kind.ONE_HOT, seed=0)
    make_features(tmp_path / "rows", source, 40, 1, lambda _rows: None)
    train, _, data = surefit.loaders(tmp_path / "rows", batch_size=8)
    projection = surefit.projection_for(data, 4)
    (first, *_) = [projection(batch["inputs_embeds"]) for batch in train]
    assert first.shape == (8, 6, 4)
    assert np.isfinite(first.detach().numpy()).all()
