"""A tuple of outputs was used as if it were one of them.

## What happens
A model or a layer returns several things: a loss and logits (`return_dict=False`), the outputs of
an LSTM and its state, logits and hidden states. `.loss`, `.argmax`, `np.argmax` or the next layer
then meets the tuple, which has no such attribute, or whose shape is inhomogeneous.

## Why it matters
Taking the wrong member by trial can work: hidden states have an argmax, too.

## What to do
Take the member that is meant by its number (`outputs[0]`), unpack the tuple where it is returned
(`output, state = self.lstm(x)`), or let the model return names (`return_dict=True`).

## How it is recognised
The expression that failed uses a plain tuple that contains tensors or arrays, by an attribute that
tuples lack or as an argument of a function that takes one tensor. Which member is meant is decided
by shapes: a loss has none, a layer has a width, predictions have one axis more than labels.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.outputs import TupleTaken
from surefit.laws.values.origins import came_from
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.source.edits import replaced
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source
from surefit.source.selection import the_only

SYMPTOM = Symptom(
    r"'tuple' object has no attribute|must be Tensor, not tuple|inhomogeneous shape",
    "which tuple of outputs was used as one of its members",
)
RULE = Rule("SF503", "tuple-taken-for-a-tensor", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
BY_NAME = ("loss", "logits")
"""Names that outputs of transformers have."""
MOST = 6


@RULE.on(TupleTaken)
def a_tuple_was_used_as_a_tensor(broken: TupleTaken, case: Case) -> Finding:
    plain = plain_outputs(case) if broken.attribute in BY_NAME else None
    member = broken.meant(case, broken.attribute)
    count = broken.outputs.value.length or len(broken.outputs.value.members)
    lacks = f"has no `{broken.attribute}`" if broken.attribute else "is no tensor"
    return case.finding(
        (plain or broken.use).place,
        f"`{broken.text}` is a tuple of {count} outputs, and a tuple {lacks}.",
        facts=(*facts(broken, case), *fact_at("`return_dict=False`", plain)),
        why=why(broken, plain, member),
        remedies=ways(broken, case, plain, member),
    )


def plain_outputs(case: Case) -> Expression | None:
    """The `False` of `return_dict=False`, if that is written just once."""
    return the_only(
        case.expression(source, keyword.value)
        for source, keyword in case.recording.every(ast.keyword)
        if keyword.arg == "return_dict" and ast.unparse(keyword.value) == "False"
    )


def facts(broken: TupleTaken, case: Case) -> Iterator[Fact]:
    source = case.source(broken.use.place)
    origin = came_from(broken.outputs.value, broken.frame, source).removeprefix(", ")
    if origin:
        yield Fact(f"`{broken.text}`", origin)
    for at, value in list(broken.outputs.value.members.items())[:MOST]:
        known = value.shape is not None
        shape = f"{value.dtype} {shape_of(value.shape or ())}" if known else value.kind
        yield Fact(f"`{broken.text}[{at}]`", shape)


def why(broken: TupleTaken, plain: Expression | None, member: int | None) -> str:
    if plain is not None:
        return "With `return_dict=False` a model returns a plain tuple, without names."
    if member is None:
        return "Several members fit this use."
    shape = broken.tensors[member].shape
    if shape == ():
        return f"Only member {member} is a single number, as a loss is."
    return f"Of its members only number {member}, {shape_of(shape or ())}, fits this use."


def ways(
    broken: TupleTaken, case: Case, plain: Expression | None, member: int | None
) -> Iterator[Remedy]:
    source = case.source(broken.use.place)
    if source is None:
        return
    if plain is not None and only_by_name(broken, source, case):
        shape = broken.tensors[member].shape if member is not None else None
        wanted = Wanted(f"{broken.text}.{broken.attribute}", shape=shape)
        yield ReplaceWith(
            at=plain,
            text="True",
            words="`return_dict=True`: the outputs have names.",
            must=ValuesAt(broken.use.place, (wanted,)),
        )
    for at in [member] if member is not None else list(broken.tensors):
        new = f"{broken.text}[{at}]"
        yield Change(
            to=by_number(broken, case, source, at),
            words=f"Take member {at}: `{new}`.",
            must=ValuesAt(broken.use.place, (Wanted(new, shape=broken.tensors[at].shape),)),
            choice=member is None,
        )


def only_by_name(broken: TupleTaken, source: Source, case: Case) -> bool:
    """Every use of the name is an attribute: no index, no unpacking."""
    node = case.node(broken.outputs.use)
    uses = loads(source, node) if isinstance(node, ast.Name) else []
    return bool(uses) and all(isinstance(source.parents.get(use), ast.Attribute) for use in uses)


def loads(source: Source, node: ast.Name) -> list[ast.Name]:
    """Every use of a name in its function."""
    scope = source.scope_of(node)
    names = [other for other in source.every(ast.Name) if other.id == node.id]
    loaded = [other for other in names if isinstance(other.ctx, ast.Load)]
    return [other for other in loaded if source.scope_of(other) is scope]


def by_number(broken: TupleTaken, case: Case, source: Source, member: int) -> Edit | None:
    """Here, and wherever else the same function reads a name of outputs that the tuple lacks."""
    node = case.node(broken.outputs.use)
    if node is None:
        return None
    named = broken.attribute in BY_NAME
    uses = loads(source, node) if isinstance(node, ast.Name) else [node]
    parents = [source.parents.get(use) for use in uses] if named else []
    changes = [
        replaced(source, parent, f"{broken.text}[{at}]")
        for parent in parents
        if isinstance(parent, ast.Attribute) and parent.attr in BY_NAME
        if (at := broken.meant(case, parent.attr)) is not None
    ]
    return all_of(changes) or replaced(source, node, f"{broken.text}[{member}]")
