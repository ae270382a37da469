"""Results are written into an array that was created for whole batches; the last one is smaller.

## What happens
`results = np.zeros((len(loader) * batch_size, classes))` has room for whole batches only. The last
batch has the rows that are left over: the part of the array that is meant for it is longer, and
what has another shape cannot be written there. Created with `n // batch_size` it is too short
instead.

## Why it matters
Where it does not raise, rows of zeros at the end are counted as predictions.

## What to do
Make the array as long as the set, `len(loader.dataset)`: a part that reaches beyond its end ends
there. Or gather results in a list and join them with `np.concatenate` or `torch.cat`.

## How it is recognised
The failing line writes into a part of an array or a tensor, what it writes has fewer rows than that
part, or more, and the loader that was at work gave a last batch of just so many rows.
"""

import ast

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.batches import WrittenRows
from surefit.laws.rows.batches import LastBatch, last_batch
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"could not broadcast input array from shape"
    r"|The expanded size of the tensor \(\d+\) must match the existing size",
    "how many rows the array, the part that is written to and the last batch have",
)
RULE = Rule("SF510", "room-for-whole-batches", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(WrittenRows)
def the_last_batch_does_not_fill_its_part(broken: WrittenRows, case: Case) -> Finding | None:
    short = last_batch(case, broken.rows)
    if short is None:
        return None
    created = created_at(broken, case)
    return case.finding(
        (created or broken.use).place,
        headline(broken, short),
        facts=(
            broken.array.fact(),
            Fact("the part for this batch", counted(broken.room, "row")),
            Fact("rows in all", short.arithmetic),
            *fact_at("created at", created),
            *fact_at("written at", broken.use),
        ),
        why="The last batch of a loader has the rows that are left over, unless it drops them.",
        remedies=(longer(broken, case, created, short), gathered(broken)),
    )


def created_at(broken: WrittenRows, case: Case) -> Producer | None:
    """The first call of the user's that returned the array."""
    every = case.lineage(broken.array).producers
    calls = [producer for producer in every if producer.kind is ProducerKind.CALL]
    whole = [producer for producer in calls if producer.value.shape == broken.array.shape]
    return whole[-1] if whole else None


def headline(broken: WrittenRows, short: LastBatch) -> str:
    rows = counted(broken.rows, "row")
    if broken.room < broken.rows:
        left = "no room" if not broken.room else f"room for {counted(broken.room, 'row')}"
        return (
            f"{broken.array.name} has {left} left for the last batch, which has {rows}:"
            f" {short.total} rows come, and it is {broken.array.shape[0]} long."
        )
    return (
        f"{broken.array.name} is created for whole batches of {broken.room}, and the last batch has"
        f" {rows}."
    )


def gathered(broken: WrittenRows) -> Fix:
    join = "np.concatenate" if broken.array.value.kind in ("ndarray", "memmap") else "torch.cat"
    words = f"Gather the batches in a list, and join them after the loop: `{join}(...)`."
    return Fix(words, choice=True)


def longer(
    broken: WrittenRows, case: Case, created: Producer | None, short: LastBatch
) -> Remedy | None:
    """With `len(loader.dataset)` for its first size; the last part then ends with it."""
    call, source = case.node(created), case.source(created)
    loader = iterated(broken, case)
    if broken.batches or loader is None or source is None:
        return None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    size = call.args[0]
    if isinstance(size, ast.Tuple | ast.List) and size.elts:
        size = size.elts[0]
    name, text = broken.array.value.text, f"len({loader}.dataset)"
    return ReplaceWith(
        at=case.expression(source, size),
        text=text,
        words=f"Make {broken.array.name} as long as the set: {code(text)} for its first size. The"
        " last part then ends with it.",
        must=ValuesAt(broken.use.place, (Wanted(name, rows=short.total),)),
    )


def iterated(broken: WrittenRows, case: Case) -> str | None:
    """What the loop around iterates, without `enumerate` and the like."""
    source = case.source(broken.use)
    for outer in source.up(broken.target) if source is not None else ():
        if isinstance(outer, ast.For):
            node = outer.iter
            while isinstance(node, ast.Call) and node.args:
                node = node.args[0]
            return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else None
    return None
