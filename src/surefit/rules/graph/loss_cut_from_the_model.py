"""A loss was computed from values that were cut from the model's graph.

## What happens
`.detach()`, `.data`, `.item()`, `.numpy()` and `torch.tensor(loss)` give the value without its
graph; `argmax` and comparisons give choices, which have no gradient. A loss computed from these has
no way back to the model: "element 0 of tensors does not require grad and does not have a grad_fn".

## Why it matters
`loss.requires_grad_(True)` silences the error, and the optimizer trains nothing, run after run.

## What to do
Compute the loss from the model's own output. Where several losses are joined, `torch.stack(losses)`
and `+` keep their graphs, `torch.tensor(losses)` does not. A metric of choices (accuracy, F1) is no
loss: train on the logits.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds the operation nearest to the
loss that took something with a graph and gave something without, while graphs were being recorded;
or the line at which the loss's own number was read from a tensor that had one.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NoGraph
from surefit.laws.graph_stories import COPYING, DETACHING, FROM_NUMBERS, TO_NUMBERS, Cut, LostGraph
from surefit.laws.lost_graphs import expression_of, number_reading, what_cut
from surefit.lineage.producers import Producer
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.source.edits import both, replaced
from surefit.source.reading import Source, called

SYMPTOM = Symptom(
    r"element 0 of tensors does not require grad",
    "whether `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `argmax` stands"
    " between the model and the loss",
)
RULE = Rule("SF626", "loss-cut-from-the-model", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

NUMBER = "gives a plain number of a tensor that had a graph"
ITSELF = "Call `backward` on the tensor itself, and read its number for the log alone"
WHY = (
    "A gradient flows along recorded operations only. `loss.requires_grad_(True)` would silence the"
    " error and train nothing."
)


@RULE.on(NoGraph)
def loss_has_no_way_back(broken: NoGraph, case: Case) -> Finding | None:
    lost = broken.story.lost
    cut = what_cut(lost) if lost else None
    written = broken.loss.birth or expression_of(case, cut) if cut else None
    if lost is None or cut is None or written is None:
        return None
    at: Written = written
    facts: tuple[Fact, ...] = (Fact("`backward` was called at", str(broken.use.place)),)
    remedies: list[Remedy | Fix] = list(ways(case, written, cut, lost))
    reading = number_reading(case.lineage(broken.loss)) if not (lost.cuts or case.read) else None
    if reading is not None and reading.place != written.place:
        at, facts = reading, (*fact_at("a new tensor of it", written), *facts)
        remedies = [tensors_added(case, reading, written)]
    elif cut.name in TO_NUMBERS:
        facts = (Fact("the loss", "has the very number that was read there"), *facts)
    return case.finding(
        at.place,
        f"{code(at.text)} {NUMBER if at is reading else how(cut)}: the loss has no way back to the"
        " model.",
        facts=facts,
        why=WHY,
        remedies=remedies,
    )


def how(cut: Cut) -> str:
    if cut.name in TO_NUMBERS:
        return NUMBER
    if cut.name in (*COPYING, *FROM_NUMBERS):
        return "creates a new tensor from plain values, without a graph"
    if cut.name in DETACHING:
        return "gives the value without its graph"
    return "gives choices, which have no gradient"


def tensors_added(case: Case, reading: Producer, copied: Expression) -> Remedy | Fix:
    """`total += loss.item()`, and later `torch.tensor(total)`."""
    words = "Add up the tensors themselves, and read their number for the log alone."
    source, node, call = case.source(reading.place), case.node(reading), case.node(copied)
    inner = inner_of(call, COPYING[0]) if isinstance(call, ast.Call) else None
    reads = isinstance(node, ast.Call) and called(node) == "item"
    if source is None or reading.place.file != copied.place.file or not (inner and reads):
        return Fix(words, choice=True)
    assert node is not None
    assert call is not None
    tensor = replaced(source, node, source.segment(node).removesuffix(".item()"))
    edit = both(tensor, replaced(source, call, source.segment(inner)))
    return Change(to=edit, words=words, must=GradientsStay())


def ways(case: Case, written: Expression, cut: Cut, lost: LostGraph) -> Iterator[Remedy | Fix]:
    source, node = case.source(written.place), case.node(written)
    if source is None or node is None:
        return
    inner = inner_of(node, cut.name)
    if inner is not None and (cut.name in DETACHING or (cut.name in COPYING and lost.cuts)):
        text = source.segment(inner).removesuffix(".item()")
        if cut.name in COPYING and is_list(source, inner):
            text = f"torch.stack({text})"
        words = f"Keep the graph: {code(text)} in its place."
        yield ReplaceWith(at=written, text=text, words=words, must=GradientsStay())
    elif cut.name not in (*TO_NUMBERS, *COPYING, *FROM_NUMBERS):
        yield Fix(
            "Compute the loss from the logits (`cross_entropy`, `binary_cross_entropy_with_logits`)"
            " and keep this for the metric.",
            choice=True,
        )
    elif isinstance(node, ast.Call) and called(node) == "item":
        text, outer = source.segment(node).removesuffix(".item()"), source.parents.get(node)
        if isinstance(outer, ast.Call) and called(outer) in COPYING and outer.args == [node]:
            written = case.expression(source, outer)
        words = f"{ITSELF}: {code(text)}."
        yield ReplaceWith(at=written, text=text, words=words, must=GradientsStay())
    else:
        yield Fix(f"{ITSELF}.", choice=True)


def inner_of(node: ast.expr, name: str) -> ast.expr | None:
    """`logits` of `logits.detach()`, `losses` of `torch.tensor(losses)`."""
    if isinstance(node, ast.Attribute):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if name in DETACHING:
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    plain = all(keyword.arg == "requires_grad" for keyword in node.keywords)
    return node.args[0] if plain and len(node.args) == 1 else None


def is_list(source: Source, node: ast.expr) -> bool:
    """A display, or filled by `losses.append(...)`."""
    append = f"{ast.unparse(node)}.append"
    filled = any(ast.unparse(call.func) == append for call in source.every(ast.Call))
    return filled or isinstance(source.value_of(node), ast.List | ast.ListComp)
