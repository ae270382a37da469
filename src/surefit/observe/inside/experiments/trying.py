"""All experiments on one call of a model, in the fork; what they show as one measure."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import Experimented, TriedChange
from surefit.observe.inside import spool
from surefit.observe.inside.experiments import forking, positions, recorded_pass, rows
from surefit.observe.inside.experiments.batches import Batch, UnclearRowsError, batch_of
from surefit.observe.inside.experiments.live import Live, Tree
from surefit.observe.inside.experiments.trees import Path, UnknownInputError
from surefit.observe.inside.training import readable

SECONDS = 4.0
"""After so long no further experiment is begun."""
LONGEST = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCall:
    """What is to be tried again."""

    module: object
    tree: Tree
    rows: int
    from_loader: dict[int, int]
    """Tensors that a loader gave, by id, with their axis of rows."""
    assumed: bool
    place: Place | None
    training: bool
    step: int
    slow: bool
    predicts: Path | None
    """The input whose next position the loss compares with."""


def measure(call: TriedCall) -> Experimented:
    """Nothing tried yet."""
    return Experimented(
        process=spool.process(),
        model=type(call.module).__name__,
        place=call.place,
        training=call.training,
        step=call.step,
        assumed=call.assumed,
    )


def work(call: TriedCall) -> None:
    """In the fork."""
    forking.writes_nothing()
    begun = time.monotonic()
    found = measure(call)
    try:
        with readable.torch().no_grad():
            found = experiments(call, found, begun + SECONDS)
    except (UnclearRowsError, UnknownInputError) as error:
        found = replace(found, why_not=str(error))
    except Exception as error:  # noqa: BLE001 - the model's own code runs here
        found = replace(found, why_not=said(error))
    with forking.allowed():
        spool.saw(replace(found, seconds=round(time.monotonic() - begun, 3)))


def said(error: Exception) -> str:
    first = (str(error).splitlines() or [""])[0]
    what = f"{type(error).__name__}: {first}"[:LONGEST]
    return f"the model could not be called again in evaluation mode ({what})"


def experiments(call: TriedCall, found: Experimented, until: float) -> Experimented:
    batch = batch_of(call.tree, call.rows, call.from_loader)
    live = Live(call.module)
    base = rows.base_of(live, batch, call.slow)
    if base is None:
        return replace(found, repeats=False)

    def made(experiment: Callable[[], TriedChange]) -> TriedChange:
        if time.monotonic() > until:
            return TriedChange(why_not="there was no time for it")
        try:
            return experiment()
        except Exception as error:  # noqa: BLE001 - see `work`
            return TriedChange(why_not=said(error))

    with suppress(Exception):  # see `work`
        operations = recorded_pass.operations(live, base.tree)
        found = replace(found, pass_rows=base.count, operations=operations)
        found = replace(found, outputs=rows.compared(base))
    first = made(lambda: rows.replaced(base))
    order = made(lambda: rows.reversed_rows(base)) if not first.changed else TriedChange()
    found = replace(found, rows=first, order=order)
    return replace(
        found,
        padding=made(lambda: positions.padding(live, batch)),
        future=made(lambda: predicted(live, batch, call.predicts)),
    )


def predicted(live: Live, batch: Batch, path: Path | None) -> TriedChange:
    if path is None:
        return TriedChange(why_not="no loss compares a position with the next one")
    return positions.future(live, batch, path)
