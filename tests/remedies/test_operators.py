"""Edit operators: what each makes of a line, what it leaves alone, and where it gives up."""

import ast
from collections.abc import Callable

import pytest

from surefit.doctor.observations import Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.case import Case, Remedy
from surefit.remedies.append import Append
from surefit.remedies.arguments import DropArgument, RenameArgument, SetArgument
from surefit.remedies.cast import Cast
from surefit.remedies.enlarge import Enlarge
from surefit.remedies.replace import ReplaceCallee, ReplaceWith
from surefit.remedies.shift import Shift
from surefit.remedies.statements import Insert, Remove
from surefit.remedies.substitute import Substitute
from surefit.remedies.together import Together
from surefit.remedies.truncate import Truncate
from surefit.remedies.wrap import Wrap
from surefit.source.edits import patched
from surefit.source.reading import Source

FILE = "train.py"


def applied(text: str, at: str, remedy: Callable[[Expression], Remedy]) -> str | None:
    """The file after the remedy at the first expression that is written so, if it has an edit."""
    source = Source(FILE, text)
    case = Case(Recording([Script(FILE, text)]))
    node = next(node for node in source.every(ast.expr) if source.segment(node) == at)
    edit = remedy(case.expression(source, node)).edit(case)
    return patched(edit, text) if edit is not None else None


@pytest.mark.parametrize(
    ("text", "at", "becomes"),
    [
        ("y = f(x)\n", "f(x)", "y = f(x).clone()\n"),
        ("y = a + b\n", "a + b", "y = (a + b).clone()\n"),
        ("y = -x\n", "-x", "y = (-x).clone()\n"),
    ],
)
def test_append(text: str, at: str, becomes: str) -> None:
    assert applied(text, at, lambda here: Append(at=here, suffix=".clone()", words="w")) == becomes


def test_calls_that_are_given_the_same_change_alike() -> None:
    text = (
        "for x, y in train:\n    loss = f(model(x), y)\n"
        "for x, y in test:\n    loss = f(model(x), y)\n"
        "other = f(model(x), z)\n"
    )
    source = Source(FILE, text)
    case = Case(Recording([Script(FILE, text)]))
    call = next(node for node in source.every(ast.Call) if source.segment(node) == "f(model(x), y)")
    edit = Append(at=case.expression(source, call.args[1]), suffix=".long()", words="w").edit(case)
    assert edit is not None
    assert patched(edit, text).count("y.long())") == 2
    alone = Append(at=case.expression(source, call.args[1]), suffix="[0]", words="w", alike=False)
    edit = alone.edit(case)
    assert edit is not None
    assert patched(edit, text).count("y[0])") == 1


TENSOR = Value("x", "Tensor", shape=(4,), dtype="float32")
ARRAY = Value("x", "ndarray", shape=(4,), dtype="float64")
NUMBER = Value("x", "float", scalar=1.0)
NUMBERS = Value("x", "list", length=3, kinds={"float": 3})
ROWS = Value("x", "list", length=3, lengths=(2, 2, 2))


@pytest.mark.parametrize(
    ("text", "value", "becomes"),
    [
        ("load(path)", TENSOR, "load(path).long()"),
        ("load(path)", None, "load(path).long()"),
        ("x.float()", TENSOR, "x.long()"),
        ("torch.zeros(3, dtype=torch.float32)", TENSOR, "torch.zeros(3, dtype=torch.int64)"),
        ("load(path)", ARRAY, 'load(path).astype("int64")'),
        ('x.astype("float64")', ARRAY, 'x.astype("int64")'),
        ("np.zeros(3, dtype=np.float64)", ARRAY, "np.zeros(3, dtype=np.int64)"),
        ("row[2]", NUMBER, "int(row[2])"),
        ("float(row[2])", NUMBER, "int(row[2])"),
        ("row.tags", NUMBERS, "[int(item) for item in row.tags]"),
        ("rows.tags", ROWS, "[[int(item) for item in row] for row in rows.tags]"),
    ],
)
def test_cast(text: str, value: Value | None, becomes: str) -> None:
    made = applied(f"y = {text}\n", text, lambda here: Cast(at=here, to="int64", value=value))
    assert made == f"y = {becomes}\n"


def test_cast_of_something_else_is_none() -> None:
    thing = Value("x", "Namespace")
    assert applied("y = f(x)\n", "f(x)", lambda at: Cast(at=at, to="int64", value=thing)) is None


@pytest.mark.parametrize(
    ("text", "by", "value", "becomes"),
    [
        ("row[1]", " - 1", NUMBER, "row[1] - 1"),
        ("a or b", " - 1", NUMBER, "(a or b) - 1"),
        ("marks", " + 1) // 2", TENSOR, "(marks + 1) // 2"),
        ("stars", " - 1", NUMBERS, "[label - 1 for label in stars]"),
        ("tags", " - 1", ROWS, "[[label - 1 for label in row] for row in tags]"),
    ],
)
def test_shift(text: str, by: str, value: Value, becomes: str) -> None:
    made = applied(f"y = {text}\n", text, lambda at: Shift(at=at, by=by, value=value))
    assert made == f"y = {becomes}\n"


def test_wrap_brings_its_import() -> None:
    def remedy(at: Expression) -> Remedy:
        return Wrap(at=at, before="torch.tensor(", after=")", words="w", imports="torch")

    assert applied("y = rows\n", "rows", remedy) == "import torch\ny = torch.tensor(rows)\n"


CALL = "loader = Loader(rows, size=8, shuffle=True)\n"


@pytest.mark.parametrize(
    ("remedy", "becomes"),
    [
        (
            lambda at: SetArgument(at=at, name="size", value="4", words="w"),
            "loader = Loader(rows, size=4, shuffle=True)\n",
        ),
        (
            lambda at: SetArgument(at=at, name="drop_last", value="True", words="w"),
            "loader = Loader(rows, size=8, shuffle=True, drop_last=True)\n",
        ),
        (
            lambda at: DropArgument(at=at, name="size", words="w"),
            "loader = Loader(rows, shuffle=True)\n",
        ),
        (lambda at: DropArgument(at=at, name="none", words="w"), None),
        (
            lambda at: RenameArgument(at=at, name="size", to="batch_size", words="w"),
            "loader = Loader(rows, batch_size=8, shuffle=True)\n",
        ),
        (
            lambda at: ReplaceWith(at=at, text="Other(rows)", words="w", imports=("m", "Other")),
            "from m import Other\nloader = Other(rows)\n",
        ),
        (
            lambda at: ReplaceCallee(
                at=at, name="Other", module="m", words="w", keep=("size",), add={"pad": "0"}
            ),
            "from m import Other\nloader = Other(rows, size=8, pad=0)\n",
        ),
    ],
)
def test_arguments_and_callees(remedy: Callable[[Expression], Remedy], becomes: str | None) -> None:
    assert applied(CALL, "Loader(rows, size=8, shuffle=True)", remedy) == becomes


LOOP = "for x in rows:\n    opt.step()\n    loss.backward()\n    log(x)\n"


def test_statements() -> None:
    def before(at: Expression) -> Remedy:
        return Insert(at=at, where="before", text="opt.zero_grad()", words="w")

    assert applied(LOOP, "loss.backward()", before) == LOOP.replace(
        "    loss.backward()", "    opt.zero_grad()\n    loss.backward()"
    )
    assert applied(LOOP, "opt.step()", lambda at: Remove(at=at, words="w")) == LOOP.replace(
        "    opt.step()\n", ""
    )


def test_nothing_without_a_place() -> None:
    case = Case(Recording([]))
    assert Append(at=None, suffix=".x", words="w").edit(case) is None
    assert Cast(at=None, to="int64").edit(case) is None
    assert SetArgument(at=None, name="a", value="1", words="w").edit(case) is None
    assert Remove(at=None, words="w").edit(case) is None


@pytest.mark.parametrize(
    ("text", "at", "becomes"),
    [
        ("t = Table(30)\n", "30", "t = Table(32)\n"),
        ("t = Table(n)\n", "n", "t = Table(n + 2)\n"),
        ("t = Table(n + 1)\n", "n + 1", "t = Table(n + 3)\n"),
        ("t = Table(a or b)\n", "a or b", "t = Table((a or b) + 2)\n"),
    ],
)
def test_enlarge(text: str, at: str, becomes: str) -> None:
    assert applied(text, at, lambda here: Enlarge(at=here, by=2, words="w")) == becomes


def test_substitute_writes_only_names_twice() -> None:
    def filled(here: Expression) -> Remedy:
        return Substitute(at=here, old=-1, new="0", words="w")

    assert applied("f(x)\n", "x", filled) == "f(x.masked_fill(x == -1, 0))\n"
    assert applied("f(read(x))\n", "read(x)", filled) is None


def test_truncate_sets_both_arguments() -> None:
    text = "ids = tok(texts, max_length=99)\n"
    becomes = "ids = tok(texts, max_length=32, truncation=True)\n"
    here = "tok(texts, max_length=99)"
    assert applied(text, here, lambda at: Truncate(at=at, length=32, words="w")) == becomes


def test_together_is_all_or_nothing() -> None:
    missing = Enlarge(at=None, by=1, words="w")
    one_more = applied(
        "t = Table(n)\n",
        "n",
        lambda here: Together(parts=(Enlarge(at=here, by=1, words="w"), missing), words="w"),
    )
    assert one_more is None
