"""A loader was made of a dataset that has no rows.

## What happens
A filter keeps nothing, a folder holds no files of the name that is searched for, or a slice begins
behind the end. A shuffling loader refuses such a dataset (`num_samples=0`); one that does not
shuffle gives no batches, and what comes after it divides by zero.

## Why it matters
The failing line is where the loader is made or where losses are averaged; the line that left
nothing is elsewhere, and nothing was said there.

## What to do
Look at the condition that keeps rows: a label as text compared with a number, a name of a split, a
suffix of files. Print how many rows are left behind it.

## How it is recognised
The sampler of the loader was made for zero rows, or a division by the length of a loader failed and
that length is zero. What kept no row is followed in the source through names, arguments and
attributes of `self`. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.emptied import Kept, emptied_by
from surefit.source.reading import Source, called

RULE = Rule(
    "SF219",
    "no-rows-left",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"num_samples=0|ZeroDivisionError",
            "how many rows the dataset of the loader has, and what left them out",
        ),
    ),
)

SAMPLER = "torch/utils/data/sampler.py"
LOADER = "DataLoader"
LONGEST = 70


@RULE.on(Crash)
def a_loader_had_no_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    if frame is None or source is None or not is_cause(crash, seen):
        return
    call = refused(crash, frame, source) or divided(crash, frame, source)
    given = source.argument(call, "dataset", 0) if call else None
    if call is None or given is None:
        return
    kept = emptied_by(source, crash, given)
    if kept is None and crash.kind == "ZeroDivisionError":
        return
    node = kept.node if kept else given
    yield RULE.finding(
        Place(source.file, node.lineno),
        headline(source, given, kept),
        facts=tuple(facts(source, frame, call, kept)),
        why="Nothing is said where rows are left out; the first to notice is whoever needs one.",
        fixes=(
            Fix(
                f"Mend the condition in {written(source, node)}, so that it keeps rows."
                if kept
                else f"Look at where `{source.segment(given)}` gets its rows: there are none.",
                why_not_tried="only you know which rows are meant",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def refused(crash: Crash, frame: Frame, source: Source) -> ast.Call | None:
    """The call of a loader whose sampler was made for no rows at all."""
    last = crash.frames[-1]
    if not last.place.file.endswith(SAMPLER) or not last.function.endswith("__init__"):
        return None
    numbers = {value.text: value for value in last.values}
    chosen = numbers.get("num_samples")
    if chosen is not None and chosen.scalar not in (None, 0):
        return None
    rows = numbers.get("data_source")
    if rows is not None and (rows.length or 0) > 0 and is_counted(rows):
        return None
    node = source.expression_at(frame.span) if frame.span else None
    return node if isinstance(node, ast.Call) and called(node) == LOADER else None


def is_counted(value: Value) -> bool:
    return value.kind in ("list", "tuple", "Dataset", "DataFrame")


def divided(crash: Crash, frame: Frame, source: Source) -> ast.Call | None:
    """The call of the loader by whose length was divided."""
    node = source.expression_at(frame.span) if frame.span else None
    if crash.kind != "ZeroDivisionError" or not isinstance(node, ast.BinOp):
        return None
    by = source.value_of(node.right)
    if not isinstance(by, ast.Call) or called(by) != "len" or len(by.args) != 1:
        return None
    text = ast.unparse(by.args[0])
    loaders = [one for one in frame.values if one.text == text and one.kind == LOADER]
    made = loaders[0].made_at if loaders else None
    if made is None or made.file != source.file:
        return None
    calls = [one for one in source.calls_in(made.line or 0) if called(one) == LOADER]
    if len(calls) != 1 or source.argument(calls[0], "drop_last", 8) is not None:
        return None  # rows that make no whole batch are left out by it, too
    return calls[0]


def headline(source: Source, given: ast.expr, kept: Kept | None) -> str:
    if kept is None:
        return f"{written(source, given)} has no rows, and a loader needs one."
    of = f" of the {counted(kept.count, 'item')} of `{kept.of}`" if kept.count else ""
    return f"{written(source, kept.node)} keeps nothing{of}, so that the loader has no rows."


def written(source: Source, node: ast.expr) -> str:
    text = " ".join(source.segment(node).split())
    return code(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def facts(source: Source, frame: Frame, call: ast.Call, kept: Kept | None) -> Iterator[Fact]:
    yield Fact("rows of the loader", "0")
    if kept and kept.count is not None:
        yield Fact(code(kept.of), counted(kept.count, "item"))
    if kept:
        yield Fact("the loader", f"{source.file}:{call.lineno}")
        yield Fact("fails at", str(frame.place))
