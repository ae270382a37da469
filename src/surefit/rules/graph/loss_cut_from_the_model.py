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

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.graph_stories import COPYING, TO_NUMBERS
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NoGraph
from surefit.laws.training.lost_graphs import expression_of, number_reading, what_cut
from surefit.lineage.producers import Producer
from surefit.remedies.change import Change
from surefit.remedies.keep_the_graph import NUMBER, KeepTheGraph, how_it_cuts, inner_of
from surefit.source.edits import both, replaced
from surefit.source.reading import called

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
    at: Written = written
    facts: tuple[Fact, ...] = (Fact("`backward` was called at", str(broken.use.place)),)
    remedies: list[Remedy | Fix] = list(
        KeepTheGraph(case, GradientsStay()).ways(written, cut, lost)
    )
    reading = number_reading(case.lineage(broken.loss)) if not (lost.cuts or case.read) else None
    if reading is not None and reading.place != written.place:
        at, facts = reading, (*fact_at("a new tensor of it", written), *facts)
        remedies = [tensors_added(case, reading, written)]
    elif cut.name in TO_NUMBERS:
        facts = (Fact("the loss", "has the very number that was read there"), *facts)
    how = NUMBER if at is reading else how_it_cuts(cut)
    return case.finding(
        at.place,
        f"{code(at.text)} {how}: the loss has no way back to the model.",
        facts=facts,
        why=WHY,
        remedies=remedies,
    )


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
