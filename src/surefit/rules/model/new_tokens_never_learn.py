"""New tokens were added to the vocabulary, and their rows are in a frozen embedding table.

## What happens
`resize_token_embeddings` gives the table rows for new tokens, with random numbers or the mean of
the others. An adapter (LoRA) freezes the whole base model, the table with it, so that the new rows
stay as they are.

## Why it matters
The model never learns what the new tokens mean, nor to write them; the loss falls all the same, by
the other tokens.

## What to do
Train the table too: `modules_to_save=["embed_tokens", "lm_head"]` in the configuration, or only
the new rows with `trainable_token_indices`, where PEFT has it.

## How it is recognised
A table was resized to more rows, ids of the new rows were among the inputs of training steps, and
no optimizer holds the table, a copy of it, or its new rows. Rows that only round the size up are
not used, and not reported.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.new_rows_learn import NewRowsFrozen
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.source.reading import called

RULE = Rule("SF333", "new-tokens-never-learn", Severity.ERROR, __doc__)

SAVED = "modules_to_save"


@RULE.on(NewRowsFrozen)
def rows_of_new_tokens_are_frozen(broken: NewRowsFrozen, case: Case) -> Finding:
    table = broken.table
    return case.finding(
        broken.use.place,
        broken.said,
        facts=(
            Fact("the table", f"`{table.name}`, {table.rows:,} rows, {table.added:,} of them new"),
            Fact("ids of new rows", "among the inputs of training steps"),
            Fact("in an optimizer", "no: neither the table nor its new rows"),
        ),
        why="An adapter leaves the base model frozen, and a new row is a part of the base model:"
        " without a gradient it stays random.",
        remedies=tuple(remedies(broken, case)),
    )


def remedies(broken: NewRowsFrozen, case: Case) -> Iterator[Remedy | Fix]:
    must, name = law_holds(broken), broken.table.name
    for source, call in case.recording.every(ast.Call):
        fits = called(call).endswith("Config") and source.argument(call, "target_modules")
        if fits and source.argument(call, SAVED) is None:
            yield SetArgument(
                at=case.expression(source, call),
                name=SAVED,
                value=f'["{name}"]',
                words=f'Train and save the table beside the adapter: `{SAVED}=["{name}"]`.',
                must=must,
                choice=True,
            )
    yield Fix(
        f"Unfreeze `{name}`, and give it to the optimizer; or train its new rows alone.",
        choice=True,
    )
