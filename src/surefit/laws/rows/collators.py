"""Where the user's source chose the collator of a batch, and what could be given another."""

import ast

from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.reading import Source, called
from surefit.source.selection import the_only

LANGUAGE_MODELING = "DataCollatorForLanguageModeling"
WITH_PADDING = "DataCollatorWithPadding"
SEQ2SEQ = "DataCollatorForSeq2Seq"
TOKEN_CLASSES = "DataCollatorForTokenClassification"
TAKE_A_TOKENIZER = (LANGUAGE_MODELING, WITH_PADDING)
KEEP = ("tokenizer", "padding", "max_length", "pad_to_multiple_of", "return_tensors")
"""Arguments that all collators of transformers have in common."""
TOKENIZED = ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask")
"""Columns that `tokenizer.pad` pads, whether or not the model takes them."""
ONLY_STACK = ("default_collate", "default_data_collator", "DefaultDataCollator")
ARGUMENTS = ("collate_fn", "data_collator")


def constructor_of(case: Case, collator: CollatorSeen) -> Expression | None:
    """The call at the collator's line that constructs it, or a Trainer which does."""
    place = collator.made_at
    source = case.source(place)
    if collator.own or source is None or place is None or place.line is None:
        return None
    calls = list(source.calls_in(place.line))
    constructing = [call for call in calls if collator.kind in names_of(source, call)]
    training = [call for call in calls if called(call).endswith("Trainer")]
    chosen = next(iter(constructing or training), None)
    return case.expression(source, chosen) if chosen is not None else None


def names_of(source: Source, call: ast.Call) -> set[str]:
    """As written, and as imported."""
    return {called(call), source.imported(call.func).rpartition(".")[2]}


def chooser_of(case: Case, collator: CollatorSeen) -> Expression | None:
    """The call of `DataLoader`, or of the one Trainer, whose rows nobody pads: it was given no
    collator, or one that only stacks."""
    place = collator.chosen_at or (case.own.place if case.own is not None else None)
    source = case.source(place)
    if source is None or place is None:
        return None
    call = loader_at(source, place) or only_trainer(source)
    return case.expression(source, call) if call is not None else None


def loader_at(source: Source, place: Place) -> ast.Call | None:
    """At a line, or the only one of the file."""
    calls = list(source.calls_named("DataLoader"))
    free = [call for call in calls if is_free(source, source.argument(call, "collate_fn", 6))]
    here = [call for call in free if call.lineno == place.line]
    return next(iter(here if len(calls) > 1 else here or free), None)


def only_trainer(source: Source) -> ast.Call | None:
    calls = [call for call in source.every(ast.Call) if source.argument(call, "train_dataset")]
    free = [call for call in calls if is_free(source, source.argument(call, "data_collator"))]
    return free[0] if len(calls) == len(free) == 1 else None


def is_free(source: Source, collator: ast.expr | None) -> bool:
    return collator is None or source.imported(collator).rpartition(".")[2] in ONLY_STACK


def handed_over(case: Case, collator: CollatorSeen) -> Expression | None:
    """The name of a library's function where just one call is given it:
    `collate_fn=default_data_collator`."""
    return the_only(
        case.expression(source, keyword.value)
        for source, keyword in case.recording.every(ast.keyword)
        if keyword.arg in ARGUMENTS and isinstance(keyword.value, ast.Name) and not collator.own
        if source.imported(keyword.value).endswith(f".{collator.kind}")
    )


def rows_given(case: Case) -> Expression | None:
    """The dataset that the one Trainer or loader of the user's files is given."""
    return the_only(
        case.expression(source, rows)
        for source, call in case.recording.every(ast.Call)
        if (rows := dataset_of(source, call)) is not None
    )


def dataset_of(source: Source, call: ast.Call) -> ast.expr | None:
    rows = source.argument(call, "train_dataset")
    return source.argument(call, "dataset", 0) if called(call) == "DataLoader" else rows
