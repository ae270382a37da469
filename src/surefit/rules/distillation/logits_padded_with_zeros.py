"""Logits are filled up with zeros to a greater width, and columns without a token get mass.

## What happens
Models of one family can have tables of different widths. To make the shapes fit, the narrower
logits are filled up with zeros before the softmax. A logit of zero is no probability of zero: each
added column gets `exp(0)`, as much as any token with a logit of 0.

## Why it matters
Nothing is reported. Where logits lie near -60, as those of GPT-2 do, nearly all of the mass lands
on the added columns: measured with 5,000 tokens and 50 columns more, a divergence of 0.006 becomes
54. Where they lie near 0, 0.0064 becomes 0.0090, and its gradient pushes the real tokens up.

## What to do
Cut the wider logits to the tokens that both have, before the softmax:
`teacher_logits[..., :student_logits.shape[-1]]`. That is right where both use one tokenizer and the
additional columns are padding.

## How it is recognised
In a divergence the last columns are one number in every row, as many as the loss is wider than what
one of the two models gave, and they hold a part of the mass. A fill of minus infinity, or zeros put
after a softmax, hold none and are not reported.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.padded_logits import LEAST_SHARE, NoMassOnPadding, divergences
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import LossCall, RootSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.losses.loss_sources import call_at
from surefit.remedies.without_filling import cut, filled_at
from surefit.source.reading import Source, dotted

RULE = Rule("SF959", "logits-padded-with-zeros", Severity.ERROR, __doc__)


@RULE.on(Steps)
def mass_lands_on_added_columns(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    for loss in divergences(steps.loss_calls):
        width = loss.shape[-1] if loss.shape else 0
        wide = next((one for one in steps.roots if one.width == width), None)
        sides = (loss.tail, loss.tail_share), (loss.target_tail, loss.target_tail_share)
        for columns, share in sides if loss.place is not None and wide is not None else ():
            narrow = next((one for one in steps.roots if one.width == width - columns), None)
            if columns and share >= LEAST_SHARE and narrow is not None and wide is not None:
                yield found(loss, (narrow, wide), columns, share, steps, seen)
                break


def found(
    loss: LossCall,
    models: tuple[RootSeen, RootSeen],
    columns: int,
    share: float,
    steps: Steps,
    seen: Recording,
) -> Finding:
    assert loss.place is not None
    source = seen.source(loss.place)
    narrow, wide = (run_at(source, one) for one in models)
    pad = filled_at(source, loss.place, narrow) if source else None
    place = Place(source.file, pad.lineno, pad.end_lineno) if source and pad else loss.place
    names = [name_of(narrow, models[0]), name_of(wide, models[1])]
    widths = [one.width or 0 for one in models]
    return RULE.finding(
        place,
        f"{share:.1%} of the mass that the divergence gives {names[0]} lies on"
        f" {counted(columns, 'column')} that {names[0]} does not have.",
        facts=(
            Fact(names[0], f"gives {counted(widths[0], 'logit')} for each position"),
            Fact(names[1], f"gives {counted(widths[1], 'logit')}"),
            Fact(
                "the divergence",
                f"{shape_of(loss.shape)} at line {loss.place.line}: in every row looked at the last"
                f" {columns:,} are one number",
            ),
            Fact("calls", f"{loss.calls:,} in {counted(steps.steps, 'step')}"),
        ),
        why="A logit of 0 is not a probability of 0: each added column gets exp(0), and the softmax"
        " takes that from the tokens there are.",
        fixes=(fix(source, widths[0], pad, wide, steps),),
    )


def run_at(source: Source | None, root: RootSeen) -> ast.Call | None:
    """The user's call that runs a model."""
    calls = [call_at(source, site) for site in root.sites] if source else []
    return next((call for call in calls if call is not None), None)


def name_of(call: ast.Call | None, root: RootSeen) -> str:
    return code(dotted(call.func)) if call is not None and dotted(call.func) else f"`{root.kind}`"


def fix(
    source: Source | None, width: int, pad: ast.Call | None, wide: ast.Call | None, steps: Steps
) -> Fix:
    text = (
        f"Cut the wider logits to the {width:,} columns that both have, `[..., :{width}]`, before"
        " the softmax, and fill nothing up; right where both use one tokenizer."
    )
    differing = max((one.differing for one in steps.vocabularies), default=0)
    if differing:
        why = f"two tokenizers have different tokens under {counted(differing, 'id')}"
        return Fix(text, why_not_tried=why)
    edit = cut(source, pad, wide, width) if source and pad and wide else None
    if edit is None:
        return Fix(text, why_not_tried="which line fills up was not found for certain")
    return Fix(text, edit, NoMassOnPadding(width))
