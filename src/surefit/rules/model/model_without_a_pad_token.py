"""A classifier on top of a decoder does not know which token is padding.

## What happens
`GPT2ForSequenceClassification` and similar models take the score of the last token that is no
padding, which they know by `model.config.pad_token_id`. Without it they take single rows only:
`Cannot handle batch sizes > 1 if no padding token is defined`. A pad token of the tokenizer does
not change the model.

## Why it matters
A batch size of 1 hides it, and is slow. A wrong id is worse: the score of a row is then taken at
its padding, silently.

## What to do
`model.config.pad_token_id = tokenizer.pad_token_id` after both are created.

## How it is recognised
The forward of a library's model failed, it was given several rows, and its config has no
`pad_token_id`. A copy of the model shows whether each row gets the scores that it gets alone.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.conditions.rows_alone import RowsAsAlone, at_most
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Question
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand
from surefit.doctor.words import code, counted, listed
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.padding import SingleRows, UnknownPadding
from surefit.laws.training.made_names import name_at
from surefit.laws.values.creations import Creation, creation_of
from surefit.remedies.statements import Insert

SYMPTOM = Symptom(
    r"Cannot handle batch sizes > 1 if no padding token is defined",
    "where the model is made, and which id fills up its rows",
)
RULE = Rule("SF347", "model-without-a-pad-token", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(UnknownPadding)
def padding_is_not_known(broken: UnknownPadding, case: Case) -> Finding:
    created = creation_of(case, broken.model)
    layer = broken.model.value.layer
    place = (layer.made_at if layer else None) or (created or broken.use).place
    tokenizer = tokenizer_of(case)
    return case.finding(
        place,
        f"`{broken.model.value.kind}` is given {counted(broken.state.rows, 'row')}, and"
        " `config.pad_token_id` of the model is not set.",
        facts=(
            Fact("`config.pad_token_id`", "None"),
            *facts(broken.state),
            *([Fact("tokenizer", tokenizer.name)] if tokenizer else []),
            Fact("called at", str(broken.use.place)),
        ),
        why="It scores the last token of a row that is no padding, and takes the id of padding from"
        " its own config, not from the tokenizer.",
        remedies=(pad_id_set(broken, case, created, tokenizer),),
    )


def facts(state: SingleRows) -> Iterator[Fact]:
    if state.ids:
        padded = f"{counted(state.padded, 'position')}, id {listed(state.ids)}"
        yield Fact("padding in this batch", padded)
    if state.difference is not None:
        least = at_most(state.difference)
        words = f"logits of a row in the batch and alone differ by {least}"
        yield Fact(f"with id {state.used}", words)


def tokenizer_of(case: Case) -> Operand | None:
    """The tokenizer that a frame of the user's has a name for."""
    for number, frame in enumerate(case.frames):
        for value in frame.values if frame.own else ():
            named = value.layer is None and value.text.isidentifier()
            if named and "Tokenizer" in value.kind:
                return Operand(value=value, name=code(value.text), frame=number)
    return None


def pad_id_set(
    broken: UnknownPadding, case: Case, created: Creation | None, tokenizer: Operand | None
) -> Remedy:
    state, after = broken.state, created
    value = str(state.used) if state.used is not None else "tokenizer.pad_token_id"
    other = creation_of(case, tokenizer) if tokenizer is not None else None
    if created is not None and other is not None and is_beside(created, other):
        value = f"{other.name}.pad_token_id"
        after = max(created, other, key=lambda creation: creation.statement.lineno)
    elif tokenizer is not None and created is not None and other is None:
        value = f"{tokenizer.value.text}.pad_token_id"
    model = created.name if created else "model"
    compared = len(state.ids) <= 1 and state.difference is not None
    about = {"frame": broken.frame}
    question = Question(SingleRows.probe, case.crash.id if case.crash else "", about)
    return Insert(
        at=after.expression if after is not None and compared else None,
        where="after",
        text=f"{model}.config.pad_token_id = {value}",
        words=f"Tell the model: {code(f'{model}.config.pad_token_id = {value}')}.",
        must=All((RowsAsAlone(question), passes(broken, case))),
    )


def is_beside(first: Creation, second: Creation) -> bool:
    """In one function, so that both names can be used after the later of the two."""
    scopes = [each.source.scope_of(each.statement) for each in (first, second)]
    return scopes[0] is scopes[1]


def passes(broken: UnknownPadding, case: Case) -> Condition:
    """A score for each row, where the user's line has a name for it."""
    use = broken.use
    name = name_at(case.source(use), use.place)
    line = case.own.line if case.own is not None else ""
    if name is not None and line.endswith(use.text):
        wanted = Wanted(f"{name}.logits", rows=broken.state.rows)
        return ValuesAt(use.place, (wanted,), after=True)
    return ColumnReachesModel("input_ids")
