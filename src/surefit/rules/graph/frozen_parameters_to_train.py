"""Every parameter on the way to the loss is frozen, those that the optimizer holds among them.

## What happens
`requires_grad = False` was set on more than was meant: on the whole model after its new head was
put in, or on the adapters as well. No parameter requires grad, so no operation records a graph, and
`backward` says "element 0 of tensors does not require grad".

## Why it matters
Where one forgotten parameter stays trainable, nothing fails, and that one alone is trained.

## What to do
Unfreeze what should be trained, after the line that freezes: `model.head.requires_grad_(True)`; or
freeze first, and create the new head afterwards.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds that nothing on the way to it
ever had one, that parameters were used on the way, and that the optimizer holds parameters of which
none requires grad.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NoGraph
from surefit.laws.layers.freezing import Freezing, freezing_call, freezing_in, optimized_modules
from surefit.remedies.change import Change
from surefit.source.edits import both, inserted_before, removed
from surefit.source.line_edits import shares_lines

SYMPTOM = Symptom(
    r"element 0 of tensors does not require grad",
    "whether any parameter that the optimizer holds requires grad",
)
RULE = Rule("SF627", "frozen-parameters-to-train", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoGraph)
def no_parameter_requires_grad(broken: NoGraph, case: Case) -> Finding | None:
    lost = broken.story.lost
    count, trainable = broken.story.held
    if lost is None or lost.cuts or not lost.frozen or lost.numbers or trainable:
        return None
    if not count and not case.read:
        return None
    held = "parameters on the way to the loss"
    if count:
        held = f"{counted(count, 'parameter')} that the optimizer holds"
    places = list(freezing_in(case.recording))
    steps = case.crash.steps if case.crash is not None else 0
    chosen = places[0] if len(places) == 1 else None
    if chosen is not None and not steps:
        chosen = freezing_call(case.recording, chosen)
    uses, none = f"{lost.frozen} uses of frozen parameters", Fact("trainable on the way", "none")
    lines = ", ".join(f"{freezing.place.file}:{freezing.place.line}" for freezing in places)
    return case.finding(
        (chosen or broken.loss.birth or broken.use).place,
        f"All {held} are frozen: none requires grad, so that the loss has no graph.",
        facts=(
            *((Fact("on the way to the loss", uses), none) if not case.read else ()),
            *fact_at("`backward` is called at", broken.use if case.read else None),
            *((Fact("frozen at", lines),) if len(places) > 1 else ()),
        ),
        why="Operations on tensors that do not require grad record nothing."
        " `loss.requires_grad_(True)` would silence the error and train nothing.",
        remedies=remedies(case, places, steps),
    )


def remedies(case: Case, places: Sequence[Freezing], steps: int) -> Iterator[Remedy | Fix]:
    if steps and len(places) == 1:
        yield unfrozen_later(places[0], steps)
        return
    modules = list(optimized_modules(case.recording))
    if len(modules) == 1:
        source, statement, module = modules[0]
        line = f"{module}.requires_grad_(True)"
        yield Change(
            to=inserted_before(source, statement, line),
            words=f"The optimizer was given {code(module)}: unfreeze it, {code(line)}.",
            must=GradientsStay(),
        )
    for freezing in places if len(places) == 1 and not modules else ():
        words = "Train everything: take the line out that freezes."
        yield Change(to=freezing.without, words=words, must=GradientsStay(), choice=True)
    yield Fix(
        "Freeze only what must stay frozen, or unfreeze, after this, what should be trained:"
        " `requires_grad_(True)` on the new head.",
        choice=True,
    )


def unfrozen_later(freezing: Freezing, steps: int) -> Remedy | Fix:
    """They were trained before: some function, of evaluation mostly, has frozen them since."""
    source, node = freezing.source, freezing.statement
    function = source.scope_of(node)
    trained = f"They were trained for {counted(steps, 'step')}"
    if not isinstance(function, ast.FunctionDef) or shares_lines(source, node):
        return Fix(f"{trained}: take this line out, or unfreeze after it.", choice=True)
    return Change(
        to=both(removed(source, node), inserted_before(source, function, "@torch.no_grad()")),
        words=f"{trained}, and `{function.name}` has frozen them since: let it record nothing while"
        " it runs, by `@torch.no_grad()`.",
        must=GradientsStay(),
    )
