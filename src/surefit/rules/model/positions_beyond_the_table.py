"""Rows are longer than the model has positions for.

## What happens
A model with learned positions has a table with one row for each (`max_position_embeddings`,
`n_positions`, the `max_len` of a table of your own). Position 64 of a table of 64 rows does not
exist; PyTorch says `index out of range in self`, as if a token were unknown.

## Why it matters
Only the batch with a long text fails, and enlarging the vocabulary, which the message suggests,
changes nothing.

## What to do
Truncate texts where they are tokenized (`truncation=True, max_length=64`), which loses what is cut
off; or make the table as long as the rows are, if the model is trained from scratch. A pretrained
model has as many positions as it was trained with.

## How it is recognised
A lookup failed, and the ids count up by one along each row: they are positions, and the last ones
have no row. Or a sum failed of a row and of what a module holds for positions (`self.pe[:, :n]`, or
the buffer of a library's model), which is shorter on one axis.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written, fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.positions import PositionsShort
from surefit.laws.contracts.tables import PositionsOutside
from surefit.laws.encodings import encoding_of, lineage_of_tokens
from surefit.laws.table_rows import rows_of
from surefit.laws.written_numbers import POSITIONS, written_in_model
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import equals
from surefit.remedies.enlarge import Enlarge
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.truncate import Truncate

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
NOT_EDITED = (ProducerKind.SETTING, ProducerKind.FILE)


@RULE.on(PositionsOutside)
@RULE.on(PositionsShort)
def positions_have_no_row(broken: PositionsOutside | PositionsShort, case: Case) -> Finding:
    size = where_counted(broken, case)
    tokens = lineage_of_tokens(case, broken.needed)
    own = broken.layer is not None and (broken.layer.own or isinstance(size, TableSize))
    encoding = encoding_of(case, tokens[0]) if tokens and not own else None
    length = tokens[1].birth(of=equals(broken.needed)) if tokens and not own else None
    if size is not None and broken.needed > broken.usable + broken.offset:
        length = None  # either number can be meant: the encoding is shown
    place = case.own if generates(case) and case.own else length or encoding or size or broken.use
    rows = counted(
        broken.usable + broken.offset, "row" if isinstance(broken, PositionsOutside) else "position"
    )
    start = f" and counts from {broken.offset}" if broken.offset else ""
    return case.finding(
        place.place,
        f"Rows of {broken.needed:,} tokens are longer than the model has positions: {broken.table}"
        f" has {rows}{start}.",
        facts=(
            *broken.facts(),
            *fact_at("positions are set at", size if size is not place else None),
            *fact_at("tokenized at", encoding if encoding is not place else None),
        ),
        ruled_out=(Fact("unknown tokens", "the ids count up by one: they are positions"),)
        if isinstance(broken, PositionsOutside)
        else (),
        why=f"The last {counted(broken.missing, 'position')} of the longest row"
        f" {'has' if broken.missing == 1 else 'have'} no row in the table.",
        remedies=remedies(broken, size, encoding, length),
    )
