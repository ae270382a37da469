"""A tuple of outputs was used as if it were one of them.

## What happens
A model or a layer gives back several things: a loss and logits (`return_dict=False`), the outputs
of an LSTM and its state, logits and hidden states, which the Trainer hands to `compute_metrics` as
one tuple of arrays. `.loss`, `.argmax`, `np.argmax` or the next layer then meets the tuple. Python
says that a tuple has no such attribute, or NumPy that the shape is inhomogeneous.

## Why it matters
Taking the wrong member by trial can go through: hidden states have an argmax, too.

## What to do
Take the member that is meant by its number (`outputs[0]`), unpack the tuple where it is made
(`output, state = self.lstm(x)`), or let the model give back names (`return_dict=True`).

## How it is recognised
The expression that failed uses a plain tuple that contains tensors or arrays, by an attribute that
tuples lack or as an argument of a function that takes one tensor. Which member is meant is decided
by shapes: a loss has none, a layer has a width, predictions have one axis more than labels.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, spoken
from surefit.evidence.origins import came_from
from surefit.evidence.set_sizes import keywords
from surefit.evidence.tuples_taken import TupleTaken, meant, tuple_taken
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

RULE = Rule(
    "SF503",
    "tuple-taken-for-a-tensor",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"'tuple' object has no attribute|must be Tensor, not tuple|inhomogeneous shape",
            "which tuple of outputs was used as one of its members",
        ),
    ),
)

ONLY_YOU = "several members fit, and only you know which is meant"


@RULE.on(Crash)
def a_tuple_was_used_as_a_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    taken = tuple_taken(crash, seen) if is_cause(crash, seen) else None
    if taken is None:
        return
    plain = plain_outputs(seen) if taken.attribute in ("loss", "logits") else None
    member = meant(crash, taken, taken.attribute)
    yield RULE.finding(
        place_of(taken, plain),
        headline(taken),
        facts=tuple(facts(taken, plain)),
        why=why(taken, plain, member),
        fixes=tuple(fixes(crash, taken, plain, member)),
        python_said=crash.said,
        about=crash.id,
    )


def plain_outputs(seen: Recording) -> tuple[Source, ast.keyword] | None:
    """`return_dict=False`, if it is written just once."""
    found = [
        (source, keyword)
        for source, _, keyword in keywords(seen, "return_dict")
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    ]
    return found[0] if len(found) == 1 else None


def place_of(taken: TupleTaken, plain: tuple[Source, ast.keyword] | None) -> Place:
    """Where a tuple was asked for; otherwise where it is used."""
    return Place(plain[0].file, plain[1].lineno) if plain else taken.frame.place


def headline(taken: TupleTaken) -> str:
    count = taken.value.length or len(taken.value.members)
    what = f"has no `{taken.attribute}`" if taken.attribute else "is no tensor"
    return f"`{taken.text}` is a tuple of {count} outputs, and a tuple {what}."


def facts(taken: TupleTaken, plain: tuple[Source, ast.keyword] | None) -> Iterator[Fact]:
    origin = came_from(taken.value, taken.frame, taken.source).removeprefix(", ")
    if origin:
        yield Fact(code(taken.text), origin)
    for at, one in list(taken.value.members.items())[:6]:
        shape = f"{one.dtype} {shape_of(one.shape)}" if one.shape is not None else one.kind
        yield Fact(f"`{taken.text}[{at}]`", shape)
    if plain:
        yield Fact("`return_dict=False`", f"{plain[0].file}:{plain[1].lineno}")


def why(taken: TupleTaken, plain: tuple[Source, ast.keyword] | None, member: int | None) -> str:
    if plain:
        return "With `return_dict=False` a model gives back a plain tuple, without names."
    if member is None:
        return ""
    shape = taken.tensors[member].shape
    if shape == ():
        return f"Only member {member} is a single number, as a loss is."
    return f"Of its members only number {member}, {shape_of(shape or ())}, fits this use."


def fixes(
    crash: Crash,
    taken: TupleTaken,
    plain: tuple[Source, ast.keyword] | None,
    member: int | None,
) -> Iterator[Fix]:
    if plain and plain[0].file == taken.source.file and only_by_name(taken):
        edit = replaced(plain[0], plain[1].value, "True")
        text = f"{taken.text}.{taken.attribute}"
        wanted = Wanted(text, shape=taken.tensors[member].shape if member is not None else None)
        yield Fix(
            "`return_dict=True`: the outputs have names.",
            edit,
            ValuesAt(taken.frame.place, (wanted,)) if member is not None else None,
            "" if member is not None else ONLY_YOU,
        )
    if member is None:
        names = spoken(f"`{taken.text}[{at}]`" for at in taken.tensors)
        yield Fix(f"Take the member that is meant: {names}.", why_not_tried=ONLY_YOU)
        return
    edit_ = by_number(crash, taken, member)
    new = f"{taken.text}[{member}]"
    shape = taken.tensors[member].shape
    yield Fix(
        f"Take member {member}: `{new}`.",
        edit_,
        ValuesAt(taken.frame.place, (Wanted(new, shape=shape),)),
    )


def only_by_name(taken: TupleTaken) -> bool:
    """Every use of the name is an attribute: no index, no unpacking."""
    if not isinstance(taken.node, ast.Name):
        return False
    return all(
        isinstance(taken.source.parents.get(one), ast.Attribute)
        for one in uses(taken, taken.node.id)
    )


def uses(taken: TupleTaken, name: str) -> list[ast.Name]:
    scope = taken.source.scope_of(taken.node)
    return [
        one
        for one in taken.source.every(ast.Name)
        if one.id == name and isinstance(one.ctx, ast.Load) and taken.source.scope_of(one) is scope
    ]


def by_number(crash: Crash, taken: TupleTaken, member: int) -> Edit:
    """Here, and wherever else the same function asks the tuple for a name that it lacks."""
    new = f"{taken.text}[{member}]"
    if taken.attribute not in ("loss", "logits"):
        return replaced(taken.source, taken.node, new)
    edit: Edit | None = None
    for one in uses(taken, taken.text) if isinstance(taken.node, ast.Name) else [taken.node]:
        parent = taken.source.parents.get(one)
        at = meant(crash, taken, parent.attr) if isinstance(parent, ast.Attribute) else None
        if (
            isinstance(parent, ast.Attribute)
            and at is not None
            and parent.attr in ("loss", "logits")
        ):
            change = replaced(taken.source, parent, f"{taken.text}[{at}]")
            edit = both(edit, change) if edit else change
    return edit or replaced(taken.source, taken.node, new)
