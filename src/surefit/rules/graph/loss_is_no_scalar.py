"""`backward` was called on a loss with several elements.

## What happens
A gradient is that of one number. With `reduction="none"`, or where the mean was forgotten, a loss
has one element for each row, and `backward` says "grad can be implicitly created only for scalar
outputs".

## Why it matters
`loss.backward(torch.ones_like(loss))` is the sum, not the mean: the step is then as many times
larger as the batch has rows, and grows with the batch.

## What to do
`loss.mean()`, which is what `reduction="mean"` does, or `loss.sum()`. Weights of rows and masks are
applied before; with a mask, divide by the number of elements that count.

## How it is recognised
`backward` was called, without gradients of its own, on a tensor with a graph and more than one
element. Where every other line of the function reduces the same loss in one way, that way is tried;
otherwise only you can choose between mean and sum.

In a script that is only read: `backward` is called on a loss with `reduction="none"` that nothing
has reduced, or on a tensor that has several elements by the sizes in the source.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.graph_stories import Root, graph_left
from surefit.evidence.value_stories import story_of_value
from surefit.interpreter import violations, wording
from surefit.source.edits import appended
from surefit.source.reading import Source

RULE = Rule(
    "SF631",
    "loss-is-no-scalar",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"grad can be implicitly created only for scalar outputs",
            "the shape of the loss, and whether `reduction` is `none`",
        ),
    ),
)

ONLY_YOU = "whether mean or sum is meant only you know"


@RULE.on(Crash)
def loss_has_several_elements(crash: Crash, seen: Recording) -> Iterator[Finding]:
    left = graph_left(seen, crash) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if left is None or frame is None or left.freed or left.changed or len(left.roots) != 1:
        return
    root = left.roots[0]
    if not root.grad or prod(root.shape) == 1:
        return
    call = backward_call(seen, crash)
    name = called_on(call)
    unreduced = list(unreduced_in(seen))
    yield RULE.finding(
        place_of(crash, seen, name, unreduced) or frame.place,
        f"`backward` was called on {code(name)}, which has {counted(prod(root.shape), 'element')},"
        " and a gradient is that of a single number.",
        facts=tuple(facts(root, crash, name, bool(unreduced))),
        why="Nothing has reduced the loss to one number: neither `mean` nor `sum` was taken.",
        fixes=tuple(fixes(call, name)),
        python_said=crash.said,
        about=crash.id,
    )


def place_of(
    crash: Crash, seen: Recording, name: str, unreduced: list[tuple[Source, ast.Call]]
) -> Place | None:
    """What made the loss: where that is a loss function itself, the one that was told not to
    reduce; otherwise the line that computed on."""
    frame = crash.own_frame
    if frame is None or not name.isidentifier():
        return None
    made = story_of_value(seen, crash, crash.frames.index(frame), name)
    if not made:
        return None
    if len(unreduced) == 1 and is_loss(made[0].name):
        source, node = unreduced[0]
        return Place(source.file, node.lineno, node.end_lineno)
    return made[0].place


def is_loss(name: str) -> bool:
    return name.endswith(("_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div"))


def backward_call(seen: Recording, crash: Crash) -> tuple[Source, ast.Call] | None:
    """The user's own `name.backward()`."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    call = source.expression_at(frame.span) if source and frame and frame.span else None
    if source is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    return (source, call) if call.func.attr == "backward" and not call.args else None


def called_on(found: tuple[Source, ast.Call] | None) -> str:
    if found is None or not isinstance(found[1].func, ast.Attribute):
        return "loss"
    return found[0].segment(found[1].func.value)


def unreduced_in(seen: Recording) -> Iterator[tuple[Source, ast.Call]]:
    """Calls with `reduction="none"`."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            given = source.argument(call, "reduction") if source else None
            if source and isinstance(given, ast.Constant) and given.value == "none":
                yield source, call


def facts(root: Root, crash: Crash, name: str, unreduced: bool) -> Iterator[Fact]:
    yield Fact(code(name), f"{shape_of(root.shape)}, {root.dtype}")
    if unreduced:
        yield Fact("reduction", '`reduction="none"`: one loss for each element')
    if crash.own_frame:
        yield Fact("`backward` was called at", str(crash.own_frame.place))


def fixes(found: tuple[Source, ast.Call] | None, name: str) -> Iterator[Fix]:
    way = told_by_the_rest(found, name)
    if found is not None and way and isinstance(found[1].func, ast.Attribute):
        yield Fix(
            f"Call `backward` on {code(f'{name}.{way}()')}, as the other lines reduce it.",
            appended(found[0], found[1].func.value, f".{way}()"),
            GradientsStay(),
        )
        return
    yield Fix(
        f"If a batch shall count by its mean, as is usual: {code(f'{name}.mean().backward()')}.",
        why_not_tried=ONLY_YOU,
    )
    yield Fix(
        f"If every element shall count in full: {code(f'{name}.sum().backward()')}; the step then"
        " grows with the batch.",
        why_not_tried=ONLY_YOU,
    )


def told_by_the_rest(found: tuple[Source, ast.Call] | None, name: str) -> str:
    """`mean` or `sum`, where the function takes the one of this very name, and never the other."""
    if found is None:
        return ""
    source, call = found
    ways = {
        node.attr
        for node in ast.walk(source.scope_of(call))
        if isinstance(node, ast.Attribute)
        and node.attr in ("mean", "sum")
        and ast.unparse(node.value) == name
    }
    return ways.pop() if len(ways) == 1 else ""


@RULE.on(Script)
def loss_in_the_source_is_not_reduced(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.BackwardOfNonScalar):
        owner = one.node.func.value if isinstance(one.node.func, ast.Attribute) else one.node
        name = source.segment(owner)
        node = one.tensor.unreduced or one.node
        told_shape = "" if one.tensor.shape.more else f", which is {one.tensor.shape}"
        yield RULE.finding(
            wording.place_of(source, node),
            f"`backward` is called on {code(name)}{told_shape}: one loss for each element, and a"
            " gradient is that of a single number.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="Nothing has reduced the loss to one number: neither `mean` nor `sum` was taken.",
            fixes=(
                Fix(
                    f"Reduce it: {code(f'{name}.mean().backward()')}.",
                    appended(source, owner, ".mean()"),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
