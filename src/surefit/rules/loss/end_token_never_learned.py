"""The end token is never a target, so that the model does not learn to stop.

## What happens
Every row ends with the end token, and its label is -100. Most often the padding token was set to
the end token, and a collator ignores every label that equals the padding token: the one that ends
the row as well.

## Why it matters
Nothing is raised and the loss is as it should be. The model never learns to emit the end token:
generation goes on until `max_new_tokens`.

## What to do
Use a padding token of its own: `tokenizer.pad_token = tokenizer.unk_token`, or a new token and
`model.resize_token_embeddings`. Or make labels from the attention mask, not from the token.

## How it is recognised
Rows are looked at whose last token that is no padding is the end token of the tokenizer, and whose
token before it is a target. In none of them is the end token one. A note where the script never
calls `generate`.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.conditions.next_tokens import EndIsTarget
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.losses.built_targets import ignored_at, lineage_of_targets, place_of_targets
from surefit.laws.losses.token_targets import EndIsNoTarget
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source, called

RULE = Rule("SF427", "end-token-never-learned", Severity.ERROR, __doc__)

IGNORED = -100


@RULE.on(EndIsNoTarget)
def rows_end_without_a_target(broken: EndIsNoTarget, case: Case) -> Finding:
    site = broken.site
    chosen = [pair for source in case.recording.sources() for pair in pad_is_end(source)]
    place = broken.use.place
    remedies: list[Remedy | Fix] = []
    if site.end_is_pad and len(chosen) == 1:
        source, value = chosen[0]
        place = Place(source.file, value.lineno, value.end_lineno)
        text = source.segment(value).removesuffix("eos_token") + "unk_token"
        words = "Use another token for padding, which is never a target by design."
        edit = replaced(source, value, text)
        remedies.append(Change(to=edit, words=words, must=EndIsTarget(), choice=True))
    else:
        lineage = lineage_of_targets(case, site.name, site.place)
        place = ignored_at(lineage, IGNORED) or place_of_targets(lineage) or place
        remedies.append(
            Fix("Keep the label of the end token.", why_not_tried="it is not known what removes it")
        )
    both = " because it is the padding token, too" if site.end_is_pad else ""
    finding = case.finding(
        place,
        f"The end token {site.end} is ignored by the loss{both}: the model never learns to stop.",
        facts=(Fact("rows that end with it", f"{site.ends:,}; a target in none"), *broken.facts),
        why="A label of -100 takes no part in the loss. Labels at padding are set to -100, by the"
        " id of the token."
        if site.end_is_pad
        else "A target of -100 takes no part in the loss.",
        remedies=remedies,
    )
    return finding if generates(case) else replace(finding, severity=Severity.NOTE)


def generates(case: Case) -> bool:
    """To stop matters to a script that has its model write."""
    calls = (call for source in case.recording.sources() for call in source.every(ast.Call))
    return any("generate" in called(call) for call in calls)


def pad_is_end(source: Source) -> Iterator[tuple[Source, ast.expr]]:
    """`tokenizer.eos_token` of `tokenizer.pad_token = tokenizer.eos_token`."""
    for node in source.every(ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr="pad_token")], value=ast.Attribute(attr="eos_token")
            ):
                yield source, node.value
