"""Sizes of models: from configs, from stored weights, from live modules."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from surefit.data.features.layout import Layout
from surefit.embedded import MODEL
from surefit.errors import BadInput
from surefit.models.sizes import Sizes, fits, misfits, read_sizes, sizes_of

LAYOUT = Layout(steps=20, features=271)


def folder(path: Path, features: int) -> Path:
    """A model on features, as it is saved: the layout and the encoder's config, and weights."""
    path.mkdir()
    encoder = {"hidden_size": 32, "max_position_embeddings": 64}
    config = {"steps": 20, "features": features, "encoder": encoder}
    (path / "config.json").write_text(json.dumps(config))
    weights = {
        "encoder.layer.q_proj.weight": torch.zeros(32, 32),
        "projection.weight": torch.zeros(32, features),
        "projection.bias": torch.zeros(32),
    }
    save_file(weights, path / "model.safetensors")
    return path


def test_a_model_on_features(tmp_path: Path) -> None:
    found = read_sizes(str(folder(tmp_path / "model", 271)))
    assert found == Sizes(
        name=str(tmp_path / "model"),
        hidden=32,
        positions=64,
        projection=271,
        projection_name="projection",
        steps=20,
        weights=32 * 32 + 32 * 271 + 32,
    )
    lines = fits(found, LAYOUT, 256, 12.0)
    assert [one.fits for one in lines] == [True, True, True, None, True, None]
    assert misfits(found, LAYOUT, lines) == ()


def test_a_run_holds_its_model(tmp_path: Path) -> None:
    folder(tmp_path / "model", 271)
    assert read_sizes(str(tmp_path)).projection == 271


def test_a_model_of_another_width_is_one_finding(tmp_path: Path) -> None:
    found = read_sizes(str(folder(tmp_path / "model", 4000)))
    (wrong,) = misfits(found, LAYOUT, fits(found, LAYOUT, 256, 12.0))
    assert "`projection` takes 4000 features; 271 are declared" in wrong.headline
    assert "outside of the optimizer" in wrong.why


def test_a_batch_that_is_larger_than_the_budget() -> None:
    found = Sizes("model", positions=512)
    (wrong,) = misfits(found, LAYOUT, fits(found, LAYOUT, 256, 0.005))
    assert wrong.facts[0].value == "256 x 20 x 271 x 4 bytes = 5.55 MB; 0 of them in 0.005 GB"


def test_a_language_model_has_no_projection_yet() -> None:
    found = read_sizes(str(MODEL))
    assert found.projection is None
    assert found.hidden is not None
    assert found.positions is not None
    line = fits(found, LAYOUT, 256, 12.0)[0]
    assert line.said == f"none yet: nn.Linear(271, ...) to its width, {found.hidden}"


def test_live_modules() -> None:
    assert sizes_of(nn.Linear(7, 3)).projection == 7
    assert sizes_of(nn.Sequential(nn.ReLU(), nn.Linear(7, 3))).projection_name == "1"
    assert sizes_of(nn.ReLU()).projection is None
    named = nn.ModuleDict({"first": nn.Linear(2, 2), "input_proj": nn.Linear(9, 2)})
    assert (sizes_of(named).projection, sizes_of(named).projection_name) == (9, "input_proj")


@pytest.mark.parametrize("content", [None, "", "[]", "{"])
def test_sizes_that_cannot_be_read(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(BadInput, match="cannot be read"):
        read_sizes(str(tmp_path))
