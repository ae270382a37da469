"""A language model is trained on rows without labels, and nothing makes any.

## What happens
A causal language model computes a loss only if it is given `labels`. A tokenizer makes none, and
`DataCollatorWithPadding`, which a Trainer uses if it is given a tokenizer, does not either. The
output has no loss: `The model did not return a loss from the inputs`.

## Why it matters
The rows look right, the model runs, and the message lists what it was given, not who should have
made the rest.

## What to do
`DataCollatorForLanguageModeling(tokenizer, mlm=False)` makes labels of the tokens and passes over
the padding. If only part of each row shall be learned, make `labels` with -100 elsewhere and use
`DataCollatorForSeq2Seq`.

## How it is recognised
The Trainer's own loss found an output without one; the model is a causal language model whose
`forward` takes `labels` and was not given any; and no column of the rows, dropped ones included,
could be meant.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.inputs import ColumnReachesModel, inputs_of
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.argument_names import meant_for
from surefit.evidence.trainers import dropped_columns, is_text, is_trainer, trainer_of
from surefit.remedies.collators import tokenizer_at
from surefit.source.edits import argument_added, with_import
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF208",
    "no-labels-for-the-loss",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"did not return a loss from the inputs",
            "whether anything makes `labels`: a column of the rows, or the collator",
        ),
    ),
)

LABELS = "labels"
MAKES_LABELS = "DataCollatorForLanguageModeling"
CAUSAL = ("LMHeadModel", "ForCausalLM")


@RULE.on(Crash)
def nothing_makes_labels(crash: Crash, seen: Recording) -> Iterator[Finding]:
    last = crash.frames[-1] if crash.frames else None
    if last is None or not is_trainer(last) or "compute_loss" not in last.function:
        return
    trainer = trainer_of(crash, seen) if is_cause(crash, seen) else None
    calls = [call for call in inputs_of(seen, crash.process.rank) if call.step == crash.steps]
    if trainer is None or not calls or LABELS in calls[-1].shapes:
        return
    if not str(trainer["model"]).endswith(CAUSAL) or LABELS not in trainer["forward"]:
        return
    numbers = [name for name, kind in dropped_columns(seen, trainer).items() if not is_text(kind)]
    if any(meant_for(one, [LABELS]) for one in numbers) or crash.own_frame is None:
        return
    found = trainer_at(seen)
    source, call = found or (None, None)
    place = crash.own_frame.place
    if source is not None and call is not None:
        chosen = source.value_of(source.argument(call, "data_collator") or call)
        place = Place(source.file, chosen.lineno, chosen.end_lineno)
    edit = labels_made(source, call) if source and call else None
    yield RULE.finding(
        place,
        f"Nothing makes `labels`: `{trainer['model']}` was given"
        f" {', '.join(f'`{one}`' for one in calls[-1].shapes)}, and `{trainer['collator']}` adds"
        " none, so that there is no loss.",
        facts=(Fact("columns of the rows", ", ".join(trainer["columns"]) or "those of your own"),),
        why="A causal language model computes a loss only if it is given `labels`.",
        fixes=(
            Fix(
                f"Let `{MAKES_LABELS}(tokenizer, mlm=False)` make them of `input_ids`, without the"
                " padding.",
                edit,
                ColumnReachesModel(LABELS) if edit else None,
                "" if edit else "what the tokenizer is called there is not known",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def trainer_at(seen: Recording) -> tuple[Source, ast.Call] | None:
    """The one call in the user's files that makes a Trainer with rows."""
    found = [
        (source, call)
        for script in seen.all(Script)
        if (source := seen.source(script.file)) is not None
        for call in source.every(ast.Call)
        if source.argument(call, "train_dataset") is not None
    ]
    return found[0] if len(found) == 1 else None


def labels_made(source: Source, call: ast.Call) -> Edit | None:
    tokenizer = tokenizer_at(source, call)
    if tokenizer is None:
        return None
    made = f"{MAKES_LABELS}({tokenizer}, mlm=False)"
    edit = argument_added(source, call, "data_collator", made)
    return with_import(edit, source, "transformers", MAKES_LABELS)
