"""Targets of a dtype that a loss does not take, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.observations import Value
from surefit.rules.loss.label_dtype import RULE

TABLE = """
    import pandas as pd
    import torch
    frame = pd.read_csv("rows.csv").dropna()
    y = torch.tensor(frame["kind"].values)
    for x, kinds in loader:
        loss = criterion(model(x), kinds)
    """
CAST = """
    for x, y in batches():
        loss = criterion(model(x), y.float())
    """
COLUMN = Value('frame["kind"]', "Series", 4, shape=(80,), dtype="float64", length=80)
ARRAY = Value("values", "ndarray", 5, shape=(80,), dtype="float64")
LABELS = tensor("y", (80,), "float64")


def crash(text: str, dtype: str = "float64", name: str = "kinds") -> LossCrash:
    made = LossCrash(text, tensor("out", (8, 3)), tensor(name, (8,), dtype))
    return made.holds({0.0: 3, 1.0: 3, 2.0: 2})


def test_a_column_with_blanks_is_converted_where_it_became_the_labels() -> None:
    broken = crash(TABLE).through(
        ('torch.tensor(frame["kind"].values)', LABELS),
        ('frame["kind"].values', ARRAY),
        ('frame["kind"]', COLUMN),
        ('pd.read_csv("rows.csv").dropna()', Value("frame", "DataFrame", 3, length=80)),
    )
    (finding,) = broken.found(RULE)
    assert finding.place.line == 4
    assert finding.headline == "`kinds` is float64; `criterion` takes int64 class indices."
    assert "pandas column with a blank cell is float64" in finding.why
    assert 'torch.tensor(frame["kind"].astype("int64").values)\n' in broken.mended(finding)
    assert 'torch.tensor(frame["kind"].values).long()\n' in broken.mended(finding, 1)
    assert "criterion(model(x), kinds.long())" in broken.mended(finding, 2)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.target_dtypes, must.supervised, must.total) == (("int64", "uint8"), 8, 7.0)


def test_a_dtype_that_is_written_is_replaced() -> None:
    broken = crash(CAST, "float32", "y.float()")
    (finding,) = broken.found(RULE)
    assert "criterion(model(x), y.long())" in broken.mended(finding)


@pytest.mark.parametrize(
    ("written", "value", "becomes"),
    [
        ("table.kind.astype(np.int32)", ARRAY, 'table.kind.astype("int64")'),
        ("torch.zeros(3, dtype=torch.int32)", LABELS, "torch.zeros(3, dtype=torch.int64)"),
        ("int(mark in row)", Value("mark", "int", scalar=1), "int(mark in row)"),
        ("float(mark)", Value("mark", "float", scalar=1.0), "int(mark)"),
        ("row.marks", Value("marks", "list", length=2, kinds={"float": 2}), "int(item) for item"),
    ],
)
def test_a_cast_fits_what_is_cast(written: str, value: Value, becomes: str) -> None:
    text = f"marks = {written}\nfor x, y in batches():\n    loss = criterion(model(x), y)\n"
    broken = crash(text, "float64", "y").through((written, value))
    (finding,) = broken.found(RULE)
    edits = [broken.mended(finding, number) for number in range(len(finding.fixes))]
    if becomes == written:  # it is an integer already, so nothing was born there
        assert all(written in edit for edit in edits)
    elif value.dtype in ("float64", None):
        assert any(becomes in edit for edit in edits)


def test_binary_targets_are_floats() -> None:
    broken = LossCrash(
        CAST.replace("y.float()", "y"),
        tensor("out", (8,)),
        tensor("y", (8,), "int64"),
        function="binary_cross_entropy_with_logits",
    ).holds({0.0: 4, 1.0: 4})
    (finding,) = broken.found(RULE)
    assert finding.headline == "`y` is int64; `criterion` takes float32, like its predictions."
    assert "criterion(model(x), y.float())" in broken.mended(finding)


def test_measurements_are_not_converted() -> None:
    broken = LossCrash(CAST, tensor("out", (8, 3)), tensor("y.float()", (8,), "float32"))
    (finding,) = broken.holds({0.5: 4, 1.25: 4}).found(RULE)
    assert "not all of it integers" in finding.headline
    assert [fix.edit for fix in finding.fixes] == [None]


@pytest.mark.parametrize(
    "broken",
    [
        crash(CAST, "int64", "y.float()"),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8, 3), "float32")).holds({0.0: 24}),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8,))).holds({1.0: 4, 3.0: 4}),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8,))),
    ],
    ids=["right", "probabilities", "outside", "not asked"],
)
def test_silence(broken: LossCrash) -> None:
    assert broken.found(RULE) == []
