"""Texts are to be padded to one length by a tokenizer that has no token for padding.

## What happens
Tokenizers of models that only decode (GPT-2, Llama) often have no pad token. `padding=True`, a
collator that pads, and batched generation need one.

## Why it matters
A single text goes through, and so do texts of one length in some versions.

## What to do
`tokenizer.pad_token = tokenizer.eos_token` where the tokenizer is made; the attention mask says
which places are padding. In training, make the labels of these places -100 by the attention mask,
and not by the id, or the model never learns to end. A token of its own (`add_special_tokens`) needs
`model.resize_token_embeddings`.

## How it is recognised
A tokenizer failed while it was asked to pad, and its `pad_token_id` is None.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.grown_vocabularies import binds, is_dotted
from surefit.evidence.made_names import name_at
from surefit.source.edits import inserted_after
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source

RULE = Rule(
    "SF507",
    "padding-without-a-pad-token",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"does not have a padding token",
            "where the tokenizer is made that has no pad token",
            r"tokenization_\w+\.py",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class State:
    """What the tokenizer has."""

    pad: int | None
    eos: int | None
    eos_token: str | None
    size: int


@RULE.on(Crash)
def nothing_to_pad_with(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame, last = crash.own_frame, crash.frames[-1] if crash.frames else None
    if frame is None or last is None or frame is last or not is_cause(crash, seen):
        return
    state = state_of(crash, last, seen)
    if state is None or state.pad is not None:
        return
    name, made = made_where(crash, last, seen)
    source = seen.source(made[0]) if made else None
    yield RULE.finding(
        made[0] if made else frame.place,
        f"`{name or 'the tokenizer'}` is asked to pad, and has no pad token.",
        facts=tuple(facts(state, frame)),
        why="Rows of different lengths are filled up with the pad token's id.",
        fixes=(fix(frame, state, name, source, made[1] if made else None, trains(seen)),),
        python_said=crash.said,
        about=crash.id,
    )


def state_of(crash: Crash, last: Frame, seen: Recording) -> State | None:
    """Of the tokenizer whose own method failed, if that was about padding."""
    asked = {value.text for value in last.values}
    pads = any(text.startswith("padding") for text in asked)
    if last.own or "tokenization" not in last.place.file or "self" not in asked or not pads:
        return None
    about = {"frame": len(crash.frames) - 1, "text": "self"}
    said = seen.ask(Question("tokenizer-state", crash.id, about))
    return msgspec.convert(said, State, strict=False) if said else None


def made_where(
    crash: Crash, last: Frame, seen: Recording
) -> tuple[str | None, tuple[Place, ast.stmt] | None]:
    """The user's name for the tokenizer, and the one statement that gives it."""
    this = next(value for value in last.values if value.text == "self")
    for frame in crash.frames:
        source = seen.source(frame.place) if frame.own else None
        for value in frame.values if source else ():
            if value.identity != this.identity or not is_dotted(value.text) or source is None:
                continue
            found = [one for one in source.every(ast.stmt) if binds(one, value.text)]
            if len(found) == 1 and not shares_lines(source, found[0]):
                place = Place(source.file, found[0].lineno, found[0].end_lineno)
                return value.text, (place, found[0])
            return value.text, None
    return None, None


def facts(state: State, frame: Frame) -> Iterator[Fact]:
    yield Fact("pad token", "none")
    yield Fact("end of text", f"`{state.eos_token}`, id {state.eos}" if state.eos_token else "none")
    yield Fact("asked to pad at", f"{frame.place}  {frame.line}")


def fix(
    frame: Frame,
    state: State,
    name: str | None,
    source: Source | None,
    made: ast.stmt | None,
    training: bool,
) -> Fix:
    if name is None or made is None or source is None or state.eos_token is None:
        return Fix(
            "Set a pad token where the tokenizer is made: `tokenizer.pad_token ="
            " tokenizer.eos_token`.",
            why_not_tried="the line that makes the tokenizer was not found"
            if state.eos_token
            else "the tokenizer has no token for the end of a text either; which one pads only you"
            " know",
        )
    line = f"{name}.pad_token = {name}.eos_token"
    said = f"`{line}`; the attention mask says which places are padding."
    if training:
        said += " Labels that are masked by the pad id lose the ends of texts, too."
    return Fix(
        said,
        inserted_after(source, made, line),
        condition(frame, source),
    )


def trains(seen: Recording) -> bool:
    texts = [script.text for script in seen.all(Script)]
    return any(".backward(" in text or "Trainer(" in text for text in texts)


def condition(frame: Frame, source: Source) -> Condition:
    """As many rows as texts, or, where that cannot be seen, ids that all have a row."""
    batch = name_at(source, frame.place)
    texts = [value.length for value in frame.values if value.kind == "list" and value.length]
    if batch is not None and len(texts) == 1 and "return_tensors" in frame.line:
        wanted = Wanted(f'{batch}["input_ids"]', shape=(texts[0], None), least=0)
        return ValuesAt(frame.place, (wanted,), after=True)
    return IdsFit(0, 0)
