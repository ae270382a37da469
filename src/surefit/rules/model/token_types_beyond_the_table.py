"""Token types (segment ids) are larger than the model has types.

## What happens
Models such as BERT have a small table for the type of each token: first or second text. With
`type_vocab_size=1` it has a row for 0 only. A tokenizer for pairs, or a third segment, gives more
types than there are: `index out of range in self`.

## Why it matters
It looks like an unknown token, and a larger vocabulary changes nothing.

## What to do
If the model has no types by design (RoBERTa), leave `token_type_ids` out
(`return_token_type_ids=False`); if it must tell the texts apart, give it as many types
(`type_vocab_size=2`).

## How it is recognised
A lookup failed in a table that the model, or the line that calls it, names as that of token types
or segments, and ids lie at or above its number of rows. A second run shows the call of the
tokenizer that returned them, and where the number of types was written.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.tables import TypesOutside
from surefit.laws.layers.table_rows import rows_of
from surefit.laws.rows.encodings import encoding_of
from surefit.laws.values.written_numbers import TYPES, config_of, written_in_model
from surefit.lineage.properties import holds_at_least, of_several
from surefit.remedies.arguments import SetArgument
from surefit.remedies.enlarge import Enlarge

SYMPTOM = Symptom(
    r"index out of range in self|device-side assert",
    "whether `token_type_ids` are larger than the model has types",
    r"functional\.py:embedding",
)
RULE = Rule("SF344", "token-types-beyond-the-table", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
SIZE = "type_vocab_size"
COLUMN = "return_token_type_ids"


@RULE.on(TypesOutside)
def types_have_no_row(broken: TypesOutside, case: Case) -> Finding:
    rows = rows_of(case, broken.layer, broken.rows)
    size: Written | None = rows.handed_in(case) if rows else broken.size
    size = size or written_in_model(case, broken.rows, TYPES)
    encoding = encoding_of(case, broken.ids)
    birth = case.lineage(broken.ids).birth(of=of_several(holds_at_least(broken.rows)))
    place: Written = size or encoding or birth or broken.use
    if encoding is not None and broken.rows == 1:
        place = encoding
    last = f"0 to {broken.rows - 1}" if broken.rows > 1 else "0 only"
    return case.finding(
        place.place,
        f"Token types go up to {broken.greatest}, and the model has"
        f" {counted(broken.rows, 'type')}: {broken.table} has rows {last}.",
        facts=(
            *broken.facts(),
            *fact_at("types come from", encoding or birth),
            *fact_at("its rows are set at", size if size is not place else None),
        ),
        ruled_out=(Fact("unknown tokens", "these are the types of tokens, not the tokens"),),
        remedies=remedies(broken, case, size, encoding),
    )


def remedies(
    broken: TypesOutside, case: Case, size: Written | None, encoding: Written | None
) -> Iterator[Remedy | Fix]:
    types = broken.greatest + 1
    if broken.rows == 1:
        yield SetArgument(
            at=encoding,
            name=COLUMN,
            value="False",
            words=f"Leave the types out, as the model has a single one: `{COLUMN}=False`.",
            must=broken.holds(1),
            choice=True,
        )
    must = broken.holds(types, broken.rows, past=True)
    if size is not None:
        words = f"{types} types at {size.place}, if the model is to tell them apart."
        yield Enlarge(at=size, by=types - broken.rows, words=words, must=must)
    else:
        yield SetArgument(
            at=config_of(case),
            name=SIZE,
            value=str(types),
            words=f"If the model is to tell them apart: `{SIZE}={types}` in its configuration. A"
            " pretrained model has no more types than it was trained with.",
            must=must,
            choice=True,
        )
    if broken.rows > 1:
        words = f"Number the types 0 to {broken.rows - 1} where they are created."
        yield Fix(words, choice=True)
