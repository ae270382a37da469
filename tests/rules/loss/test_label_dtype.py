"""Labels of a kind of number that a loss does not take, on hand-made recordings."""

from dataclasses import asdict

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Operation, Question
from surefit.rules.loss.label_dtype import RULE

TABLE = """
    import pandas as pd
    import torch
    frame = pd.read_csv("rows.csv").dropna()
    y = torch.tensor(frame["kind"].values)
    loader = DataLoader(TensorDataset(x, y))
    from torch.utils.data import TensorDataset
    for x, kinds in loader:
        loss = criterion(model(x), kinds)
    """
CAST = """
    for x, y in batches():
        loss = criterion(model(x), y.float())
    """
NUMPY = """
    class Rows(Dataset):
        def __init__(self, table):
            self.y = table.kind.astype(np.int32)
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    for x, y in loader:
        loss = criterion(model(x), y)
    """


def crash(text: str, dtype: str = "float64", name: str = "kinds") -> LossCrash:
    one = LossCrash(text, tensor("out", (8, 3)), tensor(name, (8,), dtype))
    return one.holds({0.0: 3, 1.0: 3, 2.0: 2})


def test_a_column_with_blanks() -> None:
    one = crash(TABLE)
    (finding,) = one.found(RULE)
    assert finding.place.line == 4
    assert finding.headline == (
        "`kinds` holds class labels as float64: `criterion` wants class indices, int64."
    )
    assert "pandas reads a column with a blank cell as float64" in finding.why
    assert 'torch.tensor(frame["kind"].values).long()\n' in one.mended(finding)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.target_dtypes, must.supervised, must.total) == (("int64", "uint8"), 8, 7.0)


def test_a_cast_is_turned_round() -> None:
    one = crash(CAST, "float32", "y.float()")
    (finding,) = one.found(RULE)
    assert "criterion(model(x), y.long())" in one.mended(finding)


def test_where_numpy_was_told() -> None:
    one = crash(NUMPY, "int32", "y")
    (finding,) = one.found(RULE)
    assert finding.place.line == 3
    assert 'table.kind.astype("int64")' in one.mended(finding)


def test_binary_targets_are_floats() -> None:
    one = LossCrash(
        CAST.replace("y.float()", "y"),
        tensor("out", (8,)),
        tensor("y", (8,), "int64"),
        function="binary_cross_entropy_with_logits",
    ).holds({0.0: 4, 1.0: 4})
    (finding,) = one.found(RULE)
    assert finding.headline.startswith("`y` is int64: `criterion` wants float32 targets")
    assert "criterion(model(x), y.float())" in one.mended(finding)
    assert finding.ruled_out == ()


def test_measurements_are_not_converted() -> None:
    one = LossCrash(CAST, tensor("out", (8, 3)), tensor("y.float()", (8,), "float32"))
    (finding,) = one.holds({0.5: 4, 1.25: 4}).found(RULE)
    assert "not all of it whole numbers" in finding.headline
    assert [fix.edit for fix in finding.fixes] == [None]


@pytest.mark.parametrize(
    "one",
    [
        crash(CAST, "int64", "y.float()"),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8, 3), "float32")).holds({0.0: 24}),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8,))).holds({1.0: 4, 3.0: 4}),
        LossCrash(CAST, tensor("out", (8, 3)), tensor("y", (8,))),
    ],
    ids=["right", "probabilities", "outside", "not asked"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []


BUILT = """
    import torch
    class Rows(Dataset):
        def __init__(self, table):
            self.x = torch.tensor(table[NAMES].values)
            self.y = torch.tensor(table["kind"].values)
        def __len__(self):
            return len(self.y)
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    for x, y in loader:
        loss = criterion(model(x), y)
    """


def test_labels_are_converted_where_torch_makes_a_tensor_of_all() -> None:
    one = crash(BUILT, "int32", "y")
    (finding,) = one.found(RULE)
    assert finding.place.line == 5
    assert 'self.y = torch.tensor(table["kind"].values).long()\n' in one.mended(finding)


def test_not_where_something_else_reads_the_tensor() -> None:
    one = crash(BUILT.replace("len(self.y)", "int(self.y.max())"), "int32", "y")
    (finding,) = one.found(RULE)
    assert finding.place.line == 9
    assert "return self.x[row], self.y[row].long()\n" in one.mended(finding)


ENCODED = """
    import torch
    class Rows(Dataset):
        def encode(self, tags):
            y = torch.zeros(3, dtype=torch.long)
            y[tags] = 1
            return y
        def __getitem__(self, row):
            return self.x[row], self.encode(self.tags[row])
    for x, y in loader:
        loss = criterion(model(x), y)
    """


def test_a_kind_that_a_second_run_has_seen_chosen() -> None:
    """Values are written into the rows later, which does not change their kind."""
    function = "binary_cross_entropy_with_logits"
    given, target = tensor("out", (2, 3)), tensor("y", (2, 3), "int64")
    one = LossCrash(ENCODED, given, target, function=function).holds({0.0: 4, 1.0: 2})
    place = Place("train.py", 4)
    made = [
        Operation(serial, "zeros", place, place, True, (3,), "int64", True) for serial in (1, 2)
    ]
    asked = Question("story", "1-1", {"frame": 2, "text": "target"})
    one.answers.append(Answer(asked, {"operations": [asdict(each) for each in made]}))
    (finding,) = one.found(RULE)
    assert finding.place.line == 4
    assert "y = torch.zeros(3, dtype=torch.float)\n" in one.mended(finding)
