"""The state that was kept as the best is not a copy, so training goes on changing it.

## What happens
`model.state_dict()` returns references to the live tensors of the model. Kept in a variable, they
keep changing with every optimizer step; `dict(...)`, `copy.copy(...)`, `.detach()` and, on a CPU,
`.cpu()` share the same memory. `best_model = model` keeps nothing at all.

## Why it matters
`load_state_dict(best)` copies the newest weights onto themselves. Early stopping reports the best
loss, and the model that is returned is the last one, often the most overfitted.

## What to do
Copy it when it is kept: `copy.deepcopy(model.state_dict())`, or
`{name: tensor.clone() for name, tensor in model.state_dict().items()}`. Or save it to a file.

## How it is recognised
Tensors of the state dict lie at the same address as those of the model, and were written to between
`state_dict()` and the load or the save. Where neither is seen: a variable that is called the best
and set where a metric improves holds the very tensors that the optimizer goes on training.
"""

import ast

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import assigned
from surefit.laws.invariants.saving import LiveStateUsed
from surefit.laws.runs import law_holds
from surefit.remedies.methods import RenameMethod
from surefit.remedies.wrap import Wrap
from surefit.source.reading import Source, called

RULE = Rule("SF961", "state-dict-not-copied", Severity.ERROR, __doc__)

WORDS = (
    "Keep a copy: `copy.deepcopy(...)`, or `{name: tensor.clone() for name, tensor in"
    " model.state_dict().items()}`."
)


@RULE.on(LiveStateUsed)
def the_state_that_was_kept_is_live(broken: LiveStateUsed, case: Case) -> Finding | None:
    kept = what_is_kept(broken, case)
    must = law_holds(broken, changes_the_past=False)
    shallow = kept is not None and isinstance(case.node(kept), ast.Call) and is_shallow(kept, case)
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why="`state_dict()` returns references to the tensors of the model, which keep changing as"
        " it is trained. Only a copy stays as it was."
        if broken.live.how != "kept"
        else "An assignment copies nothing: both names are the same tensors, which keep changing as"
        " the model is trained.",
        remedies=(
            RenameMethod(at=kept, to="deepcopy", words=WORDS, must=must)
            if shallow
            else Wrap(
                at=kept,
                before="copy.deepcopy(",
                after=")",
                imports="copy",
                words=WORDS,
                must=must,
                alike=False,
            ),
        ),
    )


def what_is_kept(broken: LiveStateUsed, case: Case) -> Expression | None:
    """The call of `state_dict`, or what a name is set to."""
    place = broken.use.place
    source = case.source(place)
    if source is None or place.line is None:
        return None
    calls = [call for call in source.calls_in(place.line) if called(call) == "state_dict"]
    values: list[ast.expr] = [*calls] or values_at(source, place.line)
    return case.expression(source, values[0]) if len(values) == 1 else None


def values_at(source: Source, line: int) -> list[ast.expr]:
    return [value for _, value in assigned(source) if value.lineno == line and is_state(value)]


def is_state(value: ast.expr) -> bool:
    return isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.DictComp | ast.ListComp)


def is_shallow(kept: Expression, case: Case) -> bool:
    """`copy.copy(model)`."""
    match case.node(kept):
        case ast.Call(func=ast.Attribute(value=ast.Name(id="copy"), attr="copy")):
            return True
    return False
