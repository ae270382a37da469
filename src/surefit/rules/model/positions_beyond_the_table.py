"""Rows are longer than the model has positions for.

## What happens
A model with learned positions has a table with one row for each (`max_position_embeddings`,
`n_positions`, the `max_len` of a table of your own). Position 64 of a table of 64 rows does not
exist; PyTorch says `index out of range in self`, as if a token were unknown.

## Why it matters
Only the batch with a long text fails, and enlarging the vocabulary, which the message suggests,
changes nothing.

## What to do
Cut texts where they are tokenized (`truncation=True, max_length=64`), which loses what is cut off;
or make the table as long as the rows are, if the model is trained from the start. The positions of
a pretrained model cannot be made more without training them.

## How it is recognised
A lookup failed, and the ids count up by one along each row: they are positions, and the last ones
have no row. Or a sum failed of a row and of what a module holds for positions (`self.pe[:, :n]`, or
the buffer of a library's model), which is shorter on one axis.

In a script that is only read: positions are counted over rows whose length stands in the source,
and the table that they are looked up in is shorter.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted
from surefit.evidence.chosen_lengths import length_chosen
from surefit.evidence.known_numbers import number_of, numbers_in
from surefit.evidence.set_sizes import chosen, keywords, place_of
from surefit.evidence.short_positions import Stretch, stretch_of
from surefit.evidence.table_makers import Maker, maker_of, more
from surefit.evidence.tokenizer_calls import cuts, cuts_at, encoding_calls
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import kind_of_lookup
from surefit.interpreter.violations import IndexOutsideTable
from surefit.source.edits import argument_added, replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF342",
    "positions-beyond-the-table",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"index out of range in self|device-side assert",
            "whether the rows of the batch are longer than the table of positions",
            r"functional\.py:embedding",
        ),
    ),
)

SIZES = (
    *("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions"),
    *("max_target_positions", "max_seq_len", "max_sequence_length", "block_size"),
)
HOW_LONG = "how long rows are to be, and how many positions a model has, only you can choose"
NEAR = 2
"""So many positions are missing where special tokens were not counted."""

Declared = tuple[Source, ast.expr]
Encoding = tuple[Source, ast.Call]


@RULE.on(Crash)
def positions_have_no_row(crash: Crash, seen: Recording) -> Iterator[Finding]:
    stretch = stretch_of(crash, seen)
    if stretch is None:
        return
    maker = maker_of(stretch.lookup, seen) if stretch.lookup else None
    own = maker is not None or (stretch.layer is not None and stretch.layer.own)
    declared = declared_at(crash, stretch, maker, seen)
    encoding = None if own else long_encoding(crash, stretch, seen)
    length = None if own else length_of_rows(stretch, declared, seen)
    place = where(crash, stretch, declared, encoding, length)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(stretch),
        facts=(*stretch.facts(), *sizes(declared, encoding or length)),
        ruled_out=ruled_out(stretch),
        why=why(stretch),
        fixes=tuple(fixes(crash, stretch, maker, declared, encoding, length)),
        python_said=crash.said,
        about=crash.id,
    )


def headline(stretch: Stretch) -> str:
    start = f" and counts from {stretch.offset}" if stretch.offset else ""
    held = "position" if stretch.added else "row"
    rows = counted(stretch.usable + stretch.offset, held)
    return (
        f"Rows of {stretch.needed:,} tokens are longer than the model has positions:"
        f" {stretch.table} has {rows}{start}."
    )


def why(stretch: Stretch) -> str:
    if stretch.missing == 1:
        return "The last place of the longest row has no position."
    return f"The last {stretch.missing:,} places of the longest row have no position."


def ruled_out(stretch: Stretch) -> tuple[Fact, ...]:
    if stretch.lookup is None:
        return ()
    return (Fact("unknown tokens", "the ids count up by one: they are positions"),)


def declared_at(
    crash: Crash, stretch: Stretch, maker: Maker | None, seen: Recording
) -> Declared | None:
    """The number of positions as the source sets it: in a module of its own, or in the settings of
    a library's model."""
    if maker is not None:
        return maker.source, chosen(maker.source, maker.rows)
    if stretch.added is not None and stretch.layer is not None and stretch.layer.own:
        return set_in_class(stretch, seen)
    known = numbers_in(crash)
    for source, _, keyword in keywords(seen, *SIZES):
        if number_of(source, keyword.value, known) in (
            stretch.usable,
            stretch.usable + stretch.offset,
        ):
            return source, keyword.value
    return None


def set_in_class(stretch: Stretch, seen: Recording) -> Declared | None:
    """An argument of the module's class, its default, or a number in its `__init__`."""
    source = seen.source(stretch.added.frame.place) if stretch.added else None
    kind = stretch.layer.kind if stretch.layer else ""
    classes = [one for one in source.every(ast.ClassDef) if one.name == kind] if source else []
    if source is None or len(classes) != 1:
        return None
    made = [one for one in source.every(ast.Call) if called(one) == kind]
    given = [value for one in made for value in (*one.args, *(k.value for k in one.keywords))]
    inits = [
        one
        for one in classes[0].body
        if isinstance(one, ast.FunctionDef) and one.name == "__init__"
    ]
    defaults = [
        one for init in inits for one in (*init.args.defaults, *init.args.kw_defaults) if one
    ]
    inside = [
        value
        for init in inits
        for call in ast.walk(init)
        if isinstance(call, ast.Call)
        for value in call.args
    ]
    for node in (*given, *defaults, *inside):
        if number_of(source, node, {}) == stretch.usable:
            return source, chosen(source, node)
    return None


def length_of_rows(stretch: Stretch, declared: Declared | None, seen: Recording) -> Declared | None:
    """Where rows are said to be so long. A script that sets the positions, too, could have meant
    either, unless it counts the rows of the table that the model keeps for itself."""
    if declared is not None and stretch.needed > stretch.usable + stretch.offset:
        return None
    return length_chosen(seen, stretch.needed, declared[1] if declared else None)


def long_encoding(crash: Crash, stretch: Stretch, seen: Recording) -> Encoding | None:
    """The one call that makes ids of text and does not cut, or cuts too late."""
    known = numbers_in(crash)
    found = []
    for source, call in encoding_calls(seen):
        at = number_of(source, cuts_at(source, call), known)
        if not (cuts(source, call) and at is not None and at <= stretch.usable):
            found.append((source, call))
    return found[0] if len(found) == 1 else None


def where(
    crash: Crash,
    stretch: Stretch,
    declared: Declared | None,
    encoding: Encoding | None,
    length: Declared | None,
) -> Place | None:
    """Where texts are made too long; in models of one's own, where the positions are counted."""
    generating = [one for one in crash.frames if one.function.endswith("generate") and not one.own]
    if generating and crash.own_frame:
        return crash.own_frame.place
    if length is not None:
        return Place(length[0].file, length[1].lineno)
    if encoding is not None:
        return Place(encoding[0].file, encoding[1].lineno, encoding[1].end_lineno)
    if declared is not None:
        return place_of(*declared)
    if stretch.layer and stretch.layer.made_at:
        return stretch.layer.made_at
    return crash.own_frame.place if crash.own_frame else None


def sizes(declared: Declared | None, encoding: Encoding | Declared | None) -> Iterator[Fact]:
    if declared is not None and encoding is not None:
        source, node = declared
        text = " ".join(source.lines[node.lineno - 1].split())
        yield Fact("positions are set at", f"{source.file}:{node.lineno}  {text}")
    if encoding is not None and isinstance(encoding[1], ast.Call):
        source, call = encoding[0], encoding[1]
        how = "cuts, but later" if cuts(source, call) else "does not cut"
        if cuts(source, call) and cuts_at(source, call) is None:
            how = "`truncation=True` without `max_length`: it cuts at its own `model_max_length`"
        yield Fact("the tokenizer", f"{how} ({source.file}:{call.lineno})")


def fixes(
    crash: Crash,
    stretch: Stretch,
    maker: Maker | None,
    declared: Declared | None,
    encoding: Encoding | None,
    length: Declared | None,
) -> Iterator[Fix]:
    if length is not None:
        yield shorter_rows(stretch, length)
    enough = dict.fromkeys([stretch.needed, with_room(stretch)])
    edits = [(size, edit) for size in enough if (edit := grown(stretch, size, maker, declared))]
    for size, edit in edits:
        room = "as many positions as the longest row here has tokens"
        room = "with room for longer rows" if size > stretch.needed else room
        room = f"Or {room}" if length or size > stretch.needed else f"{room[0].upper()}{room[1:]}"
        yield Fix(f"{room}: {size:,}. Nothing is cut off.", edit, why_not_tried=HOW_LONG)
    begin = "Or cut" if edits else "Cut"
    lost = counted(stretch.missing, "token")
    if length is not None:
        return
    if encoding is not None:
        source, call = encoding
        shorter = both(
            argument_added(source, call, "truncation", "True"),
            argument_added(source, call, "max_length", str(stretch.usable)),
        )
        yield Fix(
            f"{begin} at `max_length={stretch.usable}`, which takes {lost} off the longest row"
            " here, and as much as is needed off others.",
            shorter,
            why_not_tried=HOW_LONG,
        )
    elif crash.own_frame:
        yield Fix(
            f"{begin} rows at {stretch.usable:,} tokens where they are made (`truncation=True,"
            f" max_length={stretch.usable}`): {lost} of the longest row are lost.",
            why_not_tried="what can be cut off only you know",
        )


def shorter_rows(stretch: Stretch, length: Declared) -> Fix:
    source, node = length
    kept = ""
    if stretch.offset:
        rows = counted(stretch.usable + stretch.offset, "row")
        kept = f"the table has {rows}, and {stretch.offset} of them are no positions; "
    lost = counted(stretch.missing, "token")
    return Fix(
        f"Make rows at most {stretch.usable:,} tokens long, where their length is chosen: {kept}the"
        f" longest row here loses {lost}.",
        replaced(source, node, str(stretch.usable)),
        why_not_tried=HOW_LONG,
    )


def with_room(stretch: Stretch) -> int:
    """The next power of two: rows of other batches can be longer."""
    return int(2 ** (max(stretch.needed, 2 * stretch.usable) - 1).bit_length())


def grown(
    stretch: Stretch, size: int, maker: Maker | None, declared: Declared | None
) -> Edit | None:
    """In a module of one's own, or in the settings of a library's model that is not pretrained."""
    missing = size - stretch.usable
    if maker is not None and missing <= NEAR:
        return replaced(maker.source, maker.rows, more(maker.rows, maker.written, missing))
    if declared is None:
        return None
    source, node = declared
    if isinstance(node, ast.Constant) or maker is None:
        return replaced(source, node, more(node, source.segment(node), missing))
    return replaced(maker.source, maker.rows, more(maker.rows, maker.written, missing))


@RULE.on(Script)
def positions_in_the_source_have_no_row(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, IndexOutsideTable):
        rows = one.layer.number("num_embeddings") or 0
        if kind_of_lookup(one) != "positions":
            continue
        name = wording.layer_name(source, one.node, one.layer)
        yield RULE.finding(
            wording.place_of(
                source,
                one.birth,
            ),
            f"Positions go up to {one.id}, and {name} has {rows} rows: 0 to {rows - 1}.",
            facts=(
                wording.layer_fact(source, name, one.layer),
                Fact("looked up at", wording.line_at(source, one.node)),
            ),
            fixes=(
                Fix(
                    f"Give the table at least {one.id + 1} rows, or cut the rows of the data"
                    " shorter.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
