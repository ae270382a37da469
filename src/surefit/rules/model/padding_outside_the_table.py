"""Rows are filled up with a number that the embedding table has no row for.

## What happens
Rows of different lengths are padded, often with -1 or with -100, the label that a loss ignores. A
loss can ignore a label; a table cannot ignore an id: it looks up every one, and there is no row -1.
The same happens to a marker for "unknown" or "missing" that was never given a row, and to a pad id
that is one behind the last row. PyTorch says `index out of range in self`.

## Why it matters
Single rows and batches of equal length go through, so that a quick test finds nothing.

## What to do
Give padding a row of its own: a table that is one row larger, with `padding_idx`, whose values stay
zero, and the marker replaced by that row's number where ids are looked up. The -100 of labels may
stay in the labels; what a decoder reads of them gets the pad token.

## How it is recognised
A lookup failed, and all ids outside the table are one number: a negative one, or one that stands
only at the ends of rows, in some more often than in others, and that no tokenizer has a token for.

In a script that is only read: `pad_sequence` fills rows up with a negative number, and what it
gives is looked up in a table.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.known_numbers import numbers_in
from surefit.evidence.looked_up import Entry, entries_of
from surefit.evidence.paddings import Padding, paddings
from surefit.evidence.table_lookups import Lookup, are_filler, facts, lookup_of, names
from surefit.evidence.table_makers import (
    Maker,
    maker_of,
    more,
    rows_become,
    shares_its_rows,
    with_filler,
)
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import kind_of_lookup
from surefit.interpreter.violations import IndexOutsideTable
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import dotted

RULE = Rule(
    "SF341",
    "padding-outside-the-table",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"index out of range in self|device-side assert",
            "whether the ids outside the table are all the one number that fills up rows",
            r"functional\.py:embedding",
        ),
    ),
)

IGNORED = -100
"""The label that losses pass over."""
DECODER_IDS = "decoder_input_ids"

ITS_SIZE = "a larger table is another model: which row padding is to have only you can choose"


@RULE.on(Crash)
def padding_has_no_row(crash: Crash, seen: Recording) -> Iterator[Finding]:
    lookup = lookup_of(crash, seen)
    if lookup is None or lookup.marker is None or not are_filler(crash, lookup):
        return
    entries = entries_of(crash, seen, lookup.ids, lookup.marker)
    entry = entries[0] if entries else None
    filled = paddings(seen, lookup.marker, numbers_in(crash))
    place = place_of(crash, lookup, entries, filled, seen)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(lookup, entry, filled),
        facts=(*facts(lookup), where_in_rows(lookup), *filled_at(filled, place)),
        why=why(lookup),
        fixes=tuple(fixes(crash, lookup, entry, maker_of(lookup, seen), filled)),
        python_said=crash.said,
        about=crash.id,
    )


def place_of(
    crash: Crash, lookup: Lookup, entries: list[Entry], filled: list[Padding], seen: Recording
) -> Place | None:
    """Where the number was chosen; the labels' own -100 was not chosen for ids, and there it is
    the line that takes labels for ids."""
    if are_decoder_ids(crash, lookup):
        taken = [one for one in map(made_of_labels, entries) if one is not None]
        return next(iter((*taken, *given_to_decoder(seen))), None) or last_place(crash, entries)
    labels = [one for one in entries if is_called_labels(one)]
    if lookup.marker == IGNORED and labels:
        return labels[-1].frame.place
    if filled:
        return filled[0].place
    return entries[0].frame.place if entries else last_place(crash, entries)


def last_place(crash: Crash, entries: list[Entry]) -> Place | None:
    """The outermost line that hands the ids down."""
    if entries:
        return entries[-1].frame.place
    return crash.own_frame.place if crash.own_frame else None


def are_decoder_ids(crash: Crash, lookup: Lookup) -> bool:
    """Labels that were given to a decoder as what it reads, -100 among them."""
    return lookup.marker == IGNORED and any(
        one.rpartition(".")[2] == DECODER_IDS for one in names(crash, lookup)
    )


def made_of_labels(entry: Entry) -> Place | None:
    """The one statement that gives the ids their name in the function that hands them over."""
    bound = entry.source.bound_by(entry.node) if isinstance(entry.node, ast.Name) else []
    made = bound[0] if len(bound) == 1 else None
    return Place(entry.source.file, made.lineno) if isinstance(made, ast.Assign) else None


def given_to_decoder(seen: Recording) -> Iterator[Place]:
    """The entries of batches under the decoder's own name, where a batch is handed over whole."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for key, value in entries_of_batches(source.tree) if source else ():
            if key == DECODER_IDS and source is not None:
                yield Place(source.file, value.lineno)


def is_called_labels(entry: Entry) -> bool:
    return any(word in entry.text.lower() for word in ("label", "target", "tgt"))


def headline(lookup: Lookup, entry: Entry | None, filled: list[Padding]) -> str:
    name = f" ({code(entry.text)})" if entry else ""
    rows = f"{lookup.table} has {counted(lookup.rows, 'row')}, 0 to {lookup.rows - 1:,}"
    if lookup.marker == IGNORED:
        begin = f"Its ids{name} contain -100, the label that a loss ignores, and a table cannot"
        return f"{begin}: {rows}."
    if is_padding(lookup) and lookup.ids.shape and len(lookup.ids.shape) > 1:
        written = next((one.source.segment(one.node) for one in filled), "")
        as_written = f" (`{written}`)" if written and written != str(lookup.marker) else ""
        begin = (
            f"Rows are padded with {lookup.marker}{as_written}, and the padded ids are looked up"
        )
        return f"{begin}: {rows}."
    negative = "a negative id" if (lookup.marker or 0) < 0 else "an id"
    return f"{lookup.marker} is {negative} that has no row: {rows}."


def is_padding(lookup: Lookup) -> bool:
    return lookup.outside.at_the_end or lookup.outside.at_the_start


def where_in_rows(lookup: Lookup) -> Fact:
    if lookup.outside.at_the_end:
        return Fact(f"where {lookup.marker} stands", "only at the ends of rows: padding")
    if lookup.outside.at_the_start:
        return Fact(f"where {lookup.marker} stands", "only at the beginnings of rows: padding")
    return Fact(f"where {lookup.marker} stands", "between other ids: a marker")


def filled_at(filled: list[Padding], place: Place) -> Iterator[Fact]:
    for one in filled:
        if one.used_at.line != place.line:
            text = " ".join(one.source.lines[one.node.lineno - 1].split())
            yield Fact("filled at", f"{one.used_at}  {text}")


def why(lookup: Lookup) -> str:
    if not is_padding(lookup) and (lookup.marker or 0) < 0:
        return "A table looks up every id as it is, and a negative id is no row."
    if (lookup.marker or 0) < 0:
        return (
            "A loss can be told to ignore a label (`ignore_index`); a table looks up every id, and"
            " a negative id is no row. Rows of one length need no padding, and went through."
        )
    return f"The ids of {lookup.rows:,} rows end at {lookup.rows - 1:,}; padding has none of them."


def fixes(
    crash: Crash,
    lookup: Lookup,
    entry: Entry | None,
    maker: Maker | None,
    filled: list[Padding],
) -> Iterator[Fix]:
    marker = lookup.marker
    if are_decoder_ids(crash, lookup):
        yield from for_a_decoder(lookup, entry)
        return
    edit, text = change(lookup, entry, maker)
    if edit is None and lookup.filler is not None:
        columns = {one.rpartition(".")[2] for one in names(crash, lookup)}
        edit = in_batch(filled, columns, lookup)
        text = (
            (
                f"Put row {lookup.filler}, the table's `padding_idx`, into the batch in place of"
                f" {marker}; masks and labels stay as they are."
            )
            if edit
            else text
        )
    if edit is not None:
        if lookup.filler is None:
            yield Fix(text, edit, why_not_tried=ITS_SIZE)
        else:
            yield Fix(text, edit, IdsFit(lookup.width, lookup.rows, lookup.rows))
        return
    yield Fix(
        f"Give padding a row of its own: `nn.Embedding({lookup.rows + 1}, {lookup.width},"
        f" padding_idx={lookup.rows})`, and that number in place of {marker} where ids are looked"
        " up.",
        why_not_tried=text,
    )
    yield Fix(
        f"Or fill ids with one that has a row, and keep {marker} for labels only.",
        why_not_tried="only you know which row is free for padding",
    )


def for_a_decoder(lookup: Lookup, entry: Entry | None) -> Iterator[Fix]:
    """-100 stands only where labels are ignored, and what is read there does not count."""
    row = "" if lookup.filler is None else str(lookup.filler)
    if not row and entry is not None:
        row = pad_of_model(entry)
    edit = None
    if entry is not None and row and lookup.outside.at_the_end:
        edit = entry.replaced_ids(f"{{ids}}.masked_fill({{ids}} == {IGNORED}, {row})")
    text = f"{entry.text if entry else DECODER_IDS}.masked_fill(... == {IGNORED}, {row or 'pad'})"
    yield Fix(
        f"Give the decoder the pad token in place of {IGNORED}, and keep {IGNORED} in the labels:"
        f" {code(text)}.",
        edit,
        IdsFit(lookup.width, lookup.rows, lookup.rows) if edit else None,
        "" if edit else "the call that hands the ids to the model was not found in your source",
    )
    yield Fix(
        f"Or give `labels` alone: the model makes its `{DECODER_IDS}` of them, shifted to the"
        f" right, with the pad token in place of {IGNORED}, as `shift_tokens_right` does.",
        why_not_tried="whether the labels begin with the token that decoding starts from only you"
        " know",
    )


def pad_of_model(entry: Entry) -> str:
    """`model.config.pad_token_id`, where the call is that of a library's model."""
    span = entry.frame.span
    node = entry.source.expression_at(span) if span else None
    text = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    models = [one.layer for one in entry.frame.values if one.text == text and one.layer]
    return f"{text}.config.pad_token_id" if models and not models[0].own else ""


def in_batch(filled: list[Padding], columns: set[str], lookup: Lookup) -> Edit | None:
    """Where a collator puts the padded ids into a batch under the model's own name for them."""
    found = []
    for padding in filled:
        source = padding.source
        scope = source.scope_of(padding.node)
        named = names_bound(source.statement_of(padding.node))
        for key, value in entries_of_batches(scope):
            if key in columns and isinstance(value, ast.Name) and value.id in named:
                text = f"{value.id}.masked_fill({value.id} == {lookup.marker}, {lookup.filler})"
                found.append(replaced(source, value, text))
            elif key in columns and padding.node in ast.walk(value):
                found.append(replaced(source, padding.node, str(lookup.filler)))
    return found[0] if len(found) == 1 else None


def names_bound(statement: ast.stmt) -> set[str]:
    names = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def entries_of_batches(scope: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """`{"input_ids": ids}`, `batch["input_ids"] = ids`, `dict(input_ids=ids)`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Call) and dotted(node.func) in ("dict", "BatchEncoding"):
            yield from ((one.arg, one.value) for one in node.keywords if one.arg)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key_ = node.targets[0].slice
            if isinstance(key_, ast.Constant) and isinstance(key_.value, str):
                yield key_.value, node.value


def change(lookup: Lookup, entry: Entry | None, maker: Maker | None) -> tuple[Edit | None, str]:
    """The edit and what it is, or why there is none."""
    marker = lookup.marker
    if marker is not None and marker >= 0:
        return pad_row_added(lookup, maker)
    if entry is None:
        return None, "the line of yours that takes these ids was not found"
    if lookup.filler is not None:
        edit = entry.replaced_ids(f"{{ids}}.masked_fill({{ids}} == {marker}, {lookup.filler})")
        text = (
            f"Look up row {lookup.filler}, the table's `padding_idx`, in place of {marker}:"
            f" `{entry.text}.masked_fill({entry.text} == {marker}, {lookup.filler})`."
        )
        return edit, text if edit else "the ids have no name at this line"
    if maker is None:
        return None, "which row is free for padding only you know"
    if shares_its_rows(maker):
        return None, "the table's weights are used for something else, too"
    table = entry.table_text
    row = f"{table}.padding_idx" if is_padding(lookup) else f"{table}.num_embeddings - 1"
    edit = entry.replaced_ids(f"{{ids}}.masked_fill({{ids}} == {marker}, {row})")
    if edit is None or table is None or edit.file != maker.source.file:
        return None, "the ids have no name at this line"
    if not is_padding(lookup):
        text = (
            f"Give {marker} a row of its own, one behind the others, trained as they are, and look"
            " it up in its place."
        )
        return both(rows_become(maker, more(maker.rows, maker.written, 1)), edit), text
    text = (
        f"Give padding a row of its own, one behind the others, with `padding_idx` (always zero,"
        f" never trained), and look it up in place of {marker}; {marker} stays in the labels."
    )
    return both(with_filler(maker, maker.written), edit), text


def pad_row_added(lookup: Lookup, maker: Maker | None) -> tuple[Edit | None, str]:
    """A pad id that is one behind the last row gets it."""
    if maker is None or lookup.marker != lookup.rows:
        return None, "which row is free for padding only you know"
    if shares_its_rows(maker):
        return None, "the table's weights are used for something else, too"
    text = (
        f"One row more, for the pad id {lookup.marker}, with `padding_idx`: it stays zero and is"
        " never trained."
    )
    return with_filler(maker, maker.written), text


@RULE.on(Script)
def padding_in_the_source_has_no_row(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, IndexOutsideTable):
        rows = one.layer.number("num_embeddings") or 0
        if kind_of_lookup(one) != "padding":
            continue
        name = wording.layer_name(source, one.node, one.layer)
        yield RULE.finding(
            wording.place_of(source, one.tensor.padding or one.node),
            f"Rows are padded with {one.id}, and the padded ids are looked up: {name} has {rows}"
            " rows, 0"
            f" to {rows - 1}.",
            facts=(
                wording.layer_fact(source, name, one.layer),
                Fact("looked up at", wording.line_at(source, one.node)),
            ),
            fixes=(
                Fix(
                    "Pad with an id that has a row, and give the table `padding_idx`; let the loss"
                    " ignore it by"
                    " `ignore_index`.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
