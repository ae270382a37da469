"""Heads that do not divide a width, followed to the line that chose them."""

from textwrap import dedent

from failed_operations import span_of
from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Script, Value
from surefit.rules.model.width_not_divisible import RULE

TEXT = dedent(
    """\
    HEADS = 4
    class Net(nn.Module):
        def __init__(self, width, heads):
            self.attention = nn.MultiheadAttention(width, heads)
    net = Net(50, HEADS)
    """
)


def whole(text: str, number: int) -> Value:
    return Value(text, "int", scalar=number)


def own(line: int, expression: str, *values: Value, arguments: tuple[str, ...] = ()) -> Frame:
    return Frame(
        Place("train.py", line),
        "Net.__init__",
        own=True,
        line=TEXT.splitlines()[line - 1].strip(),
        expression=expression,
        span=span_of(TEXT, line, expression),
        values=values,
        arguments=arguments,
    )


def library(
    *values: Value, line: str = "assert self.head_dim * num_heads == self.embed_dim"
) -> Frame:
    return Frame(
        Place("torch/nn/modules/activation.py", 1193),
        "MultiheadAttention.__init__",
        own=False,
        line=line,
        values=values,
    )


def found(*frames: Frame, kind: str = "AssertionError") -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: no", frames)
    return look(RULE, [Script("train.py", TEXT), crash])


OUTER = own(5, "Net(50, HEADS)", whole("HEADS", 4))
INNER = own(
    4,
    "nn.MultiheadAttention(width, heads)",
    whole("width", 50),
    whole("heads", 4),
    arguments=("self", "width", "heads"),
)


def test_the_two_numbers_are_named() -> None:
    numbers = whole("self.embed_dim", 50), whole("num_heads", 4), whole("self.head_dim", 12)
    (finding,) = found(OUTER, INNER, library(*numbers))
    assert finding.place.line == 4
    assert finding.headline == (
        "`embed_dim` is 50, which 4 do not divide (`num_heads`): 50 / 4 = 12.5."
    )


def test_heads_that_divide_are_not_to_blame() -> None:
    numbers = whole("self.embed_dim", 48), whole("num_heads", 4), whole("self.head_dim", 12)
    assert found(OUTER, INNER, library(*numbers)) == []


def test_two_widths_that_could_be_meant_decide_nothing() -> None:
    numbers = whole("hidden_size", 50), whole("vocab_size", 70), whole("num_heads", 4)
    assert found(OUTER, INNER, library(*numbers, line="raise ValueError('no')")) == []


def test_another_kind_of_error_is_another_fault() -> None:
    numbers = whole("self.embed_dim", 50), whole("num_heads", 4)
    assert found(OUTER, INNER, library(*numbers), kind="RuntimeError") == []
