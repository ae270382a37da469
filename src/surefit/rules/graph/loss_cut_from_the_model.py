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
from surefit.doctor.violations import Expression, fact_at
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
    if not lost.cuts and not case.read:
        reading = number_reading(case.lineage(broken.loss))
        if reading is not None and reading.place != written.place:
            return number_was_read(broken, case, reading, written)
    number = (Fact("the loss", "has the very number that was read there"),)
    return case.finding(
        written.place,
        f"{code(written.text)} {how(cut)}: the loss has no way back to the model.",
        facts=(
            *(number if cut.name in TO_NUMBERS else ()),
            Fact("`backward` was called at", str(broken.use.place)),
        ),
        why=WHY,
        remedies=remedies(case, written, cut, lost),
    )


def number_was_read(broken: NoGraph, case: Case, reading: Producer, copied: Expression) -> Finding:
    """`total += loss.item()`, and later `torch.tensor(total)`."""
    source, node = case.source(reading.place), case.node(reading)
    call = case.node(copied)
    same = source is not None and reading.place.file == copied.place.file
    edit = None
    if same and isinstance(node, ast.Call) and isinstance(call, ast.Call) and source is not None:
        inner = inner_of(call, COPYING[0])
        if called(node) == "item" and inner is not None:
            tensor = replaced(source, node, source.segment(node.func).removesuffix(".item"))
            edit = both(tensor, replaced(source, call, source.segment(inner)))
    words = "Add up the tensors themselves, and read their number for the log alone."
    return case.finding(
        reading.place,
        f"{code(reading.text)} gives a plain number of a tensor that had a graph, and the loss is"
        " computed from such numbers: it has no way back to the model.",
        facts=(
            *fact_at("a new tensor of it", copied),
            Fact("`backward` was called at", str(broken.use.place)),
        ),
        why=WHY,
        remedies=(
            Change(to=edit, words=words, must=GradientsStay()) if edit else Fix(words, choice=True),
        ),
    )


def how(cut: Cut) -> str:
    if cut.name in TO_NUMBERS:
        return "gives a plain number of a tensor that had a graph"
    if cut.name in (*COPYING, *FROM_NUMBERS):
        return "creates a new tensor from plain values, without a graph"
    if cut.name in DETACHING:
        return "gives the value without its graph"
    return "gives choices, which have no gradient"


def remedies(
    case: Case, written: Expression, cut: Cut, lost: LostGraph
) -> Iterator[Remedy | Fix | None]:
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
    elif cut.name in (*TO_NUMBERS, *COPYING, *FROM_NUMBERS):
        words = "Call `backward` on the tensor itself, and read its number for the log alone"
        yield tensor_itself(case, source, node, words) or Fix(f"{words}.", choice=True)
    else:
        yield Fix(
            "Compute the loss from the logits (`cross_entropy`, `binary_cross_entropy_with_logits`)"
            " and keep this for the metric.",
            choice=True,
        )


def tensor_itself(case: Case, source: Source, node: ast.expr, words: str) -> Remedy | None:
    """`loss` for `loss.item()`, and for `torch.tensor(loss.item())`."""
    if not isinstance(node, ast.Call) or called(node) != "item":
        return None
    outer, text = source.parents.get(node), source.segment(node.func).removesuffix(".item")
    copied = isinstance(outer, ast.Call) and called(outer) in COPYING and outer.args == [node]
    at = case.expression(source, outer if copied and isinstance(outer, ast.Call) else node)
    return ReplaceWith(at=at, text=text, words=f"{words}: {code(text)}.", must=GradientsStay())


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
    appends = (
        call.func.value
        for call in source.every(ast.Call)
        if called(call) == "append" and isinstance(call.func, ast.Attribute)
    )
    filled = any(ast.unparse(owner) == ast.unparse(node) for owner in appends)
    return filled or isinstance(source.value_of(node), ast.List | ast.ListComp)
