"""A loader gives no batch at all, and what the loop over it should have left is missing.

## What happens
With `drop_last=True` a loader leaves out a batch that is not whole. Of a set with fewer rows than a
batch nothing is left: the loop does not run once. After it the mean divides by zero, `torch.cat`
gets an empty list, or a name has no value yet.

## Why it matters
The message is about a division or a list; it is the loader that is wrong. And where there is one
batch, the rows that are left out count in no score.

## What to do
Evaluate with `drop_last=False`, the default: no score needs whole batches. Where a training set is
smaller than a batch, make the batch smaller.

## How it is recognised
The loader that was asked last came to its end without a batch because it drops the last one, and
the failing line reads a name that only the loop over it fills, or divides by its length.
"""

import ast

from surefit.doctor.conditions.first_batches import FirstBatchComes
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.contracts.batches import NoBatches
from surefit.laws.rows.arrivals import first_simple
from surefit.laws.rows.loaders import makes_several
from surefit.remedies.change import Change
from surefit.remedies.spread import spread_of
from surefit.source.edits import argument_added, argument_removed
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, names_within

SYMPTOM = Symptom(
    r"ZeroDivisionError|expected a non-empty list of Tensors|need at least one array"
    r"|UnboundLocalError|NameError: name|StatisticsError|list index out of range",
    "whether the loop above the failing line ran at all: how many rows its loader has, its"
    " batch size, and whether it drops the last batch",
)
RULE = Rule("SF509", "loader-without-batches", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoBatches)
def a_loop_never_ran(broken: NoBatches, case: Case) -> Finding:
    loader, loop = broken.loader, ast.unparse(broken.loop.iter)
    has = "has fewer rows than a batch"
    if loader.rows is not None:
        has = f"has {counted(loader.rows, 'row')}"
    return case.finding(
        Place(broken.call.place.file, broken.call.place.line),
        f"The loader {has}, a batch takes {loader.size}, and `drop_last=True` leaves out what is"
        f" not whole: the loop over {code(loop)} never ran.",
        facts=(
            Fact("rows", str(loader.rows) if loader.rows is not None else f"below {loader.size}"),
            Fact("batch size", str(loader.size)),
            Fact("the loop", f"{broken.use.place.file}:{broken.loop.lineno}  for … in {loop}"),
            *fact_at(f"needs {code(broken.needed)}", broken.use),
        ),
        why="`drop_last=True` leaves out the last batch where it is not whole, and here it is the"
        " first one, too.",
        remedies=(keeping(broken, case),),
    )


def keeping(broken: NoBatches, case: Case) -> Change:
    words = "Keep the batch that is not whole: `drop_last=False`, the default. All rows then count."
    if trains(broken.loop):
        words += " Or make the batch smaller, so that a step has as many rows as you intend."
    source, call = case.source(broken.call.place), case.node(broken.call)
    edit = undropped(source, call) if source and isinstance(call, ast.Call) else None
    first, names = first_simple(broken.loop.body), tuple(names_within(broken.loop.target))
    must = None
    if first is not None and names:
        place = Place(broken.use.place.file, first.lineno)
        must = FirstBatchComes(place, names, broken.loader.size or 1, broken.loader.rows)
    return Change(to=edit, words=words, must=must)


def undropped(source: Source, call: ast.Call) -> Edit | None:
    """Without the argument; where one call creates several loaders, for those that do not
    shuffle."""
    shuffles, value = source.argument(call, "shuffle", 2), "False"
    differs = not isinstance(shuffles, ast.Constant) and makes_several(source, call)
    if shuffles is not None and differs:
        value = source.segment(shuffles)
    if source.argument(call, "drop_last") is not None:
        if value == "False":
            return argument_removed(source, call, "drop_last")
        return argument_added(source, call, "drop_last", value)
    spread = spread_of(call)  # a dictionary says it, which other loaders are given, too
    if spread is None:
        return None
    text = f'**{{**{source.segment(spread.value)}, "drop_last": {value}}}'
    return Edit(source.file, (Replace(source.span(spread), text),))


def trains(loop: ast.For) -> bool:
    inside = (node for statement in loop.body for node in ast.walk(statement))
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in inside)
