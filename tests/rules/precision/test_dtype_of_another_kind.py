"""Where a dtype came from, and what takes several dtypes without complaint."""

from textwrap import dedent

from failed_operations import crash, operation, story, weight
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.precision.dtype_of_another_kind import RULE

TEXT = dedent(
    """\
    import torch
    rows = torch.from_numpy(table)
    for x, y in loader:
        out = model(x)
    """
)
LINEAR = Layer("Linear", "proj", "Net", Place("train.py", 1), sizes={"in_features": 7})
OTHER = Layer("Linear", "body", "Net", Place("train.py", 1))


def found(dtype: str, *answers: Answer, weights: str = "float32") -> list[Finding]:
    x = Value("x", "Tensor", 1, shape=(4, 7), dtype=dtype, device="cpu")
    kept = Value("self.weight", "Parameter", 2, shape=(2, 7), dtype=weights, device="cpu")
    frames = (
        Frame(Place("train.py", 4), "<module>", True, "out = model(x)", "model(x)", values=(x,)),
        Frame(Place("torch/linear.py", 9), "Linear.forward", False, values=(kept,), layer=LINEAR),
    )
    return list(RULE.look(Recording([Script("train.py", TEXT), crash(*frames), *answers])))


def made_by(name: str, dtype: str, weights: str = "float32", failing: str = "linear") -> Answer:
    return story(
        operation(9, failing, (), (5, 3), line=4),
        operation(5, "__getitem__", (4, 7), (2,), line=4, dtype=dtype, own=False),
        weight(3, LINEAR, (2, 7), dtype=weights),
        operation(2, name, (40, 7), line=2, dtype=dtype),
    )


def test_a_cast_where_the_array_becomes_a_tensor() -> None:
    (finding,) = found("float64", made_by("from_numpy", "float64"))
    assert finding.place == Place("train.py", 2)
    assert finding.headline == "`x` is float64, and `proj` is float32."
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text == ".float()"
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].dtype == "float32"


def test_a_model_in_half_precision_gets_its_input_cast_before_the_call() -> None:
    told = made_by("from_numpy", "float32", weights="bfloat16")
    (finding,) = found("float32", told, weights="bfloat16")
    assert finding.place == Place("train.py", 4)
    assert "x = x.to(torch.bfloat16)" in finding.fixes[0].text


def test_whole_numbers_may_be_ids() -> None:
    (finding,) = found("int64", made_by("from_numpy", "int64"))
    assert "nn.Embedding" in finding.fixes[0].text


def test_a_loss_takes_labels_of_whole_numbers() -> None:
    assert found("int64", made_by("from_numpy", "int64", failing="cross_entropy")) == []
    assert found("int64", made_by("from_numpy", "int64", failing="embedding")) == []


def test_two_layers_that_were_cast_differently() -> None:
    told = story(
        operation(9, "linear", (), (5, 3), line=4),
        operation(5, "linear", (4, 7), (1, 4, 6), line=4, dtype="bfloat16"),
        weight(6, OTHER, (7,), dtype="bfloat16"),
        weight(4, OTHER, (7, 7), dtype="bfloat16"),
        weight(3, LINEAR, (2, 7)),
        operation(1, "randn", (4, 7), dtype="bfloat16"),
    )
    (finding,) = found("bfloat16", told)
    assert finding.headline == "`proj` has weights in float32, and `body` in bfloat16."
    assert finding.fixes[0].edit is None
