"""Flags, conditions and zeros, as the source tells of them."""

import ast
from textwrap import dedent

import pytest

from surefit.laws.losses.zero_terms import is_zero
from surefit.laws.training.flags import flag_of
from surefit.laws.training.gates import gates, is_true, varies
from surefit.source.reading import Source, called

FLAGS = """
parser.add_argument("--offload", action="store_true", default=True)
parser.add_argument("-k", "--keep-teacher", action="store_true")
parser.add_argument("--alpha", type=float, default=0.5)
parser.add_argument("--where", dest="place", default="cpu")
USED = VALUE
"""


def expression(text: str) -> tuple[Source, ast.expr]:
    source = Source("train.py", FLAGS.replace("VALUE", text))
    statement = source.tree.body[-1]
    assert isinstance(statement, ast.Assign)
    return source, statement.value


@pytest.mark.parametrize(
    ("text", "option", "value", "fixed"),
    [
        ("args.offload", "--offload", True, True),
        ("args.keep_teacher", "--keep-teacher", False, False),
        ("self.args.alpha", "--alpha", 0.5, False),
        ("args.place", "--where", "cpu", False),
    ],
)
def test_a_flag_is_known_by_its_name(text: str, option: str, value: object, fixed: bool) -> None:
    flag = flag_of(*expression(text))
    assert flag is not None
    assert (flag.option, flag.value, flag.is_fixed) == (option, value, fixed)


def test_another_attribute_is_no_flag() -> None:
    assert flag_of(*expression("args.where")) is None


def test_a_flag_is_given_by_any_of_its_names() -> None:
    flag = flag_of(*expression("args.keep_teacher"))
    assert flag is not None
    assert flag.is_given(["train.py", "-k"])
    assert flag.is_given(["train.py", "--keep-teacher=1"])
    assert not flag.is_given(["train.py", "--keep"])


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("not args.offload", (), False),
        ("not args.offload", ("--offload",), False),
        ("args.keep_teacher", (), False),
        ("args.keep_teacher", ("-k",), None),
        ("args.alpha > 0", (), True),
        ("args.alpha > 0 and args.keep_teacher", (), False),
        ("args.alpha > 1 or unknown", (), None),
        ("unknown and not args.offload", (), False),
        ("False", (), False),
    ],
)
def test_conditions_are_worked_out(
    text: str, command: tuple[str, ...], expected: bool | None
) -> None:
    source, node = expression(text)
    assert is_true(source, node, command) is expected


def test_every_condition_on_the_way_is_met_from_inside_outwards() -> None:
    text = """
        def soft(ready):
            if not ready:
                return 0.0
            return teacher(x) if wide else 0.0

        for step in range(3):
            if step > 1:
                kd = soft(True)
        """
    source = Source("train.py", dedent(text))
    (call,) = (node for node in source.every(ast.Call) if called(node) == "teacher")
    found = [(source.segment(gate.test), gate.wanted) for gate in gates(source, call)]
    assert found == [("wide", True), ("not ready", False), ("step > 1", True)]
    assert [varies(source, gate.test) for gate in gates(source, call)] == [False, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0.0",
        "torch.tensor(0.0)",
        "torch.zeros((), device=d)",
        "ce * 0",
        "x.new_zeros(1).sum()",
    ],
)
def test_zeros_are_known(text: str) -> None:
    assert is_zero(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", ["0.1", "False", "torch.tensor(loss)", "ce * 0.5", "zero"])
def test_other_values_are_no_zeros(text: str) -> None:
    assert not is_zero(ast.parse(text, mode="eval").body)
