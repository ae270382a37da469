"""A language model is trained on rows without labels, and nothing creates any.

## What happens
A causal language model computes a loss only if it is given `labels`. A tokenizer creates none, and
`DataCollatorWithPadding`, which a Trainer uses if it is given a tokenizer, does not either. The
output has no loss: `The model did not return a loss from the inputs`.

## Why it matters
The rows look right, the model runs, and the message lists what it was given, not what should have
created the rest.

## What to do
`DataCollatorForLanguageModeling(tokenizer, mlm=False)` copies the tokens to labels and ignores the
padding. If only part of each row should be learned, create `labels` with -100 elsewhere and use
`DataCollatorForSeq2Seq`.

## How it is recognised
The Trainer's own loss got an output without one; the model is a causal language model whose
`forward` takes `labels` and was not given any; and no column of the rows, dropped ones included,
could be meant.
"""

import ast

from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.forward_arguments import LABELS, LabelsNeverCreated
from surefit.laws.rows.collators import LANGUAGE_MODELING
from surefit.remedies.change import Change
from surefit.remedies.collators import tokenizer_at
from surefit.source.edits import argument_added, with_import
from surefit.source.patches import Edit
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"did not return a loss from the inputs",
    "whether anything creates `labels`: a column of the rows, or the collator",
)
RULE = Rule("SF208", "no-labels-for-the-loss", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LabelsNeverCreated)
def nothing_creates_labels(broken: LabelsNeverCreated, case: Case) -> Finding | None:
    trainer = broken.trainer
    if trainer is None:
        return None
    source, call = trainer_call(case) or (None, None)
    place = broken.use.place
    if source is not None and call is not None:
        collator = source.value_of(source.argument(call, "data_collator") or call)
        place = Place(source.file, collator.lineno, collator.end_lineno)
    return case.finding(
        place,
        f"Nothing creates `labels`: `{broken.model}` was given"
        f" {', '.join(map(code, broken.received))}, and `{trainer.collator}` adds none, so that"
        " there is no loss.",
        facts=(Fact("columns of the rows", ", ".join(trainer.columns) or "those of your own"),),
        why="A causal language model computes a loss only if it is given `labels`.",
        remedies=(
            Change(
                to=labels_created(source, call) if source and call else None,
                words=f"Let `{LANGUAGE_MODELING}(tokenizer, mlm=False)` create them from"
                " `input_ids`, without the padding.",
                must=ColumnReachesModel(LABELS),
            ),
        ),
    )


def trainer_call(case: Case) -> tuple[Source, ast.Call] | None:
    """The one call in the user's files that gives a Trainer rows."""
    every = [
        (source, call) for source in case.recording.sources() for call in source.every(ast.Call)
    ]
    calls = [(source, call) for source, call in every if source.argument(call, "train_dataset")]
    return calls[0] if len(calls) == 1 else None


def labels_created(source: Source, call: ast.Call) -> Edit | None:
    tokenizer = tokenizer_at(source, call)
    if tokenizer is None:
        return None
    collator = f"{LANGUAGE_MODELING}({tokenizer}, mlm=False)"
    edit = argument_added(source, call, "data_collator", collator)
    return with_import(edit, source, "transformers", LANGUAGE_MODELING)
