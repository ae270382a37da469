"""The shape that was usual, and how a squeeze or an empty value keeps its axes."""

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.layers.lost_axes import named, reshaped, usual_shape
from surefit.source.spans import Span


def tensors(*shapes: tuple[int, ...]) -> list[Value]:
    return [Value("x", "Tensor", shape=shape) for shape in shapes]


def written(text: str) -> tuple[Expression, Case]:
    line = f"y = {text}"
    expression = Expression(Place("a.py", 1), Span(1, 4, 1, len(line)), text)
    return expression, Case(Recording([Script("a.py", f"{line}\n", True)]))


@pytest.mark.parametrize(
    ("shapes", "usual"),
    [
        ([(2, 4), (5, 4)], (None, 4)),
        ([(64,), (64,)], (64,)),
        ([(2, 4), (4,)], None),
        ([], None),
    ],
)
def test_the_usual_shape(
    shapes: list[tuple[int, ...]], usual: tuple[int | None, ...] | None
) -> None:
    assert usual_shape(tensors(*shapes)) == usual


@pytest.mark.parametrize(
    ("text", "before", "texts"),
    [
        ("net(x).squeeze()", (1, 1), ("net(x).squeeze(1)",)),
        ("torch.squeeze(x)", (1, 1), ("torch.squeeze(x, 1)",)),
        ("x.squeeze()", (1, 7, 1), ("x.squeeze(2)",)),
        ("x.squeeze()", (1, 1, 1), ("x.squeeze((1, 2))", "x.squeeze(1)", "x.squeeze(2)")),
        ("x.squeeze()", (1, 7), ("x",)),
        ("(x + 1).squeeze()", (1, 7), ("(x + 1)",)),
    ],
)
def test_a_squeeze_gets_the_later_axes(
    text: str, before: tuple[int, ...], texts: tuple[str, ...]
) -> None:
    expression, case = written(text)
    assert named(expression, before, case) == texts


@pytest.mark.parametrize(
    ("shape", "usual", "texts"),
    [
        ((0,), (None, 4), ("f(x).reshape(-1, 4)",)),
        ((4,), (None, 4), ("f(x).reshape(-1, 4)",)),
        ((), (64,), ("f(x).reshape(-1)",)),
        ((3,), (None, 4), ()),
        ((0,), (None, None), ()),
    ],
)
def test_what_is_empty_gets_the_usual_width(
    shape: tuple[int, ...], usual: tuple[int | None, ...], texts: tuple[str, ...]
) -> None:
    expression, case = written("f(x)")
    assert reshaped(expression, shape, usual, case) == texts
