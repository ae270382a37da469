"""A loss was computed from values that were cut from the model's graph.

## What happens
`.detach()`, `.data`, `.item()`, `.numpy()` and `torch.tensor(loss)` give the value without its
graph; `argmax` and comparisons give choices, which have no gradient. A loss made from these has no
way back to the model: "element 0 of tensors does not require grad and does not have a grad_fn".

## Why it matters
`loss.requires_grad_(True)` silences the error, and the optimizer trains nothing, run after run.

## What to do
Compute the loss from the model's own output. Where several losses are joined, `torch.stack(losses)`
and `+` keep their graphs, `torch.tensor(losses)` does not. A metric made of choices (accuracy, F1)
is no loss: train on the logits.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds the operation nearest to the
loss that took something with a graph and gave something without, while graphs were being recorded;
or the line at which the loss's own number was read from a tensor that had one.

In a script that is only read: `backward` is called on a value that was surely cut from its graph on
the way, by `.detach()`, `.data`, `.item()`, `torch.tensor(...)`, `argmax` or a comparison, in
whichever function.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.evidence.graph_stories import Cut, LostGraph, story_of_lost_graph
from surefit.interpreter import violations, wording
from surefit.source.edits import replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF626",
    "loss-cut-from-the-model",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"element 0 of tensors does not require grad",
            "whether `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `argmax` stands"
            " between the model and the loss",
        ),
    ),
)

DETACHING = ("detach", "data", "detach_")
COPYING = ("tensor", "as_tensor", "asarray")
TO_NUMBERS = ("item", "tolist", "numpy", "__float__", "__array__")
FROM_NUMBERS = ("from_numpy", "full", "scalar_tensor")
FEW = 4
"""Operations between a number and a loss that is nothing but that number."""
WRITTEN = {"__float__": "float", "__array__": "numpy"}


@dataclass(frozen=True, slots=True)
class Where:
    """The operation in the user's source."""

    source: Source
    node: ast.expr
    written: str


@RULE.on(Crash)
def loss_has_no_way_back(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_lost_graph(seen, crash) if is_cause(crash, seen) else None
    cut = what_cut(story.lost) if story and story.lost else None
    where = found_in_source(seen, cut) if cut else None
    if story is None or story.lost is None or cut is None or where is None:
        return
    node = where.node
    yield RULE.finding(
        Place(where.source.file, node.lineno, node.end_lineno),
        f"{code(where.written)} {how(cut)}: the loss has no way back to the model.",
        facts=tuple(facts(crash, cut)),
        why="A gradient flows along recorded operations only. `loss.requires_grad_(True)` would"
        " silence the error and train nothing.",
        fixes=tuple(fixes(where, cut, fresh=not story.lost.cuts)),
        python_said=crash.said,
        about=crash.id,
    )


def what_cut(lost: LostGraph) -> Cut | None:
    """The nearest operation that lost a graph while graphs were recorded; if no tensor leads back
    to one, the line that read the loss's number out of one."""
    if lost.cuts:
        cut = lost.cuts[0]
        known = cut.name in (*DETACHING, *COPYING) or not cut.floating
        return cut if cut.enabled and known else None
    if lost.numbers and lost.fresh:
        return lost.numbers[-1]
    made = [one for one in lost.fresh if one.name in (*COPYING, *FROM_NUMBERS)]
    plain = len(made) == 1 and made[0].elements == 1 and lost.operations <= FEW
    return made[0] if plain and not lost.frozen else None


def how(cut: Cut) -> str:
    if cut.name in TO_NUMBERS:
        return "makes a plain number of a tensor that had a graph"
    if cut.name in (*COPYING, *FROM_NUMBERS):
        return "makes a new tensor from plain values, without a graph"
    if cut.name in DETACHING:
        return "gives the value without its graph"
    return "gives choices, which have no gradient"


def found_in_source(seen: Recording, cut: Cut) -> Where | None:
    """On the user's line that was being run; the one call or attribute of that name."""
    stood = cut.stack[-1] if cut.stack else None
    source = seen.source(stood.file) if stood else None
    statement = source.statement_at(stood.line) if source and stood else None
    if source is None or statement is None or hasattr(statement, "body"):
        return None
    name = WRITTEN.get(cut.name, cut.name)
    fits = [node for node in ast.walk(statement) if is_named(node, name)]
    if len(fits) == 1 and isinstance(fits[0], ast.expr):
        return Where(source, fits[0], source.segment(fits[0]))
    whole = getattr(statement, "value", None)
    if isinstance(whole, ast.expr) and not cut.floating:
        return Where(source, whole, source.segment(whole))
    return None


def is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call):
        return called(node) == name
    return isinstance(node, ast.Attribute) and node.attr == name == "data"


def facts(crash: Crash, cut: Cut) -> Iterator[Fact]:
    if cut.name in TO_NUMBERS:
        yield Fact("the loss", "has the very number that was read there")
    frame = crash.own_frame
    if frame is not None:
        yield Fact("`backward` was called at", str(frame.place))


def fixes(where: Where, cut: Cut, *, fresh: bool) -> Iterator[Fix]:
    """`fresh`: no tensor leads from the loss back to one with a graph."""
    source, node = where.source, where.node
    kept = inner(node, cut)
    if kept is not None and cut.name in DETACHING:
        yield Fix(
            f"Keep the graph: {code(source.segment(kept))} in its place.",
            replaced(source, node, source.segment(kept)),
            GradientsStay(),
        )
    elif kept is not None and cut.name in COPYING and not fresh:
        edit, text = joined(source, node, kept)
        yield Fix(f"Keep the graph: {code(text)} in its place.", edit, GradientsStay())
    elif cut.name in (*TO_NUMBERS, *COPYING, *FROM_NUMBERS):
        yield Fix(
            "Call `backward` on the tensor itself, and read its number for the log alone.",
            why_not_tried="which tensor the loss should be made of only you know",
        )
    else:
        yield Fix(
            "Compute the loss from the logits (`cross_entropy`, `binary_cross_entropy_with_logits`)"
            " and keep this for the metric.",
            why_not_tried="which loss is meant only you know",
        )


def inner(node: ast.expr, cut: Cut) -> ast.expr | None:
    """What stands inside: `logits` of `logits.detach()`, `losses` of `torch.tensor(losses)`."""
    if isinstance(node, ast.Attribute):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if cut.name in DETACHING:
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    plain = len(node.args) == 1 and all(one.arg == "requires_grad" for one in node.keywords)
    return node.args[0] if plain else None


def joined(source: Source, node: ast.expr, kept: ast.expr) -> tuple[Edit, str]:
    """A list of losses is stacked; a single one stands for itself."""
    text = source.segment(kept)
    several = isinstance(source.value_of(kept), ast.List | ast.ListComp) or is_filled(source, kept)
    new = f"torch.stack({text})" if several else text
    return replaced(source, node, new), new


def is_filled(source: Source, node: ast.expr) -> bool:
    """Some line puts things into it: `losses.append(...)`."""
    return any(
        called(call) == "append"
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == ast.unparse(node)
        for call in source.every(ast.Call)
    )


@RULE.on(Script)
def loss_in_the_source_has_no_way_back(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.BackwardWithoutGraph):
        cut = one.tensor.cut
        if cut is None or cut.how != "value":
            continue
        yield RULE.finding(
            wording.place_of(source, cut.node),
            f"{wording.text_of(source, cut.node)} gives a value without its graph: the loss"
            " has no way"
            " back"
            " to the model.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="A gradient flows along recorded operations only. `loss.requires_grad_(True)` would"
            " silence"
            " the error and train nothing.",
            fixes=(
                Fix(
                    "Compute the loss from what the model gave; of several losses, by"
                    " `torch.stack(losses)`. Take the plain value for printing alone.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
