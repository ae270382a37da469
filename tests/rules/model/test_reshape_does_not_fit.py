"""Which factor of a reshape is wrong; the number of rows is another rule's."""

from textwrap import dedent

import pytest

from failed_operations import crash, span_of
from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Script, Value
from surefit.rules.model.reshape_does_not_fit import RULE

TEXT = dedent(
    """\
    class Net(nn.Module):
        def __init__(self, width, heads):
            self.heads = heads
            self.each = width // heads
        def forward(self, x):
            {line}
    """
)


def found(call: str, shape: tuple[int, ...], *values: Value) -> list[Finding]:
    text = TEXT.format(line=f"y = {call}")
    frame = Frame(
        Place("train.py", 6),
        "Net.forward",
        own=True,
        line=f"y = {call}",
        expression=call,
        span=span_of(text, 6, call),
        values=(Value("x", "Tensor", 1, shape=shape), *values),
        arguments=("self", "x"),
    )
    return look(RULE, [Script("train.py", text), crash(frame)])


def test_a_flattened_map_of_another_size() -> None:
    (finding,) = found("x.view(x.size(0), 16 * 5 * 5)", (4, 16, 4, 4))
    assert finding.place == Place("train.py", 6)
    assert finding.headline == (
        "`x` holds 16 × 4 × 4 = 256 features in a row, and 400 are asked for."
    )
    assert "`16 * 5 * 5` → 256" in finding.fixes[0].text
    assert all(fix.choice for fix in finding.fixes)


def test_heads_whose_features_were_rounded_down() -> None:
    heads = Value("self.heads", "int", scalar=4)
    each = Value("self.each", "int", scalar=7)
    (finding,) = found(
        "x.view(x.shape[0], x.shape[1], self.heads, self.each)", (2, 5, 30), heads, each
    )
    assert "4 × 7 = 28 are asked for" in finding.headline


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("x.view(32, 10)", (16, 10)),  # only the rows differ
        ("x.view(32, -1, 10)", (16, 7, 10)),
        ("x.view(16, 10)", (16, 10)),  # it fits
        ("x.view(-1, 5)", (16, 10)),
        ("x.view(16, unknown)", (16, 10)),
        ("x.permute(1, 0)", (16, 10)),
    ],
)
def test_silence(call: str, shape: tuple[int, ...]) -> None:
    assert found(call, shape) == []
