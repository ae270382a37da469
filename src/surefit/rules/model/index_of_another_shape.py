"""An index for `gather` or `scatter` has not the axes of the tensor that it picks from.

## What happens
`gather`, `take_along_dim` and `scatter` take an index with as many axes as the tensor has, and on
every axis but the one that is picked along it must not be longer. One class per row, of the shape
(rows,), is an index for a tensor (rows, classes) only with an axis of size 1 behind it; and labels
of all places do not go with predictions that were cut by one place.

## Why it matters
An index that is too short raises nothing: what is behind its end is left out.

## What to do
`log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)`; for whole vectors
`index[:, None, None].expand(-1, 1, width)`; labels cut as the predictions are: `labels[:, 1:]` for
`logits[:, :-1]`.

## How it is recognised
The failing expression in your own code is such a call, and the shapes of the tensor and of its
index, or the least and the greatest index, do not go together. The text of the exception is not
looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.index_calls import IndexCall, index_call
from surefit.source.edits import appended, both, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF345",
    "index-of-another-shape",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Index tensor must have the same number of dimensions|Size does not match at dimension"
            r"|to be (no larger|smaller) than self|torch.take_along_dim\(\)|is out of bounds for"
            r" dimension \d+ with size",
            "the shapes of the tensor and of its index, and the axis that is picked along",
        ),
    ),
)

TAKES_AXES_AWAY = ("squeeze", "view", "reshape", "flatten", "sum", "mean")
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misfit:
    """In which way an index does not fit, and what would make it fit."""

    said: str
    advice: str
    edit: Edit | None = None
    result: Shape | None = None
    """Of what the call then gives."""
    index: str = ""
    """The index as the patched line writes it, and its shape."""
    shape: Shape | None = None
    why_not: str = ""


@RULE.on(Crash)
def an_index_does_not_fit(crash: Crash, seen: Recording) -> Iterator[Finding]:
    picked = index_call(crash, seen) if is_cause(crash, seen) else None
    misfit = misfit_of(picked) if picked else None
    if picked is None or misfit is None:
        return
    yield RULE.finding(
        picked.frame.place,
        misfit.said,
        facts=tuple(facts(picked)),
        why=why(picked),
        fixes=(fix(picked, misfit),),
        python_said=crash.said,
        about=crash.id,
    )


def facts(picked: IndexCall) -> Iterator[Fact]:
    yield Fact(code(picked.of.text), shape_of(picked.of.shape))
    values = ""
    if picked.index.least is not None and picked.index.greatest is not None:
        values = f", from {picked.index.least:g} to {picked.index.greatest:g}"
    yield Fact(code(picked.index.text), f"{shape_of(picked.index.shape)}{values}")
    yield Fact(f"`{picked.name}` along", f"axis {picked.axis}, of size {axis_size(picked)}")


def axis_size(picked: IndexCall) -> int:
    return picked.of.shape[picked.axis]


def why(picked: IndexCall) -> str:
    return (
        f"`{picked.name}` counts along one axis only; on all others a number of the index stands"
        " for the place that it stands at itself."
    )


def misfit_of(picked: IndexCall) -> Misfit | None:
    of, index = picked.of.shape, picked.index.shape
    if picked.index.dtype.startswith(("float", "bfloat")) or not index:
        return None  # float-ids speaks of the first
    if len(index) < len(of):
        return fewer_axes(picked)
    if len(index) > len(of):
        return more_axes(picked)
    if picked.name != "take_along_dim" and too_long(picked):
        return longer(picked)
    return outside(picked)


def too_long(picked: IndexCall) -> list[int]:
    """Axes on which the index is longer than the tensor."""
    pairs = enumerate(zip(picked.index.shape, picked.of.shape, strict=True))
    return [axis for axis, (one, other) in pairs if one > other and axis != picked.axis]


def fewer_axes(picked: IndexCall) -> Misfit:
    of, index, axis = picked.of.shape, picked.index.shape, picked.axis
    said = (
        f"{code(picked.index.text)} has {counted(len(index), 'axis')} and {code(picked.of.text)}"
        f" {len(of)}: `{picked.name}` takes an index with as many axes."
    )
    ambiguous = index == of[: len(index)] and axis != len(of) - 1 and len(index) == len(of) - 1
    if index == of[:axis] + of[axis + 1 :]:
        return with_axis(picked, said)
    if picked.src is not None and index == picked.src.shape[: len(index)]:
        return like_the_source(picked, said)
    if picked.writes or index[:axis] != of[:axis] or len(index) not in (axis, axis + 1):
        return Misfit(said, f"Give it the axes of {code(picked.of.text)}.", why_not=MEANT)
    if ambiguous and of[axis] == index[-1]:
        return Misfit(
            said,
            f"To pick one of {of[-1]} at each place, `dim=-1` and `.unsqueeze(-1)` behind the"
            f" index; to pick whole vectors, {code(vectors(picked))} for the index.",
            why_not="which of the two is meant only you know",
        )
    text = vectors(picked)
    shape = (*index, *(1,) * (axis + 1 - len(index)), *of[axis + 1 :])
    advice = f"Give the index an axis for each of the tensor: {code(text)}."
    edit = replaced(picked.source, picked.index.node, text)
    return Misfit(said, advice, edit, shape, "", shape)


def like_the_source(picked: IndexCall, said: str) -> Misfit:
    """One index for each row of what is written."""
    assert picked.src is not None
    missing = len(picked.of.shape) - len(picked.index.shape)
    source = written(picked.source, picked.src.node)
    base = written(picked.source, picked.index.node)
    text = f"{base}{'.unsqueeze(-1)' * missing}.expand_as({source})"
    edit = replaced(picked.source, picked.index.node, text)
    advice = f"Give each number of {code(picked.src.text)} its index: {code(text)}."
    return Misfit(said, advice, edit, picked.of.shape, picked.of.text, picked.of.shape)


def vectors(picked: IndexCall) -> str:
    """The index for whole vectors along the axes behind."""
    of, index, axis = picked.of.shape, picked.index.shape, picked.axis
    missing = len(of) - len(index)
    base = written(picked.source, picked.index.node)
    kept = ["-1"] * (axis + 1)
    sizes = [
        f"{written(picked.source, picked.of.node)}.size({at})" for at in range(axis + 1, len(of))
    ]
    axes = ".unsqueeze(-1)" * missing
    return f"{base}{axes}.expand({', '.join([*kept, *sizes])})"


def written(source: Source, node: ast.expr) -> str:
    text = source.segment(node)
    tight = ast.Name | ast.Attribute | ast.Subscript | ast.Call
    return text if isinstance(node, tight) else f"({text})"


MEANT = "which places are meant only you know"


def with_axis(picked: IndexCall, said: str) -> Misfit:
    """One index for each place that is left when the axis is taken away."""
    of, index, axis = picked.of.shape, picked.index.shape, picked.axis
    at = "-1" if axis == len(of) - 1 and len(of) > 2 else str(axis)
    text = f"{written(picked.source, picked.index.node)}.unsqueeze({at})"
    edit = appended(picked.source, picked.index.node, f".unsqueeze({at})")
    shape = (*index[:axis], 1, *index[axis:])
    if picked.writes:
        advice = f"Give the index the axis that is picked along: {code(text)}."
        return Misfit(said, advice, edit, of, text, shape)
    advice = f"Give the index the axis that is picked along: {code(text)}"
    if axis_is_wanted(picked, shape):
        return Misfit(said, f"{advice}.", edit, shape, text, shape)
    edit = both(edit, appended(picked.source, picked.call, f".squeeze({at})"))
    advice += f"; `.squeeze({at})` behind the call takes it away again."
    return Misfit(said, advice, edit, index, text, shape)


def axis_is_wanted(picked: IndexCall, shape: Shape) -> bool:
    """What follows takes the axis away, or there is a tensor that has it, too."""
    source = picked.source
    parent = source.parents.get(picked.call)
    if isinstance(parent, ast.Attribute) and parent.attr in TAKES_AXES_AWAY[:4]:
        return True
    if isinstance(parent, ast.Subscript):
        return True
    statement = source.statement_of(picked.call)
    name = assigned_name(statement)
    for node in ast.walk(source.scope_of(statement)) if name else ():
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
            and node.attr in TAKES_AXES_AWAY[:4]
        ):
            return True
    known = (picked.of.text, picked.index.text)
    return any(
        one.shape == shape and (one.dtype or "").startswith("float") and one.text not in known
        for one in picked.frame.values
    )


def assigned_name(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


def more_axes(picked: IndexCall) -> Misfit:
    of, index, axis = picked.of.shape, picked.index.shape, picked.axis
    said = (
        f"{code(picked.index.text)} has {counted(len(index), 'axis')} and {code(picked.of.text)}"
        f" {len(of)}: `{picked.name}` takes an index with as many axes."
    )
    for at in reversed(range(len(index))):
        left = index[:at] + index[at + 1 :]
        if index[at] != 1 or len(left) != len(of) or not goes(left, of, axis):
            continue
        inner = unsqueezed(picked.index.node)
        advice = "Take the axis of size 1 away"
        if inner is not None:
            text = picked.source.segment(inner)
            edit = replaced(picked.source, picked.index.node, text)
            return Misfit(said, f"{advice}: {code(text)} has it already.", edit, left, text, left)
        edit = appended(picked.source, picked.index.node, f".squeeze({at})")
        text = f"{written(picked.source, picked.index.node)}.squeeze({at})"
        return Misfit(said, f"{advice}: {code(text)}.", edit, left, text, left)
    return Misfit(said, f"Give it the axes of {code(picked.of.text)}.", why_not=MEANT)


def unsqueezed(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and called(node) == "unsqueeze":
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    return None


def goes(index: Shape, of: Shape, axis: int) -> bool:
    """On every axis but one they are as long as each other."""
    pairs = enumerate(zip(index, of, strict=True))
    return all(one == other for at, (one, other) in pairs if at != axis)


def longer(picked: IndexCall) -> Misfit:
    of, index = picked.of.shape, picked.index.shape
    at = too_long(picked)[0]
    said = (
        f"{code(picked.index.text)} has {index[at]} places on axis {at}, and"
        f" {code(picked.of.text)} has {of[at]}."
    )
    turned = turned_axes(picked)
    if turned is not None:
        first, second = turned
        text = f".transpose({first}, {second})"
        edit = appended(picked.source, picked.index.node, text)
        shape = swapped(index, first, second)
        advice = f"Its axes {first} and {second} stand the other way round: {code(text)} behind it."
        shown = f"{written(picked.source, picked.index.node)}{text}"
        return Misfit(said, advice, edit, of if picked.writes else shape, shown, shape)
    other = [one for one in range(len(of)) if one != picked.axis and goes(index, of, one)]
    if len(other) == 1:
        edit = replaced(picked.source, picked.axis_node, str(other[0]))
        advice = f"Pick along axis {other[0]}: on all others index and tensor are equally long."
        return Misfit(said, advice, edit, of if picked.writes else index)
    cut = cut_by_one(picked, at)
    if cut is not None:
        return shifted(picked, said, at, cut)
    return Misfit(
        said,
        f"Cut the index as {code(picked.of.text)} was cut, or make it of the same rows.",
        why_not=MEANT,
    )


def turned_axes(picked: IndexCall) -> tuple[int, int] | None:
    """Two axes of the index that fit the tensor when they are swapped."""
    of, index = picked.of.shape, picked.index.shape
    for first in range(len(index)):
        for second in range(first + 1, len(index)):
            if goes(swapped(index, first, second), of, picked.axis):
                return first, second
    return None


def swapped(shape: Shape, first: int, second: int) -> Shape:
    turned = list(shape)
    turned[first], turned[second] = turned[second], turned[first]
    return tuple(turned)


def cut_by_one(picked: IndexCall, axis: int) -> ast.Subscript | None:
    """`logits[:, :-1]`, which the tensor was made of, where the index is one place longer."""
    if picked.index.shape[axis] != picked.of.shape[axis] + 1:
        return None
    source = picked.source
    node: ast.expr = picked.of.node
    for _ in range(6):
        node = source.value_of(node)
        if isinstance(node, ast.Subscript) and last_is_cut(node, axis):
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            library = source.imported(node.func).startswith("torch.")
            if library and not node.args:
                return None
            node = node.args[0] if library else node.func.value
        else:
            return None
    return None


def last_is_cut(node: ast.Subscript, axis: int) -> bool:
    """`[:, :-1]`: all but the last place of an axis."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) <= axis:
        return False
    return ast.unparse(parts[axis]) == ":-1" and all(
        ast.unparse(one) == ":" for one in parts[:axis]
    )


def shifted(picked: IndexCall, said: str, axis: int, cut: ast.Subscript) -> Misfit:
    """Labels of the place behind each prediction."""
    source = picked.source
    base = picked.index.node
    while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
        base = base.func.value
    how = f"[{':, ' * axis}1:]"
    text = source.segment(base) + how
    advice = (
        f"The tensor is {code(source.segment(cut))}, without the last place; what is predicted"
        f" there is the place behind it: {code(text)}."
    )
    shape = tuple(size - (at == axis) for at, size in enumerate(picked.index.shape))
    if not isinstance(base, ast.Name):
        return Misfit(said, advice, None, why_not=MEANT)
    edit = Edit(source.file, appended(source, base, how).changes)
    whole = ast.unparse(picked.index.node).replace(base.id, text, 1)
    result = picked.of.shape if picked.writes else shape
    return Misfit(said, advice, edit, result, whole, shape)


def outside(picked: IndexCall) -> Misfit | None:
    """Numbers of the index that the axis has no place for."""
    least, greatest = picked.index.least, picked.index.greatest
    if least is None or greatest is None:
        return None
    size = axis_size(picked)
    if least >= 0 and greatest < size:
        return None
    said = (
        f"{code(picked.index.text)} goes from {least:g} to {greatest:g}, and axis {picked.axis} of"
        f" {code(picked.of.text)} has the places 0 to {size - 1}."
    )
    of, index = picked.of.shape, picked.index.shape
    others = [
        axis
        for axis in range(len(of))
        if axis != picked.axis and goes(index, of, axis) and least >= 0 and greatest < of[axis]
    ]
    if len(others) == 1:
        edit = replaced(picked.source, picked.axis_node, str(others[0]))
        advice = (
            f"Pick along axis {others[0]}, which has {of[others[0]]} places; on all others index"
            " and tensor are equally long."
        )
        return Misfit(said, advice, edit, of if picked.writes else index)
    if least < 0:
        return Misfit(
            said,
            f"{least:g} marks places that do not count: `.clamp(min=0)` on the index, and what was"
            " picked there multiplied by a mask such as `labels != -100`.",
            why_not="which places count only you know",
        )
    return Misfit(
        said,
        f"Make {code(picked.of.text)} {int(greatest) + 1} long on axis {picked.axis}, or count the"
        " index from 0.",
        why_not=MEANT,
    )


def fix(picked: IndexCall, misfit: Misfit) -> Fix:
    must = condition(picked, misfit) if misfit.edit else None
    can_be = misfit.edit is not None and must is not None
    return Fix(
        misfit.advice,
        misfit.edit if can_be else None,
        must,
        "" if can_be else misfit.why_not or "its result has no name on that line",
    )


def condition(picked: IndexCall, misfit: Misfit) -> ValuesAt | None:
    """The named result is as it must be; where it has no name, the index is."""
    statement = picked.source.statement_of(picked.call)
    name = assigned_name(statement)
    if name and misfit.result is not None:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if value is picked.call:
            return ValuesAt(picked.frame.place, (Wanted(name, misfit.result),), after=True)
        if is_squeezed(value, picked):
            shape = misfit.result[: picked.axis] + misfit.result[picked.axis + 1 :]
            return ValuesAt(picked.frame.place, (Wanted(name, shape),), after=True)
    if misfit.index and misfit.shape is not None:
        return ValuesAt(picked.frame.place, (Wanted(misfit.index, misfit.shape),))
    return None


def is_squeezed(value: ast.expr | None, picked: IndexCall) -> bool:
    """`x.gather(...).squeeze(axis)` is all there is."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="squeeze")):
            return inner is picked.call and picked.index.shape != ()
    return False
