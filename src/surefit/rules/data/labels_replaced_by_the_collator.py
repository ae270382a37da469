"""A collator makes labels of its own, and the prompt tokens are in the loss again.

## What happens
`DataCollatorForLanguageModeling(mlm=False)` sets `labels` to a copy of `input_ids` with -100 at
padding. Rows that bring their own `labels`, with -100 on the prompt, lose them.

## Why it matters
Nothing is raised. The model is trained on the prompt as well: most of the loss is about tokens that
it should not learn to predict, the loss settles at a high value, and answers stay wrong.

## What to do
Use a collator that keeps labels and pads them with -100: `DataCollatorForSeq2Seq(tokenizer)`, or
`default_data_collator` where all rows have one length.

## How it is recognised
Labels are counted in the rows that a collator is given and in the batch that it gives back. The
rows ignore some, by -100, and more count in the batch than in the rows.
"""

from surefit.doctor.conditions.next_tokens import LabelsSurvive
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.losses.token_targets import LabelsReplaced
from surefit.remedies.replace import ReplaceCallee
from surefit.source.reading import called

RULE = Rule("SF222", "labels-replaced-by-the-collator", Severity.ERROR, __doc__)

SIBLING = "DataCollatorForSeq2Seq"


@RULE.on(LabelsReplaced)
def prompt_is_in_the_loss(broken: LabelsReplaced, case: Case) -> Finding:
    collated = broken.collated
    return case.finding(
        broken.use.place,
        f"{code(collated.kind)} overwrites the labels of your rows: prompt tokens that they mark"
        " with -100 are part of the loss again.",
        facts=(
            Fact("labels of the rows", f"{collated.supervised:,} of {collated.labels:,} count"),
            Fact("labels of the batches", f"{collated.supervised_after:,} count"),
            Fact("looked at", f"{counted(collated.looked, 'batch')}, {collated.rows} rows"),
        ),
        why="It builds `labels` from `input_ids` and ignores a column of that name: only padding"
        " is -100 in the batch.",
        remedies=(
            ReplaceCallee(
                at=constructor(broken, case),
                name=SIBLING,
                module="transformers",
                keep=("tokenizer",),
                words=f"Use {code(SIBLING)}, which keeps the labels and pads them with -100.",
                must=LabelsSurvive(),
            ),
        ),
    )


def constructor(broken: LabelsReplaced, case: Case) -> Expression | None:
    source, place = case.source(broken.use.place), broken.use.place
    if source is None or place.line is None:
        return None
    calls = [call for call in source.calls_in(place.line) if called(call) == broken.collated.kind]
    return case.expression(source, calls[0]) if len(calls) == 1 else None
