"""By which rows inputs were scaled: looked at once, when both phases have been seen."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from surefit.doctor.measures.fitted_rows import FittedRows, ScaledColumns
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.experiments.trees import is_plain
from surefit.observe.inside.measuring import phases
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.frame_rows import HeldTable, tables_of_frames
from surefit.observe.inside.training.letters import noted

SAMPLES = 8
"""Rows of a batch that are looked for."""
MOST_WIDTH = 512
MOST_EVALUATIONS = 8
"""Calls until one must have been given rows that were not trained on."""
FEWEST_ROWS = 32
FEWEST_DISTINCT = 8
MOST_OTHERS = 2
"""Further arrays of the same width, of a test say, that can have been scaled with the others."""
EXACT, APART = 2e-5, 4e-4
"""Rounding of a mean in float32; what it is farther from where it was not scaled by these rows."""

budget = Budget(share=0.001, opening=0.2)


@dataclass(slots=True)
class Sample:
    """A few rows of numbers that a model was given, and the steps of the first."""

    rows: Any
    steps: Any


@dataclass(slots=True)
class FittedState:
    """Of this process."""

    trained: Sample | None = None
    evaluations: int = 0
    done: bool = False
    seen: list[FittedRows] = field(default_factory=list)
    written: bool = False


state = FittedState()


@events.on(phases.called)
def called(site: CallPhase, args: Any, kwargs: Any, _result: Any) -> None:
    """The first call in training."""
    if state.trained is not None or (site.grad and site.calls > SAMPLES):
        phases.called.rest(called)
        return
    if site.grad and site.training and readable.can_look():
        with readable.looking():
            state.trained = _sample(args, kwargs)
            phases.idle_called.wake(idle_called)


@events.on(phases.idle_called)
def idle_called(_site: CallPhase, args: Any, kwargs: Any, _result: Any) -> None:
    if state.done or state.trained is None:
        phases.idle_called.rest(idle_called)
        return
    if not noted.steps or not budget.allows() or not readable.can_look():
        return
    state.evaluations += 1
    state.done = state.evaluations >= MOST_EVALUATIONS
    with budget, readable.looking():
        evaluated = _sample(args, kwargs)
        if evaluated is None:
            state.done = True
            return
        _examine(state.trained, evaluated)


def _sample(args: Any, kwargs: Any) -> Sample | None:
    """Of the first argument with fractions."""
    for value in (*args, *kwargs.values()):
        if not is_plain(value) or not value.dtype.is_floating_point or not value.is_cpu:
            continue
        width = int(value.shape[-1]) if value.dim() > 1 else 0
        if 0 < width <= MOST_WIDTH and value.numel() > width:
            flat = value.detach().reshape(-1, width)
            steps = value.detach()[0].reshape(-1)[:MOST_WIDTH]
            return Sample(flat[:SAMPLES].float().clone(), steps.float().clone())
    return None


def _examine(trained: Sample, evaluated: Sample) -> None:
    """Only where some array has the training rows and not those of this evaluation."""
    both: list[HeldTable] = []
    learned: list[HeldTable] = []
    judged: list[HeldTable] = []
    others: list[HeldTable] = []
    width = int(trained.rows.shape[1])
    for table in tables_of_frames(4):
        known = _columns(table, trained)
        columns = known if known is not None else _columns(table, evaluated)
        if columns is None:
            same = table.numbers.dim() == 2 and table.numbers.shape[1] == width and not table.wide
            if same and table.rows >= FEWEST_ROWS:
                others.append(table)
            continue
        narrow = HeldTable(table.name, _taken(table, columns))
        holds = known is not None, _columns(table, evaluated) is not None
        {(True, True): both, (True, False): learned, (False, True): judged}[holds].append(narrow)
    if not learned:
        return
    part = max(learned, key=lambda table: table.rows)
    if part.rows < FEWEST_ROWS or (not both and not judged):
        return
    state.done = True
    found: list[ScaledColumns] = []
    for tables in _wholes(both, part, judged, others):
        scaled = _scaled(tables, part)
        if scaled is not None:
            found.append(scaled)
            break
    state.seen.append(
        FittedRows(
            process=spool.process(),
            step=noted.steps,
            place=own_code.own_place(),
            rows=part.rows,
            scaled=tuple(found),
        )
    )


def _taken(table: HeldTable, columns: list[int]) -> Any:
    return table.numbers[:, columns] if table.numbers.dim() == 2 else table.numbers[:, None]


def _wholes(
    both: list[HeldTable], part: HeldTable, judged: list[HeldTable], others: list[HeldTable]
) -> Iterator[list[HeldTable]]:
    """Arrays that hold all rows, or can together."""
    for table in both:
        if table.rows > part.rows:
            yield [table]
    fitting = [table for table in judged if table.numbers.shape[1] == part.numbers.shape[1]]
    if fitting:
        rest = max(fitting, key=lambda table: table.rows)
        yield [part, rest]
        for count in range(1, MOST_OTHERS + 1):
            for chosen in combinations(others[:4], count):
                yield [part, rest, *chosen]


def _columns(table: HeldTable, sample: Sample) -> list[int] | None:
    """Of the table, those with the columns of the sample; None where its rows are not there."""
    torch = readable.torch()
    numbers = table.numbers.float()
    width = int(sample.rows.shape[1])
    if numbers.dim() == 1:
        return [0] if _has_steps(numbers, sample.steps) else None
    if int(numbers.shape[1]) == width and not table.wide:
        rows = (_has_row(numbers, row) for row in sample.rows)
        return list(range(width)) if all(rows) else None
    if not table.wide or width > 64:
        return None
    found: list[int] = []
    for column in sample.rows.T:
        begins = (numbers == column[0]).any(0).nonzero().flatten().tolist()
        inside = [at for at in begins if bool(torch.isin(column, numbers[:, at]).all())]
        if not inside:
            return None
        found.append(inside[0])
    return found


def _has_row(numbers: Any, row: Any) -> bool:
    alike = numbers[numbers[:, 0] == row[0]]
    return bool((alike == row).all(1).any())


def _has_steps(series: Any, steps: Any) -> bool:
    """A window of the series."""
    length = int(steps.shape[0])
    if length < FEWEST_DISTINCT or length >= int(series.shape[0]):
        return False
    starts = (series[: series.shape[0] - length + 1] == steps[0]).nonzero().flatten().tolist()
    return any(bool((series[at : at + length] == steps).all()) for at in starts[:64])


def _scaled(tables: list[HeldTable], part: HeldTable) -> ScaledColumns | None:
    torch = readable.torch()
    whole = torch.cat([table.numbers.double() for table in tables])
    own = part.numbers.double()
    if not bool(whole.isfinite().all()):
        return None
    free = [at for at in range(int(whole.shape[1])) if _is_free(whole[:, at])]
    for way, exact in (("mean and deviation", _standard), ("range", _between)):
        columns = [at for at in free if exact(whole[:, at], EXACT)]
        if not columns:
            continue
        same = [at for at in columns if exact(own[:, at], APART)]
        farthest = max(columns, key=lambda at: float(own[:, at].mean().abs()))
        values = own[:, farthest]
        return ScaledColumns(
            way=way,
            arrays=tuple(table.name for table in tables),
            trained=part.name,
            rows=int(whole.shape[0]),
            trained_rows=part.rows,
            columns=len(free),
            exact=len(columns),
            exact_in_training=len(same),
            mean=float(values.mean()),
            spread=float(values.std(correction=0)),
            least=float(values.min()),
            greatest=float(values.max()),
        )
    return None


def _is_free(column: Any) -> bool:
    few = column[: 64 * FEWEST_DISTINCT]
    return int(few.unique().numel()) >= FEWEST_DISTINCT


def _standard(column: Any, rounding: float) -> bool:
    """With either definition of the deviation, and a little number beside it."""
    if abs(float(column.mean())) > rounding:
        return False
    return any(abs(float(column.std(correction=less)) - 1) <= 2 * rounding for less in (0, 1))


def _between(column: Any, rounding: float) -> bool:
    """From 0 to 1 or from -1 to 1, and each end just once: values that are cut off there, or are
    shares by nature, come to it more often."""
    least, greatest = float(column.min()), float(column.max())
    if min(abs(least), abs(least + 1)) > rounding or abs(greatest - 1) > rounding:
        return False
    return (
        int((column <= least + rounding).sum()) == 1 == int((column >= greatest - rounding).sum())
    )


@finishing.at_end
@periodic.every_few_seconds
@guarded("rows that inputs were scaled by")
def write() -> None:
    if state.seen and not state.written:
        state.written = True
        spool.saw(state.seen[0])


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
