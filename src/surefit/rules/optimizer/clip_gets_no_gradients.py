"""Clipping is given no gradients: an iterator that is used up, or an empty list.

## What happens
`filter(...)`, `(p for p in ...)` and `model.parameters()` are iterators: they give each parameter
once. Where the optimizer, or the first clip, has gone through one, it is exhausted, and the next
`clip_grad_norm_` gets no parameter at all. It raises nothing and returns a norm of 0.

## Why it matters
The script says that gradients are clipped, and every step uses them as they came. One bad batch
throws the weights far away.

## What to do
Keep the parameters in a list: `params = [p for p in model.parameters() if p.requires_grad]`, or
write `model.parameters()` in the call itself.

## How it is recognised
Clips with a bound that can be met come between `backward` and the step, and are given an iterator
that has ended, three times or more; or nearly all clips of the run are given a list in which no
tensor has a gradient.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.runs import law_holds
from surefit.laws.training.gradient_violations import ClippedNothing
from surefit.laws.training.step_calls import CLIPS, call_at
from surefit.remedies.change import Change
from surefit.source.edits import replaced, wrapped
from surefit.source.origins import origin
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule("SF679", "clip-gets-no-gradients", Severity.ERROR, __doc__)


@RULE.on(ClippedNothing)
def clipping_gets_nothing(broken: ClippedNothing, case: Case) -> Finding:
    clip = call_at(case, broken.use.place, *CLIPS)
    given = clip.source.argument(clip.call, "parameters", 0) if clip else None
    place, name = broken.use.place, ""
    words = "Clip the parameters that the optimizer holds."
    remedies: list[Change | Fix] = [Fix(words)]
    if clip and given is not None:
        name = f" `{clip.source.segment(given)}`"
        created = origin(clip.source, given)
        if broken.spent and created is not given and gives_once(created):
            place = Place(clip.source.file, created.lineno, created.end_lineno)
            words = "Keep the parameters in a list, which can be gone through again and again."
            edit = as_list(clip.source, created)
            remedies = [Change(to=edit, words=words, must=law_holds(broken))]
    if broken.spent:
        said = f"is given an exhausted iterator{name}, and clips nothing"
        why = "An iterator gives each parameter once. Something has gone through it before, such as"
        why = f"{why} the optimizer; for the clip nothing is left."
    else:
        said = f"is given no parameter with a gradient{name}, and clips nothing"
        why = "A clip changes the gradients of the tensors that it is given, and no others."
    return case.finding(
        place,
        f"Clipping to {broken.clip.bound:g} {said}: every step uses its gradients as they came.",
        facts=broken.facts,
        why=why,
        remedies=remedies,
    )


def gives_once(node: ast.expr) -> bool:
    return isinstance(node, ast.GeneratorExp | ast.Call)


def as_list(source: Source, node: ast.expr) -> Edit:
    """`[p for p in ...]` for a generator in brackets of its own; `list(...)` around a call."""
    text = source.segment(node)
    if isinstance(node, ast.GeneratorExp) and text.startswith("("):
        return replaced(source, node, f"[{text[1:-1]}]")
    return wrapped(source, node, "list(", ")")
