"""Products of two dtypes: where the odd one became so, and where it is cast."""

import pytest

from operand_recordings import linear, own, said, tensor
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Layer, Value
from surefit.rules.precision.dtype_of_another_kind import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source

SOURCE = Source(
    "train.py",
    """\
numbers = np.arange(28) / 7.0
x = torch.from_numpy(numbers)
out = net(x)
table[0] = x
total = x + y
""",
)
LAYER = Layer("Linear", "proj", "Net")


def of_a_layer(has: str, takes: str) -> list[Finding]:
    x = tensor("x", 1, has)
    weight = tensor("self.weight", 5, takes, kind="Parameter")
    frames = [own(SOURCE, "net(x)", x), linear(tensor("input", 1, has), weight, layer=LAYER)]
    array = Value("", "ndarray", shape=(28,), dtype=has)
    chain = [("torch.from_numpy(numbers)", x), ("np.arange(28) / 7.0", array)]
    return said(RULE, SOURCE, frames, {(1, "input"): chain})


def after(finding: Finding, number: int = 0) -> str:
    edit = finding.fixes[number].edit
    assert edit is not None
    return patched(edit, SOURCE.text)


def test_it_is_cast_where_the_array_becomes_a_tensor() -> None:
    (finding,) = of_a_layer("float64", "float32")
    assert finding.place.line == 2
    assert finding.headline == "`x` is float64, and `proj` is float32."
    assert "x = torch.from_numpy(numbers).float()\n" in after(finding)
    assert "out = net(x.float())\n" in after(finding, 1)


def test_a_model_in_half_precision_gets_its_input_cast_before_the_call() -> None:
    (finding,) = of_a_layer("float32", "bfloat16")
    assert finding.place.line == 3
    assert "out = net(x.bfloat16())\n" in after(finding)


def test_integers_may_be_ids() -> None:
    (finding,) = of_a_layer("int64", "float32")
    assert "nn.Embedding" in finding.why


def test_what_is_written_takes_the_dtype_of_the_table() -> None:
    table, x = tensor("table", 3, "float16"), tensor("x", 1, "float32")
    frame = own(SOURCE, "table[0]", table, x)
    (finding,) = said(RULE, SOURCE, [frame], {})
    assert finding.headline == "`x` is float32, and `table` is float16."
    assert finding.place == Place("train.py", 4, 4)


@pytest.mark.parametrize(("has", "takes"), [("float32", "float32"), ("bool", "float32")])
def test_one_dtype_is_silent(has: str, takes: str) -> None:
    assert of_a_layer(has, takes) == []


def test_a_sum_takes_both() -> None:
    frame = own(SOURCE, "x + y", tensor("x", 1, "float64"), tensor("y", 2, "float32"))
    assert said(RULE, SOURCE, [frame], {}) == []
