"""Token types (segment ids) are larger than the model has types.

## What happens
Models such as BERT have a small table for the type of each token: first or second text. A model
with one type (`type_vocab_size=1`) has a row for 0 only, one with two types for 0 and 1. A
tokenizer for pairs, or a third segment, gives more. PyTorch says `index out of range in self`.

## Why it matters
It looks like an unknown token, and a larger vocabulary changes nothing.

## What to do
If the model is to tell the texts apart, give it as many types (`type_vocab_size=2`); if it has none
by its design, leave `token_type_ids` out (`return_token_type_ids=False`).

## How it is recognised
A lookup failed in a table that the model, or the line that calls it, names as that of token types
or segments, and ids lie at or above its number of rows.

In a script that is only read: token types that the source writes out are looked up in a table of
segments or token types that has too few rows.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted
from surefit.evidence.known_numbers import number_of, numbers_in
from surefit.evidence.set_sizes import chosen, keywords, place_of
from surefit.evidence.table_lookups import TYPES, Lookup, are_types, facts, lookup_of
from surefit.evidence.table_makers import maker_of, more
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import kind_of_lookup
from surefit.interpreter.violations import IndexOutsideTable
from surefit.source.edits import argument_added, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called, dotted, targets

RULE = Rule(
    "SF344",
    "token-types-beyond-the-table",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"index out of range in self|device-side assert",
            "whether `token_type_ids` are larger than the model has types",
            r"functional\.py:embedding",
        ),
    ),
)

SIZE = "type_vocab_size"

Set = tuple[Source, ast.expr]

ITS_TYPES = "how many types the model is to tell apart only you can choose"


@RULE.on(Crash)
def types_have_no_row(crash: Crash, seen: Recording) -> Iterator[Finding]:
    lookup = lookup_of(crash, seen)
    if lookup is None or lookup.outside.least < 0 or not are_types(crash, lookup):
        return
    made = made_in(seen)
    declared = declared_at(crash, lookup, seen)
    place = where(crash, lookup, made, declared)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(lookup),
        facts=(*facts(lookup), *elsewhere(made, declared, place)),
        ruled_out=(Fact("unknown tokens", "these are the types of tokens, not the tokens"),),
        fixes=tuple(fixes(lookup, declared, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def headline(lookup: Lookup) -> str:
    last = f"0 to {lookup.rows - 1}" if lookup.rows > 1 else "0 only"
    return (
        f"Token types go up to {lookup.outside.greatest}, and the model has"
        f" {counted(lookup.rows, 'type')}: {lookup.table} has rows {last}."
    )


def made_in(seen: Recording) -> list[tuple[Source, ast.AST]]:
    """Lines of the script that make token types of their own: a name, or a column."""
    found: list[tuple[Source, ast.AST]] = []
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in source.nodes if source else ():
            if source is not None and makes_types(node):
                found.append((source, node))
    return found


def makes_types(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        if isinstance(node.value, ast.Call) and called(node.value) in ("Embedding", "EmbeddingBag"):
            return False
        return any(TYPES.search(name_of(one)) for one in targets(node))
    return False


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return dotted(node)


def declared_at(crash: Crash, lookup: Lookup, seen: Recording) -> Set | None:
    maker = maker_of(lookup, seen)
    if maker is not None:
        return maker.source, chosen(maker.source, maker.rows)
    known = numbers_in(crash)
    for source, _, keyword in keywords(seen, SIZE):
        if number_of(source, keyword.value, known) == lookup.rows:
            return source, keyword.value
    return None


def where(
    crash: Crash,
    lookup: Lookup,
    made: list[tuple[Source, ast.AST]],
    declared: Set | None,
) -> Place | None:
    """Where the types are made, if that is in the script; else where the model's are counted."""
    if declared is not None:
        return place_of(*declared)
    if len(made) == 1 and isinstance(made[0][1], ast.stmt):
        return Place(made[0][0].file, made[0][1].lineno, made[0][1].end_lineno)
    if lookup.layer and lookup.layer.made_at:
        return lookup.layer.made_at
    return crash.own_frame.place if crash.own_frame else None


def elsewhere(
    made: list[tuple[Source, ast.AST]], declared: Set | None, place: Place
) -> Iterator[Fact]:
    for source, node in made:
        if isinstance(node, ast.stmt) and node.lineno != place.line:
            text = " ".join(source.segment(node).split())
            yield Fact("types are made at", f"{source.file}:{node.lineno}  {text}")
    if declared is None:
        yield Fact(SIZE, "not set in your source")


def fixes(lookup: Lookup, declared: Set | None, seen: Recording) -> Iterator[Fix]:
    types = lookup.outside.greatest + 1
    edit = more_types(lookup, declared, seen)
    own = lookup.layer is not None and declared is not None and not is_setting(declared)
    setting = "" if own else f" (`{SIZE}={types}`)"
    yield Fix(
        f"{types} types{setting} where the model is made, if it is to tell them apart.",
        edit,
        why_not_tried=ITS_TYPES
        if edit
        else "a pretrained model has no more types than it was trained with",
    )
    if lookup.rows == 1:
        yield Fix(
            "Or leave `token_type_ids` out (`return_token_type_ids=False`): there is one type.",
            why_not_tried="whether the model is to tell the texts apart only you know",
        )
    else:
        yield Fix(
            f"Or number the types 0 to {lookup.rows - 1} where they are made.",
            why_not_tried="which types belong together only you know",
        )


def is_setting(declared: Set) -> bool:
    parent = declared[0].parents.get(declared[1])
    return isinstance(parent, ast.keyword) and parent.arg == SIZE


def more_types(lookup: Lookup, declared: Set | None, seen: Recording) -> Edit | None:
    types = lookup.outside.greatest + 1
    if declared is not None:
        source, node = declared
        if isinstance(node, ast.Constant):
            return replaced(source, node, str(types))
        return replaced(source, node, more(node, source.segment(node), types - lookup.rows))
    calls = [
        (one, call)
        for script in seen.all(Script)
        if (one := seen.source(script.file)) is not None
        for call in one.every(ast.Call)
        if called(call).endswith("Config") and one.imported(call.func).startswith("transformers")
    ]
    if len(calls) != 1 or "from_pretrained" in calls[0][0].text:
        return None
    return argument_added(calls[0][0], calls[0][1], SIZE, str(types))


@RULE.on(Script)
def types_in_the_source_have_no_row(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, IndexOutsideTable):
        rows = one.layer.number("num_embeddings") or 0
        if kind_of_lookup(one) != "types":
            continue
        name = wording.layer_name(source, one.node, one.layer)
        yield RULE.finding(
            wording.place_of(
                source,
                one.birth,
            ),
            f"Token types go up to {one.id}, and {name} has {rows} rows: 0 to {rows - 1}.",
            facts=(
                wording.layer_fact(source, name, one.layer),
                Fact("looked up at", wording.line_at(source, one.node)),
            ),
            fixes=(
                Fix(f"Make the table for {one.id + 1} types.", why_not_tried=wording.ONLY_READ),
            ),
            severity=Severity.WARNING,
        )
