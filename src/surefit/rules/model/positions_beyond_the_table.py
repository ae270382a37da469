"""Rows are longer than the model has positions for.

## What happens
A model with learned positions has a table with one row for each (`max_position_embeddings`, the
`max_len` of a table of your own). Position 64 of a table of 64 rows does not exist; PyTorch says
`index out of range in self`, as if a token were unknown.

## Why it matters
Only the batch with a long text fails, and a larger vocabulary, which the message suggests, changes
nothing.

## What to do
Truncate texts where they are tokenized (`truncation=True, max_length=64`), which loses what is cut
off; or make the table as long as the rows are, if the model is trained from scratch.

## How it is recognised
A lookup failed, and the ids count up by one along each row: they are positions, and the last ones
have no row. Or a sum failed of a row and of what a module holds for positions (`self.pe[:, :n]`, or
the buffer of a library's model), which is shorter on one axis.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy, use_of
from surefit.laws.contracts.positions import PositionsShort
from surefit.laws.contracts.tables import PositionsOutside
from surefit.laws.layers.table_rows import rows_of
from surefit.laws.rows.encodings import encoding_of, lineage_of_tokens
from surefit.laws.values.named_arguments import argument_named
from surefit.laws.values.written_numbers import POSITIONS, written_in, written_in_model
from surefit.remedies.enlarge import Enlarge
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.truncate import Truncate

SYMPTOM = Symptom(
    r"index out of range in self|device-side assert",
    "whether the rows of the batch are longer than the table of positions",
    r"functional\.py:embedding",
)
RULE = Rule("SF342", "positions-beyond-the-table", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

Short = PositionsOutside | PositionsShort


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the two numbers come from that do not go together."""

    size: Written | None
    """How many positions there are."""
    encoding: Written | None
    length: Written | None
    """How long rows are."""


@RULE.on(PositionsOutside)
@RULE.on(PositionsShort)
def positions_have_no_row(broken: Short, case: Case) -> Finding:
    sources = sources_of(broken, case)
    size, encoding = sources.size, sources.encoding
    place: Written = sources.length or encoding or size or broken.use
    if generates(case) and case.own is not None:
        place = use_of(case.own)
    held = "row" if isinstance(broken, PositionsOutside) else "position"
    start = f" and counts from {broken.offset}" if broken.offset else ""
    tokens = Fact("unknown tokens", "the ids count up by one: they are positions")
    return case.finding(
        place.place,
        f"Rows of {broken.needed:,} tokens are longer than the model has positions: {broken.table}"
        f" has {counted(broken.usable + broken.offset, held)}{start}.",
        facts=(
            *broken.facts(),
            *fact_at("positions are set at", size if size is not place else None),
            *fact_at("tokenized at", encoding if encoding is not place else None),
        ),
        ruled_out=(tokens,) if isinstance(broken, PositionsOutside) else (),
        why=f"At the end of the longest row, {counted(broken.missing, 'position')} have no {held}."
        if broken.missing > 1
        else f"The last position of the longest row has no {held}.",
        remedies=remedies(broken, sources, passed_apart(sources.size, case)),
    )


def sources_of(broken: Short, case: Case) -> Sources:
    layer = broken.layer
    if isinstance(broken, PositionsOutside):
        rows = rows_of(case, layer, broken.rows)
        if rows is not None or broken.size is not None:
            return Sources(rows.birth if rows else broken.size, None, None)
    elif layer is not None and layer.own:
        return Sources(written_in(case.lineage(broken.held), broken.usable), None, None)
    size = written_in_model(case, broken.usable, POSITIONS)
    whole = written_in_model(case, broken.usable + broken.offset, POSITIONS)
    tokens = lineage_of_tokens(case, broken.needed)
    encoding = encoding_of(case, tokens[0]) if tokens else None
    length = written_in(tokens[1], broken.needed) if tokens else None
    if (size or whole) and broken.needed > broken.usable + broken.offset:
        length = None  # the script writes both, and either can be meant
    return Sources(size or whole, encoding, length)


def generates(case: Case) -> bool:
    return any(frame.function.endswith("generate") and not frame.own for frame in case.frames)


def passed_apart(size: Written | None, case: Case) -> Written | None:
    """`n_positions=BLOCK`, where the number itself is written elsewhere: a name can be shared with
    the length of the rows, and is then no place to enlarge one of them."""
    for name in POSITIONS if size is not None else ():
        argument = argument_named(name, case)
        if argument is not None:
            return argument if size is None or argument.place != size.place else None
    return None


def remedies(
    broken: Short, sources: Sources, argument: Written | None = None
) -> Iterator[Remedy | Fix]:
    lost = f"the longest row here loses {counted(broken.missing, 'token')}"
    must = broken.holds(broken.rows) if isinstance(broken, PositionsOutside) else None
    at, usable = sources.length, broken.usable
    if at is not None:
        words = f"Rows of at most {usable:,} tokens, at {at.place}; {lost}."
        yield ReplaceWith(at=at, text=str(usable), words=words, must=must, choice=True)
    if sources.size is not None:
        yield from larger(broken, sources.size)
    if argument is not None:
        past = None
        if isinstance(broken, PositionsOutside):
            by = broken.needed - broken.usable
            past = broken.holds(broken.rows + by, broken.rows, past=True)
        words = f"{broken.needed:,} positions for the model alone, at {argument.place}."
        text = str(broken.needed + broken.offset)
        yield ReplaceWith(at=argument, text=text, words=words, must=past, choice=True)
    if at is None and sources.encoding is not None:
        words = f"Truncate at `max_length={usable}`; {lost}."
        yield Truncate(at=sources.encoding, length=usable, words=words, must=must)
    elif at is None:
        words = f"Cut rows to {usable:,} tokens where they are created; {lost}."
        yield Fix(words, choice=True)


def larger(broken: Short, size: Written) -> Iterator[Remedy]:
    """As many as the longest row needs; the next power of two, as other rows can be longer."""
    room = int(2 ** (max(broken.needed, 2 * broken.usable) - 1).bit_length())
    for count in dict.fromkeys([broken.needed, room]):
        by, must = count - broken.usable, None
        if isinstance(broken, PositionsOutside):
            must = broken.holds(broken.rows + by, broken.rows, past=True)
        why = "with room for longer rows" if count > broken.needed else "as the longest row needs"
        words = f"{count:,} positions, {why}, at {size.place}. Nothing is cut off."
        yield Enlarge(at=size, by=by, words=words, must=must)
