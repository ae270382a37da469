"""A mean or a gradient is asked of whole numbers, which have neither.

## What happens
`(predicted == labels).mean()`, `lengths.std()`, `counts.softmax(-1)`: of whole numbers and of True
and False torch gives no mean, because it would be no whole number. And only numbers with a fraction
can have a gradient: `torch.tensor([1, 2, 3], requires_grad=True)` and `nn.Parameter` of whole
numbers are refused.

## Why it matters
NumPy does it, so that the same line works on arrays and fails on tensors.

## What to do
`.float()` before it: `(predicted == labels).float().mean()`. For what is to be learned, floats from
the start: `torch.tensor([1.0, 2.0, 3.0], requires_grad=True)`.

## How it is recognised
The failing expression in your own code is such a call, and what it is called on holds whole numbers
or True and False; or a parameter was made of them. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.numbers import NumberAt
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.failed_operations import failure_of
from surefit.evidence.made_names import name_at
from surefit.source.edits import appended, argument_added
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF349",
    "fractions-of-whole-numbers",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"could not infer output dtype|Input dtype must be either a floating point"
            r"|std and var only support floating point|not implemented for '(Long|Int|Bool)'"
            r"|[Oo]nly Tensors of floating point( and complex)? dtype can require gradients",
            "the dtype of what the mean, or the gradient, is asked of",
        ),
    ),
)

NEED_FRACTIONS = ("mean", "std", "var", "softmax", "log_softmax", "norm", "nanmean")
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")
ARE_WHOLE = ("arange", "randint", "randperm", "argmax", "argmin", "argsort", "bincount")
MADE = ("tensor", "as_tensor", "zeros", "ones", "full", "arange", "randint", "empty", "eye")
PARAMETER = "torch/nn/parameter.py"


@dataclass(frozen=True, slots=True)
class Whole:
    """An expression of whole numbers that something with a fraction is asked of."""

    source: Source
    frame: Frame
    node: ast.expr
    dtype: str
    value: Value | None
    what: str


@RULE.on(Crash)
def whole_numbers_have_no_mean(crash: Crash, seen: Recording) -> Iterator[Finding]:
    whole = averaged(crash, seen) if is_cause(crash, seen) else None
    if whole is None:
        return
    text = whole.source.segment(whole.node)
    edit = appended(whole.source, whole.node, ".float()")
    must = condition(whole)
    yield finding(
        crash,
        whole,
        f"{code(text)} is {whole.dtype}, and `{whole.what}` is asked of it, which needs fractions.",
        "A mean of whole numbers is no whole number, and torch does not choose another dtype by"
        " itself.",
        Fix(
            f"Cast it before: `.float()` behind {code(text)}.",
            edit,
            must,
            "" if must else "its result has no name on that line",
        ),
    )


@RULE.on(Crash)
def whole_numbers_have_no_gradient(crash: Crash, seen: Recording) -> Iterator[Finding]:
    whole = wanting(crash, seen) if is_cause(crash, seen) else None
    if whole is None:
        return
    edit = as_floats(whole)
    name = name_at(whole.source, whole.frame.place)
    wanted = Wanted(name or "", dtype="float32", requires_grad=True)
    must = ValuesAt(whole.frame.place, (wanted,), after=True) if name else None
    can_be = edit is not None and must is not None
    text = whole.source.segment(whole.node)
    yield finding(
        crash,
        whole,
        f"{code(text)} holds whole numbers, {whole.dtype}, and is to have a gradient.",
        "A gradient says how much to change a number by, and a whole number cannot be changed by a"
        " little.",
        Fix(
            "Make floats of it: `dtype=torch.float32`, or `.float()` behind it.",
            edit,
            must,
            "" if can_be else "what it is made of was not found, or it has no name on that line",
        ),
    )


def finding(crash: Crash, whole: Whole, headline: str, why: str, fix: Fix) -> Finding:
    value = whole.value
    shape = f" {shape_of(value.shape)}" if value is not None and value.shape is not None else ""
    node = whole.source.segment(whole.node)
    return RULE.finding(
        Place(whole.source.file, whole.node.lineno),
        headline,
        facts=(Fact(code(node), f"{whole.dtype}{shape}"),),
        why=why,
        fixes=(fix,),
        python_said=crash.said,
        about=crash.id,
    )


def averaged(crash: Crash, seen: Recording) -> Whole | None:
    """What the failing call takes a mean of."""
    frame = crash.own_frame
    if frame is None or frame.span is None or any(not one.own for one in inner(crash, frame)[1:]):
        return None
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source else None
    if source is None or not isinstance(call, ast.Call) or called(call) not in NEED_FRACTIONS:
        return None
    function = source.imported(call.func).startswith("torch.")
    node = call.args[0] if function and call.args else receiver(call)
    if node is None or source.argument(call, "dtype") is not None:
        return None
    value = value_of(frame, node)
    dtype = value.dtype if value else "bool" if isinstance(node, ast.Compare) else None
    if dtype is None:
        failure = failure_of(seen, crash)
        dtype = failure.given[0].dtype if failure and failure.given else None
    if dtype not in WHOLE:
        return None
    return Whole(source, frame, node, dtype, value, called(call))


def inner(crash: Crash, frame: Frame) -> list[Frame]:
    return list(crash.frames[crash.frames.index(frame) :])


def receiver(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    found = (one for one in frame.values if one.text == text and one.dtype)
    return next((one for one in found if one.kind not in ("ndarray", "memmap")), None)


def condition(whole: Whole) -> Condition | None:
    """The number that gets a name lies between the least and the greatest of what it is of."""
    name = name_at(whole.source, whole.frame.place)
    statement = whole.source.statement_of(whole.node)
    if name is None or not isinstance(statement, ast.Assign):
        return None
    if whole.what not in ("mean", "nanmean") or not is_single(statement.value, whole):
        return ValuesAt(whole.frame.place, (Wanted(name, dtype="float32"),), after=True)
    if whole.dtype == "bool":
        return NumberAt(whole.frame.place, name, 0, 1)
    value = whole.value
    if value is None or value.least is None or value.greatest is None:
        return ValuesAt(whole.frame.place, (Wanted(name, dtype="float32"),), after=True)
    return NumberAt(whole.frame.place, name, value.least, value.greatest)


def is_single(node: ast.expr, whole: Whole) -> bool:
    """`x.mean()` or `x.mean().item()`, of all numbers, and nothing else."""
    if isinstance(node, ast.Call) and called(node) == "item" and receiver(node) is not None:
        node = receiver(node) or node
    if not isinstance(node, ast.Call) or called(node) != whole.what or node.keywords:
        return False
    return len(node.args) == (0 if receiver(node) is whole.node else 1)


def wanting(crash: Crash, seen: Recording) -> Whole | None:
    """What was to have a gradient, and holds whole numbers."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    call = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None:
        return None
    last = crash.frames[-1]
    if last.place.file.replace("\\", "/").endswith(PARAMETER) and isinstance(call, ast.Call):
        data = next((one for one in last.values if one.text == "data"), None)
        node = source.argument(call, "data", 0)
        if data is None or node is None or data.dtype not in WHOLE:
            return None
        wants = source.argument(call, "requires_grad", 1)
        if isinstance(wants, ast.Constant) and wants.value is False:
            return None
        return Whole(source, frame, node, str(data.dtype), data, "a gradient")
    if last is not frame or not isinstance(call, ast.Call):
        return None
    if called(call) == "requires_grad_":
        node = receiver(call)
        value = value_of(frame, node) if node is not None else None
        if node is None or value is None or value.dtype not in WHOLE:
            return None
        return Whole(source, frame, node, str(value.dtype), value, "a gradient")
    return made_wanting(source, frame, call)


def made_wanting(source: Source, frame: Frame, call: ast.Call) -> Whole | None:
    """`torch.tensor([1, 2], requires_grad=True)`: by what is given."""
    wants = source.argument(call, "requires_grad")
    if not isinstance(wants, ast.Constant) or wants.value is not True or called(call) not in MADE:
        return None
    dtype = source.argument(call, "dtype")
    if dtype is not None:
        kind = ast.unparse(dtype).rpartition(".")[2]
        known = {"long": "int64", "int": "int32", "bool": "bool"}.get(kind, kind)
        return Whole(source, frame, call, known, None, "a gradient") if known in WHOLE else None
    if called(call) in ARE_WHOLE or (call.args and is_whole(frame, source, call.args[0])):
        return Whole(source, frame, call, "int64", None, "a gradient")
    return None


def is_whole(frame: Frame, source: Source, node: ast.expr) -> bool:
    """Numbers that are all written, or known, as whole ones."""
    value = next((one for one in frame.values if one.text == ast.unparse(node)), None)
    if value is not None:
        plain = set(value.kinds) <= {"int", "bool"} and bool(value.kinds)
        return plain or value.dtype in WHOLE or type(value.scalar) is int
    node = source.value_of(node)
    constants = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    literal = isinstance(node, ast.List | ast.Tuple | ast.Constant)
    return literal and bool(constants) and all(type(one) in (int, bool) for one in constants)


def as_floats(whole: Whole) -> Edit | None:
    node = whole.node
    made = isinstance(node, ast.Call) and called(node) in MADE
    function = isinstance(node, ast.Call) and whole.source.imported(node.func).startswith("torch.")
    if made and function and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        prefix = whole.source.segment(node.func.value)
        return argument_added(whole.source, node, "dtype", f"{prefix}.float32")
    return appended(whole.source, node, ".float()")
