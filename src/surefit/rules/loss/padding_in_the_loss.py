"""Positions of padding take part in the loss.

## What happens
Rows of a batch are filled up to one length. Their targets are filled up as well, with the padding
token or with class 0, and the loss counts these like any other: it has no `ignore_index`, or the
labels hold the padding token where a model of transformers takes -100.

## Why it matters
Nothing is raised. Padding is easy to predict: the loss looks better than it is, depends on how long
the longest row of a batch is, and a good part of each update goes into predicting padding.

## What to do
`nn.CrossEntropyLoss(ignore_index=pad_id)`, or labels of -100 at padding, which is what losses
ignore by default.

## How it is recognised
Padding is known from the attention mask, from the `padding_idx` of the embedding, or from the
tokenizer. At least one target in twenty that counts stands at such a position. A loss with
`reduction="none"` is not looked at: what of it counts, the script decides afterwards.
"""

import ast

from surefit.doctor.conditions.next_tokens import PaddingNotScored
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.built_targets import lineage_of_targets, place_of_targets
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.token_targets import PaddingScored
from surefit.lineage.producers import Producer
from surefit.remedies.change import Change
from surefit.source.edits import argument_added, replaced
from surefit.source.patches import Edit

RULE = Rule("SF426", "padding-in-the-loss", Severity.WARNING, __doc__)

LABELS = "labels"


@RULE.on(PaddingScored)
def padding_counts(broken: PaddingScored, case: Case) -> Finding:
    site = broken.site
    loss = loss_call_at(case, site.place, site.name)
    share = site.padded_scored / site.scored
    place = loss.place if loss is not None else broken.use.place
    target = site.padded_target
    change, words = edit(broken, case, loss), f"`ignore_index={target}`."
    if loss is None:
        words = "-100 as label there."
    if loss is None and change is None:
        lineage = lineage_of_targets(case, site.name, site.place)
        place = place_of_targets(lineage) or place
        change = masked(case, lineage.handed_over(), target) if target is not None else None
    return case.finding(
        place,
        f"Padding counts in the loss: {site.padded_scored:,} of {site.scored:,} targets"
        f" ({share:.0%}) of `{site.name}` are at positions of padding.",
        facts=(
            *broken.facts,
            *((Fact("targets there", str(target)),) if target is not None else ()),
        ),
        why="The loss ignores only targets that equal its `ignore_index`, which is -100 unless"
        " said otherwise.",
        remedies=(
            Change(
                to=change,
                words=f"Leave padding out: {words}",
                must=PaddingNotScored(),
            ),
        ),
    )


def masked(case: Case, built: Producer | None, target: int) -> Edit | None:
    """The labels of a row or a batch, with -100 in place of the number at padding."""
    node, source = case.node(built), case.source(built)
    if built is None or node is None or source is None:
        return None
    text = source.segment(node)
    if built.value.kind == "Tensor":
        return replaced(source, node, f"{text}.masked_fill({text} == {target}, -100)")
    each = f"-100 if token == {target} else token for token in"
    if built.value.lengths:
        return replaced(source, node, f"[[{each} row] for row in {text}]")
    return replaced(source, node, f"[{each} {text}]") if built.value.kind == "list" else None


def edit(broken: PaddingScored, case: Case, loss: WrittenLoss | None) -> Edit | None:
    """None where the number at padding is also a target elsewhere."""
    target = broken.site.padded_target
    if target is None:
        return None
    if loss is not None:
        return argument_added(loss.source, loss.made, "ignore_index", str(target))
    source, place = case.source(broken.use.place), broken.use.place
    for call in source.calls_in(place.line) if source and place.line is not None else ():
        given = source.argument(call, LABELS) if source else None
        if source is not None and isinstance(given, ast.Name | ast.Subscript | ast.Attribute):
            text = source.segment(given)
            return replaced(source, given, f"{text}.masked_fill({text} == {target}, -100)")
    return None
