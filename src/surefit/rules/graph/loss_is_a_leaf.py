"""The loss was made a leaf by `requires_grad_()`, so that `backward` runs and reaches no parameter.

## What happens
A loss that was computed without a graph makes `backward` fail: "element 0 of tensors does not
require grad". `loss.requires_grad_(True)`, or a new tensor with `requires_grad=True`, makes the
error go away: the loss is a leaf then, the backward pass begins and ends at it, and no parameter
gets a gradient.

## Why it matters
Nothing fails, the optimizer steps, and the loss is the same after every epoch, but for the order of
the batches.

## What to do
Take `requires_grad_` out and keep the graph: compute the loss from the model's own output, without
`no_grad`, `detach`, `item` or NumPy on the way.

## How it is recognised
At every step that was looked at, the last backward pass began at a tensor that no operation had
made, and no tensor of the optimizer had a gradient. A second run finds where the graph was lost. A
leaf that comes now and then, as for a batch without targets, is not reported.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.graph_stories import GraphStory, LostGraph
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import LeafLoss
from surefit.laws.runs import law_holds
from surefit.laws.training.grad_switches import Switch, switch_of
from surefit.laws.training.lost_graphs import expression_of, what_cut
from surefit.remedies.change import Change
from surefit.remedies.keep_the_graph import KeepTheGraph, how_it_cuts
from surefit.source.edits import both, removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule("SF641", "loss-is-a-leaf", Severity.ERROR, __doc__)

WHY = (
    "A gradient flows along recorded operations only. A loss that is a leaf has none behind it:"
    " `backward` gives the loss itself a gradient and stops."
)


@RULE.on(LeafLoss)
def backward_reaches_no_parameter(broken: LeafLoss, case: Case) -> Finding:
    story = case.ask(GraphStory, step=broken.held.first_step)
    lost = story.lost if story is not None else None
    leaf = leaf_maker(case.source(broken.use.place), broken.use.place)
    off = [cut for cut in lost.cuts if not cut.enabled][:1] if lost else []
    switch = switch_of(case.recording, off[0].stack) if off else None
    if lost is not None and switch is not None and lost.cuts[0] is off[0]:
        return gradients_were_off(broken, case, switch, leaf)
    return it_was_cut(broken, case, lost, leaf)


def gradients_were_off(
    broken: LeafLoss, case: Case, switch: Switch, leaf: ast.stmt | None
) -> Finding:
    edit = switch.taken_out()
    remedy: Remedy | Fix = Fix(switch.advice, choice=True)
    if edit is not None:
        to = without_leaf(case, broken, edit, leaf)
        remedy = Change(to=to, words=switch.advice, must=law_holds(broken))
    return case.finding(
        Place(switch.source.file, switch.node.lineno),
        f"{headline(broken, leaf)}: it was computed with gradients switched off by"
        f" {code(switch.text)}, so that it has no graph.",
        facts=facts(broken, case, leaf),
        why=WHY,
        remedies=(remedy,),
    )


def it_was_cut(
    broken: LeafLoss, case: Case, lost: LostGraph | None, leaf: ast.stmt | None
) -> Finding:
    cut = what_cut(lost) if lost else None
    written = expression_of(case, cut) if cut else None
    place, why = broken.use.place, ""
    if leaf is not None:
        place = Place(place.file, leaf.lineno, leaf.end_lineno)
    remedies: list[Remedy | Fix] = []
    if lost is not None and cut is not None and written is not None:
        place, why = written.place, f": {code(written.text)} {how_it_cuts(cut)}"
        remedies = list(KeepTheGraph(case, law_holds(broken)).ways(written, cut, lost))
    elif lost is not None and lost.frozen and not lost.cuts:
        why = ": every parameter on the way to it is frozen"
    advice = "Take out what makes the loss a leaf, and compute it from the model's own output."
    return case.finding(
        place,
        f"{headline(broken, leaf)}{why}.",
        facts=facts(broken, case, leaf),
        why=WHY,
        remedies=remedies or [Fix(advice, choice=True)],
    )


def headline(broken: LeafLoss, leaf: ast.stmt | None) -> str:
    how = " (`requires_grad`)" if leaf is not None else ""
    return f"The loss is a leaf{how}, and `backward` reaches no parameter of {broken.name}"


def facts(broken: LeafLoss, case: Case, leaf: ast.stmt | None) -> Iterator[Fact]:
    held = broken.held
    yield Fact(
        "gradients", f"None in all {held.tensors:,} tensors, at each of {held.empty:,} steps"
    )
    source = case.source(broken.use.place)
    if leaf is not None and source is not None:
        yield Fact(
            "made a leaf at", f"{Place(source.file, leaf.lineno)}  {source.segment(leaf).strip()}"
        )
    yield Fact("`backward` is called at", str(broken.use.place))


def leaf_maker(source: Source | None, at: Place) -> ast.stmt | None:
    """The statement near `backward` that makes its tensor require grad."""
    statement = source.statement_at(at.line) if source and at.line else None
    if source is None or statement is None:
        return None
    scope = source.scope_of(statement)
    near = [node for node in ast.walk(scope) if makes_a_leaf(node)]
    statements = [source.statement_of(node) for node in near]
    before = [found for found in statements if found.lineno <= statement.lineno]
    return max(before, key=lambda found: found.lineno, default=None)


def makes_a_leaf(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[ast.Constant(value=True)]):
            return True
        case ast.Assign(
            targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=True)
        ):
            return True
        case ast.Call():
            return called(node) in ("tensor", "Variable", "as_tensor", "Parameter") and any(
                keyword.arg == "requires_grad" for keyword in node.keywords
            )
    return False


def without_leaf(case: Case, broken: LeafLoss, edit: Edit, leaf: ast.stmt | None) -> Edit:
    """Less the line that does nothing but to make the loss a leaf."""
    source = case.source(broken.use.place)
    if source is None or leaf is None or source.file != edit.file or shares_lines(source, leaf):
        return edit
    alone = isinstance(leaf, ast.Assign) or (
        isinstance(leaf, ast.Expr)
        and isinstance(leaf.value, ast.Call)
        and called(leaf.value) == "requires_grad_"
    )
    attribute = not isinstance(leaf, ast.Assign) or isinstance(leaf.targets[0], ast.Attribute)
    return both(edit, removed(source, leaf)) if alone and attribute else edit
