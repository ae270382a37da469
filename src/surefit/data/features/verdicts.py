"""What an array was found to be, as a finding: how it must be mended, or why it cannot be."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from surefit.doctor.findings import Fact, Finding, Fix, Place

from .checks import OTHER_SHAPE, inspect_command, shown
from .headers import Header
from .layout import Layout
from .scenarios import Verdict, judge
from .ways import Scenario

MOST_JUDGED = 8
"""Of shards of one shape, the values of so many are looked at before all are refused."""

IS = {
    Scenario.FLATTENED: "its rows are flattened",
    Scenario.TURNED: "its rows were transposed, then flattened",
    Scenario.SWAPPED: "steps and features are swapped",
    Scenario.RESHAPED: "rows were reshaped instead of transposed",
    Scenario.ROWS_NOT_FIRST: "rows are not its first axis",
    Scenario.MERGED: "rows and steps are one axis",
    Scenario.BATCHED: "its rows are stored in batches",
    Scenario.EXTRA_AXIS: "it has an axis of size 1 too many",
    Scenario.UNBATCHED: "by its sizes it is one row, without an axis for rows",
    Scenario.POOLED: "it has one vector for each row, as pooling over steps leaves",
    Scenario.MERGED_OR_POOLED: "rows and steps are one axis, or steps were pooled",
    Scenario.IDS: "it holds an integer per step, like ids",
    Scenario.OTHER_WIDTH: "its steps are of another width",
    Scenario.OTHER_LENGTH: "its rows have another number of steps",
    Scenario.OTHER_DATA: "these are other data",
    Scenario.UNDECIDED: "it can be read in several ways",
}


def misfits(headers: Iterable[Header], layout: Layout, data: Path) -> Iterator[Finding]:
    """One finding for shards that are wrong in the same way, however many."""
    alike: dict[tuple[object, ...], list[Header]] = {}
    for one in headers:
        if one.shape[1:] != layout.shape:
            alike.setdefault((one.shape[1:], one.dtype, one.fortran), []).append(one)
    for group in alike.values():
        verdicts = [judge(one, layout) for one in group[:MOST_JUDGED]]
        rest = [replace(verdicts[-1], header=one) for one in group[MOST_JUDGED:]]
        yield from findings((*verdicts, *rest), layout, data)


def findings(verdicts: Iterable[Verdict], layout: Layout, data: Path) -> Iterator[Finding]:
    alike: dict[tuple[object, ...], list[Verdict]] = {}
    for one in verdicts:
        if one.scenario is not Scenario.AS_DECLARED:
            key = (one.scenario, one.header.shape[1:], one.open, one.reading is None)
            alike.setdefault(key, []).append(one)
    for group in alike.values():
        yield finding(group, layout, data)


def finding(alike: Sequence[Verdict], layout: Layout, data: Path) -> Finding:
    """Of shards that are wrong in the same way, told by the first of them."""
    first = alike[0]
    header = first.header
    others = [one.header.name for one in alike[1:]]
    also = f"{len(others)} more: {', '.join(others[:6])}{' ...' if others[6:] else ''}"
    return OTHER_SHAPE.finding(
        Place(header.name),
        f"`{header.name}` is {shown(header.shape)}, and [rows, {layout.steps}, {layout.features}]"
        f" is declared: {IS[first.scenario]}.",
        facts=(*first.facts, *((Fact("also", also),) if others else ())),
        ruled_out=first.ruled_out,
        why=_why(first),
        fixes=tuple(_fixes(first, layout, data)),
    )


def _why(verdict: Verdict) -> str:
    match verdict.scenario:
        case Scenario.RESHAPED:
            return (
                "Training does not fail on such rows: the sizes match, but every value is at a "
                "wrong position."
            )
        case Scenario.OTHER_DATA | Scenario.OTHER_WIDTH | Scenario.OTHER_LENGTH:
            return "A layer sized to whatever arrives would silently train on the wrong features."
        case _ if len(verdict.open) > 1:
            return "The files do not show which layout it is; it is your choice."
        case _:
            return ""


def _fixes(verdict: Verdict, layout: Layout, data: Path) -> Iterator[Fix]:
    command = inspect_command(layout, data)
    shape = verdict.header.shape
    if verdict.reading is not None:
        yield Fix(f"Rewrite it in the declared layout:  {command} --mend-to OUT")
        return
    if verdict.scenario is Scenario.UNBATCHED:
        yield Fix(f"If it is {shape[0]} rows that were pooled: store them as they were before.")
    for one in verdict.open:
        yield Fix(f"If it is {one.says}:  {command} --as {one.word} --mend-to OUT")
    if verdict.open:
        return
    if verdict.scenario is Scenario.POOLED:
        yield Fix("What was pooled cannot be undone: store the rows as they were before.")
    elif verdict.scenario is Scenario.IDS:
        yield Fix(
            f"Make them one-hot where they are stored:  np.eye({layout.features},"
            f" dtype='{layout.dtype}')[ids]"
        )
    else:
        yield Fix(f"If {layout} is right, these are other files: check where they come from.")
        if len(shape) == 3:
            right = f"--steps {shape[1]} --features {shape[2]}"
            yield Fix(f"If the files are right, declare them, before the model is made:  {right}")
