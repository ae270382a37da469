"""`surefit.inspect` on what is live: arrays, batches, loaders, models."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import surefit
from feature_arrays import continuous, one_hot, write_shards
from surefit.data.features.inspect_arrays import Inspected
from surefit.errors import WrongCall

HOT = torch.from_numpy(one_hot(32))


def inspect(thing: object, **others: object) -> Inspected:
    return surefit.inspect(thing, steps=20, features=271, **others)  # type: ignore[arg-type]


def codes(found: Inspected) -> list[str]:
    return [one.code for one in found.findings]


def test_a_tensor_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    found = inspect(HOT)
    assert codes(found) == []
    assert found.seen.rows == 32
    assert found.seen.shards[0].kind == "one-hot"
    assert "array: 32 rows, 694 kB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("array", "said", "fix"),
    [
        (HOT.reshape(32, -1), "flattened", "x.reshape(-1, 20, 271)"),
        (HOT.swapaxes(1, 2), "swapped", "x.swapaxes(1, 2)"),
        (HOT[None], "an axis of size 1", "x.reshape(-1, 20, 271)"),
        (HOT[0], "one row, without an axis for rows", "x[None]"),
        (HOT.reshape(-1, 271), "rows and steps are one axis", "x.reshape(-1, 20, 271)"),
        (HOT.mean(1)[:31], "pooling over steps", "cannot be undone"),
        (torch.zeros(4, 99, 40), "these are other data", "other files"),
    ],
)
def test_arrays_of_other_shapes_name_the_line_to_write(
    array: torch.Tensor, said: str, fix: str
) -> None:
    found = inspect(array, quiet=True)
    assert codes(found) == ["SF037"]
    assert said in found.findings[0].headline
    assert any(fix in one.text for one in found.findings[0].fixes)
    assert not any("--mend-to" in one.text for one in found.findings[0].fixes)


def test_the_line_that_is_named_mends_it() -> None:
    x = HOT.swapaxes(1, 2).reshape(32, -1)
    (fix,) = inspect(x, quiet=True).findings[0].fixes
    made = eval(fix.text.partition(":  ")[2], {"x": x})
    assert torch.equal(made, HOT)


def test_a_batch_its_mask_and_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    batch = {"labels": torch.ones(32), "inputs_embeds": HOT, "attention_mask": torch.ones(32, 20)}
    assert codes(inspect(batch)) == []
    assert "attention_mask [32, 20]" in capsys.readouterr().out
    assert codes(inspect({**batch, "attention_mask": torch.ones(32, 19)})) == ["SF046"]
    bad = HOT.clone()
    bad[3, 2, 1] = torch.nan
    assert codes(inspect({"inputs_embeds": bad}, quiet=True)) == ["SF040"]
    assert codes(inspect((HOT, torch.ones(32)), quiet=True)) == []


def test_a_loader_gives_one_batch() -> None:
    found = inspect(DataLoader(HOT, batch_size=8), quiet=True)  # type: ignore[arg-type]
    assert found.seen.source.startswith("DataLoader, 4 batches, its first batch")
    assert found.seen.rows == 8


def test_low_precision_and_nothing_declared() -> None:
    found = surefit.inspect(HOT.bfloat16(), quiet=True)
    assert found.seen.shards[0].shape == (32, 20, 271)
    assert found.seen.declared is None
    assert codes(found) == []


class Model(nn.Module):
    """As a user would write it."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.encoder = nn.Linear(16, 16)
        self.projection = nn.Linear(features, 16)


def test_a_model_beside_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert codes(inspect(Model(271))) == []
    assert "`projection` takes 271 features; 271 are declared: fits" in capsys.readouterr().out
    found = inspect(HOT, model=Model(4000), quiet=True)
    assert codes(found) == ["SF046"]
    assert "`projection` takes 4000 features; 271 are declared" in found.findings[0].headline


def test_a_folder(tmp_path: Path) -> None:
    assert codes(inspect(write_shards(tmp_path, continuous(3)), quiet=True)) == []
    assert codes(inspect(str(tmp_path), kind="one-hot", quiet=True)) == ["SF041"]


@pytest.mark.parametrize("thing", [7, {"a": 1}, {"ids": np.arange(3)}])
def test_other_things_are_refused(thing: object) -> None:
    with pytest.raises(WrongCall, match="holds no features that are known as such"):
        inspect(thing)
