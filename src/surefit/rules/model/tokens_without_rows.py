"""The tokenizer knows tokens that the model's embedding table has no row for.

## What happens
A model has one row for each token that it was made for. Tokens that are added to the tokenizer
(`add_tokens`, `add_special_tokens`, a new pad token) get ids behind the last row, and a model that
was made for another vocabulary lacks rows from the start. PyTorch says `index out of range in
self`, on a GPU `device-side assert triggered`, and names neither the table nor the id.

## Why it matters
It comes with the first row that contains such a token, which can be hours into a run.

## What to do
Call `model.resize_token_embeddings(len(tokenizer))` behind the line that adds the tokens, before
the optimizer is made: the rows that there are stay as they are, and new ones are put behind them.
In a model that is made from a configuration, `vocab_size=len(tokenizer)`.

## How it is recognised
A lookup failed, ids lie at or above the number of rows, and a tokenizer of this run has a token for
each of them. Or a loss failed inside a model, because labels are such tokens and it has no output
for them. Positions, token types and padding have rules of their own.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.grown_vocabularies import (
    Meeting,
    additions,
    holder_between,
    made_beside,
    meeting,
)
from surefit.evidence.table_lookups import (
    Lookup,
    Vocabulary,
    are_tokens,
    facts,
    labels_of,
    lookup_of,
    vocabulary_of,
)
from surefit.source.edits import inserted_after, moved_after
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

RULE = Rule(
    "SF340",
    "tokens-without-rows",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"index out of range in self|device-side assert",
            "whether an id of the batch is a token of the tokenizer that the table has no row for",
            r"functional\.py:embedding",
        ),
    ),
)

MOST_TOKENS = 4
RULED_OUT = (
    Fact("a wrong pad value", "every id outside is a token of the tokenizer"),
    Fact("positions", "the ids do not count up"),
)


@RULE.on(Crash)
def tokens_have_no_row(crash: Crash, seen: Recording) -> Iterator[Finding]:
    lookup = lookup_of(crash, seen) or labels_of(crash, seen)
    vocabulary = vocabulary_of(lookup) if lookup else None
    if lookup is None or vocabulary is None or not are_tokens(crash, lookup):
        return
    added = additions(seen) if vocabulary.added else []
    root = lookup.layer.root if lookup.layer else None
    met = meeting(crash, seen, root, vocabulary.kind) or made_beside(
        added, lookup.layer.made_at if lookup.layer else None
    )
    place = place_of(crash, lookup, added, met)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(lookup, vocabulary),
        facts=(*facts(lookup), *known(vocabulary), *places(added, place)),
        ruled_out=RULED_OUT,
        why=why(vocabulary, resizable(crash, met) if met else "model"),
        fixes=tuple(fixes(crash, lookup, vocabulary, met, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def resizable(crash: Crash, met: Meeting) -> str:
    """What has the method: not a plain module of the user's, but the library's model inside."""
    layers = [one.layer for one in crash.frames if one.layer is not None]
    root = layers[0] if layers and layers[0].own else None
    classes = [one for one in met.source.every(ast.ClassDef) if root and one.name == root.kind]
    plain = [one for one in classes if any(is_plain(met.source, base) for base in one.bases)]
    inner = next((one for one in layers if not one.own and one.path), None)
    return f"{met.model}.{inner.path}" if plain and inner else met.model


def is_plain(source: Source, base: ast.expr) -> bool:
    return source.imported(base) in ("torch.nn.Module", "torch.nn.modules.module.Module")


def headline(lookup: Lookup, vocabulary: Vocabulary) -> str:
    ids = [int(one) for one in vocabulary.tokens]
    tokens = spoken([*map(code, [*vocabulary.tokens.values()][:MOST_TOKENS])])
    numbers = spoken([*map(str, ids[:MOST_TOKENS])])
    noun = "output" if lookup.scored else "row"
    rows = f"{lookup.table} has {counted(lookup.rows, noun)}, for the ids 0 to {lookup.rows - 1:,}"
    if vocabulary.added:
        word = "token" if len(ids) == 1 else "tokens"
        verb = "was" if len(ids) == 1 else "were"
        return (
            f"The {word} {tokens} (id {numbers}) {verb} added to the tokenizer and not to the"
            f" model: {rows}."
        )
    return (
        f"The tokenizer has {counted(vocabulary.size, 'token')}, and {rows}: {tokens}"
        f" (id {numbers}) lie outside."
    )


def known(vocabulary: Vocabulary) -> Iterator[Fact]:
    yield Fact("the tokenizer", f"`{vocabulary.kind}` with {counted(vocabulary.size, 'token')}")
    shown = [f"{one} {code(token)}" for one, token in vocabulary.tokens.items()]
    yield Fact("as tokens", ", ".join(shown))


def places(added: list[tuple[Source, ast.Call]], place: Place) -> Iterator[Fact]:
    for source, call in added:
        if call.lineno != place.line:
            yield Fact("tokens are added at", f"{source.file}:{call.lineno}")


def why(vocabulary: Vocabulary, model: str) -> str:
    if not vocabulary.added:
        return "The model was made for another vocabulary than the tokenizer has."
    return (
        "Adding a token to a tokenizer gives it an id; rows come only with"
        f" `{model}.resize_token_embeddings`."
    )


def place_of(
    crash: Crash, lookup: Lookup, added: list[tuple[Source, ast.Call]], met: Meeting | None
) -> Place | None:
    """Where the tokens are added or, if that comes later, where the model is made."""
    if met is not None and any(is_in(call, met) for _, call in added):
        return Place(met.source.file, met.after.lineno, met.after.end_lineno)
    if added:
        source, call = added[-1]
        return Place(source.file, call.lineno, call.end_lineno)
    if lookup.layer and lookup.layer.made_at:
        return lookup.layer.made_at
    return crash.own_frame.place if crash.own_frame else None


def is_in(call: ast.Call, met: Meeting) -> bool:
    """The tokens are added by the statement itself, or before it in its own function."""
    scope = met.source.scope_of(met.after)
    return met.source.scope_of(call) is scope and call.lineno <= (met.after.end_lineno or 0)


def fixes(
    crash: Crash, lookup: Lookup, vocabulary: Vocabulary, met: Meeting | None, seen: Recording
) -> Iterator[Fix]:
    if met is None:
        yield Fix(
            "Call `model.resize_token_embeddings(len(tokenizer))` where both are made, before the"
            " optimizer.",
            why_not_tried="no line of yours has a name for both the model and the tokenizer",
        )
        return
    call = f"{resizable(crash, met)}.resize_token_embeddings(len({met.tokenizer}))"
    new = vocabulary.size - lookup.rows
    edit: Edit | None = inserted_after(met.source, met.after, call)
    said = (
        f"Call `{call}` behind line {met.after.end_lineno}: {counted(new, 'new row')}, and the"
        f" {lookup.rows:,} that there are stay."
    )
    held = holder_between(met.source, met.model, met.after)
    if held is not None and edit is not None:
        moved = moved_after(met.source, held, met.after)
        edit = both(edit, moved) if moved else None
        said += f" Make the optimizer (line {held.lineno}) after it, or it will not hold them."
    yield Fix(
        said,
        edit,
        condition(crash, lookup, vocabulary, met, seen) if edit else None,
        "" if edit else "the optimizer is made before the tokens are added",
    )


def condition(
    crash: Crash, lookup: Lookup, vocabulary: Vocabulary, met: Meeting, seen: Recording
) -> Condition:
    parts: list[Condition] = [
        IdsFit(
            lookup.width,
            lookup.rows,
            vocabulary.size,
            None if lookup.scored else min(lookup.outside.first),
            changes_the_past=True,
        )
    ]
    if not crash.swallowed and met.frame is not None:
        text = resizable(crash, met)
        about = {"frame": met.frame, "text": text, "size": vocabulary.size}
        asked = Question("resized-table", crash.id, about)
        if seen.ask(asked) is not None:
            parts.append(ReExecuted(asked, f"the {lookup.rows:,} rows before and after"))
    path = lookup.layer.path if lookup.layer else None
    if (
        path
        and not lookup.scored
        and lookup.trained
        and any(trains(one) for one in seen.all(Script))
    ):
        parts.append(Moves((f"{path}.weight",), changes_the_past=True, steps=crash.steps + 3))
    return All(tuple(parts))


def trains(script: Script) -> bool:
    """An optimizer made before the rows would not hold them: that must be seen, too."""
    return ".backward(" in script.text or "Trainer(" in script.text
