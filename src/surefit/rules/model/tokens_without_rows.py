"""The tokenizer has tokens that the model's embedding table has no row for.

## What happens
A model has one row for each token that it was made for. Tokens that are added to the tokenizer
(`add_tokens`, a new pad token) get ids after the last row, and a model that was made for another
vocabulary lacks rows from the start. PyTorch says `index out of range in self`, on a GPU
`device-side assert triggered`.

## Why it matters
It fails at the first row that contains such a token, which can be hours into a run.

## What to do
Call `model.resize_token_embeddings(len(tokenizer))` after the line that adds the tokens, before the
optimizer is created: existing rows keep their values. In a model that is created from a
configuration, `vocab_size=len(tokenizer)`.

## How it is recognised
A lookup failed, ids lie at or above the number of rows, and a tokenizer of this run has a token for
each of them. Or a loss failed inside a model, because labels are such tokens. Positions, token
types and padding have rules of their own.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Question, Script
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.tables import TokensOutside
from surefit.laws.layers.vocabularies import Meeting, additions, holder_between, meeting_of
from surefit.remedies.change import Change
from surefit.source.edits import inserted_after, moved_after
from surefit.source.patches import Edit, both

SYMPTOM = Symptom(
    r"index out of range in self|device-side assert",
    "whether an id of the batch is a token of the tokenizer that the table has no row for",
    r"functional\.py:embedding",
)
RULE = Rule("SF340", "tokens-without-rows", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
MOST_TOKENS = 4


@dataclass(frozen=True, slots=True)
class ResizedTable:
    """Rows of a copy of the model before and after it was resized."""

    probe: ClassVar[str] = "resized-table"


@RULE.on(TokensOutside)
def tokens_have_no_row(broken: TokensOutside, case: Case) -> Finding:
    vocabulary = broken.vocabulary
    added = additions(case) if vocabulary.added else []
    met = meeting_of(case, broken.layer, vocabulary.kind, added)
    place = place_of(broken, added, met)
    shown = [f"{known} {code(token)}" for known, token in vocabulary.tokens.items()]
    elsewhere = [call for call in added if call.place.line != place.line]
    return case.finding(
        place,
        headline(broken),
        facts=(
            *broken.facts(),
            Fact("the tokenizer", f"`{vocabulary.kind}` with {counted(vocabulary.size, 'token')}"),
            Fact("as tokens", ", ".join(shown)),
            *chain.from_iterable(fact_at("tokens are added at", call) for call in elsewhere),
        ),
        ruled_out=(
            Fact("a wrong pad value", "every id outside is a token of the tokenizer"),
            Fact("positions", "the ids do not count up"),
        ),
        why="Adding a token to a tokenizer gives it an id; the model gets rows only by"
        " `resize_token_embeddings`."
        if vocabulary.added
        else "The model was made for another vocabulary than the tokenizer has.",
        remedies=(resized(broken, case, met),),
    )


def headline(broken: TokensOutside) -> str:
    vocabulary, noun = broken.vocabulary, "output" if broken.scored else "row"
    first = list(vocabulary.tokens.items())[:MOST_TOKENS]
    ids, tokens = spoken([known for known, _ in first]), spoken([code(token) for _, token in first])
    count = f"{broken.table} has {counted(broken.rows, noun)}"
    rows = f"{count}, for the ids 0 to {broken.rows - 1:,}"
    if not vocabulary.added:
        size = counted(vocabulary.size, "token")
        return f"The tokenizer has {size}, and {rows}: {tokens} (id {ids}) lie outside."
    noun, were = ("token", "was") if len(vocabulary.tokens) == 1 else ("tokens", "were")
    added = f"{noun} {tokens} (id {ids}) {were} added to the tokenizer"
    return f"The {added} and not to the model: {rows}."


def place_of(broken: TokensOutside, added: list[Expression], met: Meeting | None) -> Place:
    """Where the tokens are added or, if that comes later, where the model is created."""
    if met is not None and any(met.follows(call) for call in added):
        return Place(met.source.file, met.after.lineno, met.after.end_lineno)
    if added:
        return added[-1].place
    created = broken.layer.made_at if broken.layer else None
    return created or broken.use.place


def resized(broken: TokensOutside, case: Case, met: Meeting | None) -> Remedy | Fix:
    if met is None:
        call = "`model.resize_token_embeddings(len(tokenizer))`"
        return Fix(f"Call {call} where both are created, before the optimizer.")
    model = resizable(case, met)
    call = f"{model}.resize_token_embeddings(len({met.tokenizer}))"
    new = counted(broken.vocabulary.size - broken.rows, "new row")
    words = (
        f"Call `{call}` after line {met.after.end_lineno}: {new}; the {broken.rows:,} others keep"
        " their values."
    )
    edit: Edit | None = inserted_after(met.source, met.after, call)
    held = holder_between(met.source, met.model, met.after)
    if held is not None and edit is not None:
        words += f" Create the optimizer (line {held.lineno}) after it, or it does not hold them."
        moved = moved_after(met.source, held, met.after)
        edit = both(edit, moved) if moved else None
    must = All(tuple(conditions(broken, case, met, model)))
    return Change(to=edit, words=words, must=must)


def resizable(case: Case, met: Meeting) -> str:
    """What has the method: not a plain module of the user's, but the library's model inside."""
    layers = [frame.layer for frame in case.frames if frame.layer is not None]
    inner = next((layer for layer in layers if not layer.own and layer.path), None)
    bases = [
        met.source.imported(base)
        for owner in met.source.every(ast.ClassDef)
        if layers and layers[0].own and owner.name == layers[0].kind
        for base in owner.bases
    ]
    plain = "torch.nn.Module" in bases
    return f"{met.model}.{inner.path}" if plain and inner else met.model


def conditions(broken: TokensOutside, case: Case, met: Meeting, model: str) -> Iterator[Condition]:
    size, crash = broken.vocabulary.size, case.crash
    arrive = None if broken.scored else min(broken.outside.first)
    yield broken.holds(size, arrive, past=True)
    if crash is not None and not crash.swallowed and met.frame is not None:
        about = {"frame": met.frame, "text": model, "size": size}
        if case.ask(ResizedTable, **about) is not None:
            rows = f"the {broken.rows:,} rows before and after"
            yield ReExecuted(Question(ResizedTable.probe, crash.id, about), rows)
    path = broken.layer.path if broken.layer and not broken.scored else None
    scripts = case.recording.all(Script)
    trains = any(".backward(" in script.text or "Trainer(" in script.text for script in scripts)
    if path and broken.trained and trains and crash is not None:
        # an optimizer that was created before the rows would not hold them
        yield Moves((f"{path}.weight",), changes_the_past=True, steps=crash.steps + 3)
