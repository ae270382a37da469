"""Rows are padded with a number that the embedding table has no row for.

## What happens
Rows of different lengths are padded, often with -1 or with -100, the label that a loss ignores. A
table cannot ignore an id: it looks up every one, and there is no row -1. The same happens to a
marker for "unknown" that has no row, and to a pad id that follows the last row. PyTorch says `index
out of range in self`.

## Why it matters
Single rows and batches of equal length need no padding, so that a quick test finds nothing.

## What to do
Give padding a row of its own: a table that is one row larger, with `padding_idx`, and the marker
replaced by that row's number where ids are looked up. The -100 of labels may stay in the labels; a
decoder that reads them gets the pad token in its place.

## How it is recognised
A lookup failed, and all ids outside the table are one number: a negative one, or one that stands
only at the ends of rows, in some more often than in others, and that no tokenizer has a token for.
A second run shows where that number was written.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.tables import MarkerOutside
from surefit.laws.layers.table_rows import TableRows, rows_of
from surefit.laws.layers.vocabularies import bound_name
from surefit.laws.values.names import shortest
from surefit.lineage.producers import Producer, Way
from surefit.lineage.properties import contains
from surefit.remedies.arguments import SetArgument
from surefit.remedies.enlarge import Enlarge
from surefit.remedies.substitute import Substitute
from surefit.remedies.together import Together

SYMPTOM = Symptom(
    r"index out of range in self|device-side assert",
    "whether the ids outside the table are all the one number that fills up rows",
    r"functional\.py:embedding",
)
RULE = Rule("SF341", "padding-outside-the-table", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
IGNORED = -100
"""The label that losses ignore."""
DECODER_IDS = "decoder_input_ids"
LABELS = ("label", "target", "tgt", DECODER_IDS)


@RULE.on(MarkerOutside)
def padding_has_no_row(broken: MarkerOutside, case: Case) -> Finding:
    marker = broken.marker
    assert marker is not None
    lineage = case.lineage(broken.ids)
    birth: Written | None = lineage.birth(of=contains(marker)) or broken.ids.birth
    labels = marker == IGNORED and any(word in known for known in broken.names for word in LABELS)
    taken = next(iter(lineage.producers), None) if labels else birth
    place = (taken or broken.use).place
    stands = "between other ids: a marker"
    if broken.outside.pads:
        stands = f"only at the {'ends' if broken.outside.at_the_end else 'starts'} of rows: padding"
    return case.finding(
        place,
        headline(broken, case, birth),
        facts=(
            *broken.facts(),
            Fact(f"where {marker} stands", stands),
            *fact_at("written at", birth if birth and birth.place != place else None),
            *fact_at("looked up at", broken.use if broken.outside.elements else None),
        ),
        why=f"The ids of {broken.rows:,} rows end at {broken.rows - 1:,}; padding is none of them."
        if marker >= 0
        else "A loss can ignore a label (`ignore_index`); a table looks up every id, and a negative"
        " id is no row.",
        remedies=remedies(broken, case),
    )


def headline(broken: MarkerOutside, case: Case, birth: Written | None) -> str:
    rows = f"{broken.table} has {counted(broken.rows, 'row')}, 0 to {broken.rows - 1:,}"
    if broken.marker == IGNORED:
        begin = f"{broken.ids.name} holds -100, the label that a loss ignores, and a table cannot"
    elif broken.outside.pads and len(broken.ids.shape) != 1:
        source, node = case.source(birth), case.node(birth)
        name = bound_name(source.parents.get(node)) if source and node else ""
        padded = f"{broken.marker} ({code(name)})" if name else f"{broken.marker}"
        begin = f"Rows are padded with {padded}, and the padded ids are looked up"
    else:
        negative = "a negative id" if (broken.marker or 0) < 0 else "an id"
        begin = f"{broken.marker} is {negative} that has no row"
    return f"{begin}: {rows}."


def remedies(broken: MarkerOutside, case: Case) -> Iterator[Remedy | Fix]:
    handed = case.lineage(broken.ids).handed_over()
    marker = broken.marker or 0
    decoder = any(known.endswith(DECODER_IDS) for known in broken.names)
    filler = "" if broken.filler is None else str(broken.filler)
    filler = filler or (pad_of_model(case) if decoder else "")
    if not filler:
        rows = rows_of(case, broken.layer, broken.rows)
        yield own_row(broken, case, rows, handed)
        if rows is None or marker >= 0:
            yield Fix(f"Pad ids with one that has a row; keep {marker} for labels.", choice=True)
        return
    kept = f"; {marker} stays in the labels" if marker == IGNORED else ""
    text = shortest(case.own, broken.ids.value) if case.own is not None else ""
    for at in (handed, column(broken, case)):
        yield Substitute(
            at=at,
            old=marker,
            new=filler,
            words=f"Look up {code(filler)}, the id for padding, in place of {marker}{kept}.",
            before=broken.use,
            member=text if text.endswith("]") else "",
            must=broken.holds(broken.rows),
            choice=decoder,
        )
    if decoder:
        made = f"the model makes its `{DECODER_IDS}` of them, shifted to the right"
        yield Fix(f"Give `labels` alone: {made}.", choice=True)


def column(broken: MarkerOutside, case: Case) -> Producer | None:
    """Where the ids are put into a batch under the name that the model has for them."""
    lineage = case.lineage(broken.ids)
    columns = {known.rpartition(".")[2] for known in broken.names}
    for producer in lineage.all:
        for given, before in lineage.inputs(producer):
            if given.way is Way.ITEM and given.name in columns and before.own:
                return before
    return None


def own_row(
    broken: MarkerOutside, case: Case, rows: TableRows | None, handed: Written | None
) -> Remedy:
    """One row more, for the marker alone: with `padding_idx` it stays zero and is never trained."""
    marker, pads = broken.marker or 0, broken.outside.pads
    words = f"Give {'padding' if pads else marker} a row of its own after the others"
    parts: list[Remedy] = []
    if rows is not None and (marker < 0 or marker == broken.rows):
        parts.append(Enlarge(at=rows.argument, by=1, words=""))
        if pads:
            row = rows.argument.text
            parts.append(SetArgument(at=rows.call, name="padding_idx", value=row, words=""))
            words += ", with `padding_idx` (always zero, never trained)"
        if marker < 0:
            row = f"{called_in(case)}{'.padding_idx' if pads else '.num_embeddings - 1'}"
            parts.append(Substitute(at=handed, old=marker, new=row, words=""))
            words += f", and look it up in place of {marker}; {marker} stays in the labels"
    must = broken.holds(broken.rows + 1, past=True)
    return Together(parts=tuple(parts), words=f"{words}.", must=must, choice=True)


def called_in(case: Case) -> str:
    """What the failing expression of the user's calls: `self.embed`, `model`."""
    node = case.node(case.own)
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def pad_of_model(case: Case) -> str:
    """`model.config.pad_token_id`, where the failing call is that of a library's model."""
    text = called_in(case)
    model = case.own.value(text) if case.own is not None else None
    library = model is not None and model.layer is not None and not model.layer.own
    return f"{text}.config.pad_token_id" if library else ""
