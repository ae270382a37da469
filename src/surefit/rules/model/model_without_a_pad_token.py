"""A classifier on top of a decoder does not know which token is padding.

## What happens
`GPT2ForSequenceClassification` and its like take the score of the last token that is no padding.
Which one that is they read from `model.config.pad_token_id`, and with more than one row they refuse
to guess: `Cannot handle batch sizes > 1 if no padding token is defined`. That the tokenizer has a
pad token does not tell the model.

## Why it matters
A batch size of 1 hides it, and is slow. A wrong id is worse: the score of a row is then taken at
its padding, and nobody says so.

## What to do
`model.config.pad_token_id = tokenizer.pad_token_id` behind both, or
`from_pretrained(..., pad_token_id=tokenizer.pad_token_id)`.

## How it is recognised
The forward of a library's model failed, it was given several rows, and its config has no
`pad_token_id`. On a copy of the model it is looked whether each row gets the scores that it gets
alone. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.conditions.rows_alone import RowsAsAlone, at_most
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed
from surefit.evidence.grown_vocabularies import binds, is_dotted, last_that_makes
from surefit.evidence.made_names import name_at
from surefit.source.edits import inserted_after
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.reading import Source

RULE = Rule(
    "SF347",
    "model-without-a-pad-token",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Cannot handle batch sizes > 1 if no padding token is defined",
            "where the model is made, and which id fills up its rows",
        ),
    ),
)

CLASSIFIES = "ForSequenceClassification"


@dataclass(frozen=True, slots=True)
class State:
    """Of the model's config, and of the batch that it was given."""

    pad: int | None
    eos: int | list[int] | None
    rows: int
    padded: int
    used: int | None
    ids: list[int] = field(default_factory=list)
    difference: float | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """Where the user's code has the model and the tokenizer, and by which names."""

    frame: Frame
    source: Source
    model: str
    tokenizer: str | None
    after: ast.stmt | None


@RULE.on(Crash)
def padding_is_not_known(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame, last = crash.own_frame, crash.frames[-1] if crash.frames else None
    if frame is None or last is None or last.own or not is_cause(crash, seen):
        return
    if last.layer is None or CLASSIFIES not in last.layer.kind + last.function:
        return
    question = Question("single-rows", crash.id, {"frame": len(crash.frames) - 1})
    said = seen.ask(question)
    state = msgspec.convert(said, State, strict=False) if said else None
    if state is None or state.pad is not None or state.rows < 2:
        return
    made = made_in(crash, seen, last)
    place = place_of(crash, last, made)
    yield RULE.finding(
        place,
        f"`{last.layer.kind}` is given {counted(state.rows, 'row')}, and `config.pad_token_id` of"
        " the model is not set.",
        facts=tuple(facts(state, made, frame)),
        why="It scores the last token of a row that is no padding, and takes the id of padding from"
        " its own config, not from the tokenizer.",
        fixes=(fix(state, made, frame, seen, question),),
        python_said=crash.said,
        about=crash.id,
    )


def made_in(crash: Crash, seen: Recording, last: Frame) -> Made | None:
    """The outermost own frame that has a name for the model."""
    kind = last.layer.kind if last.layer else ""
    everywhere = [frame for frame in crash.frames if frame.own]
    for frame in everywhere:
        source = seen.source(frame.place)
        models = [one.text for one in frame.values if one.kind == kind and is_dotted(one.text)]
        if source is None or not models:
            continue
        known = tokenizers(frame) or tokenizers(everywhere[0])
        tokenizer = known[0] if known else None
        after = last_that_makes(source, frame, models[0], tokenizer or models[0])
        at = last.layer.made_at if last.layer else None
        after = after or beside(source, at, models[0], tokenizer)
        return Made(frame, source, models[0], tokenizer, after)
    return None


def beside(source: Source, at: Place | None, model: str, tokenizer: str | None) -> ast.stmt | None:
    """The statement that makes the model, as in an `__init__`, or the one in the same block that
    makes the tokenizer behind it."""
    made = source.statement_at(at.line) if at and at.line and at.file == source.file else None
    if made is None or not binds(made, model) or shares_lines(source, made):
        return None
    if tokenizer is None:
        return made
    block = block_of(source, made)
    other = [one for one in block if binds(one, tokenizer)]
    return max(made, other[0], key=lambda one: one.lineno) if len(other) == 1 else None


def tokenizers(frame: Frame) -> list[str]:
    return [
        one.text
        for one in frame.values
        if "Tokenizer" in one.kind and one.layer is None and is_dotted(one.text)
    ]


def place_of(crash: Crash, last: Frame, made: Made | None) -> Place:
    at = last.layer.made_at if last.layer else None
    if at is not None:
        return at
    if made is not None and made.after is not None:
        return Place(made.source.file, made.after.lineno)
    assert crash.own_frame is not None
    return crash.own_frame.place


def facts(state: State, made: Made | None, frame: Frame) -> Iterator[Fact]:
    yield Fact("`config.pad_token_id`", "None")
    if state.ids:
        yield Fact(
            "padding in this batch", f"{counted(state.padded, 'place')}, id {listed(state.ids)}"
        )
    if state.difference is not None:
        yield Fact(
            f"with id {state.used}",
            f"logits of a row in the batch and alone differ by {at_most(state.difference)}",
        )
    if made is not None and made.tokenizer is not None:
        yield Fact("tokenizer", code(made.tokenizer))
    yield Fact("called at", str(frame.place))


def fix(state: State, made: Made | None, frame: Frame, seen: Recording, question: Question) -> Fix:
    model = made.model if made else "model"
    tokenizer = made.tokenizer if made else None
    value = (
        f"{tokenizer}.pad_token_id"
        if tokenizer
        else str(state.used)
        if state.used is not None
        else "..."
    )
    line = f"{model}.config.pad_token_id = {value}"
    text = f"Tell the model behind the line that makes it: {code(line)}."
    if made is None or made.after is None or state.used is None:
        return Fix(text, why_not_tried="where the model gets its name was not found")
    if len(state.ids) > 1 or state.difference is None:
        return Fix(text, why_not_tried="rows could not be compared with themselves alone")
    edit = inserted_after(made.source, made.after, line)
    must: tuple[Condition, ...] = (RowsAsAlone(question), passes(frame, seen, state))
    return Fix(text, edit, All(must))


def passes(frame: Frame, seen: Recording, state: State) -> Condition:
    """A score for each row, where the user's line has a name for it."""
    source = seen.source(frame.place)
    name = name_at(source, frame.place)
    if name is not None and frame.expression and frame.line.endswith(frame.expression):
        return ValuesAt(frame.place, (Wanted(f"{name}.logits", rows=state.rows),), after=True)
    return ColumnReachesModel("input_ids")
