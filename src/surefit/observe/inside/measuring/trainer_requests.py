"""What a Trainer drops and what it overrides, as it trains."""

import re
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.trainer_requests import DroppedColumns, TrainerRequests
from surefit.observe.inside import finishing, origins, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_a
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import hanging, periodic
from surefit.observe.inside.unseen import around

ENTRY = re.compile(r"^\s+(\w+) \(`")
"""The line of a docstring that begins with a setting."""
OVERRIDES = re.compile(r"[Oo]verrides(?: any effect of)? `(\w+)`")
MOST_DATASETS = 8


@dataclass(slots=True)
class RequestState:
    """Of this process."""

    datasets: list[DroppedColumns] = field(default_factory=list)
    arguments: str = ""
    arguments_at: Place | None = None
    overrides: tuple[tuple[str, str], ...] = ()
    planned: float | None = None
    epochs: float | None = None
    most_steps: int = 0
    steps: int = 0
    changed: bool = False


state = RequestState()


@after_import("transformers.trainer")
def trainers(module: ModuleType) -> None:
    kind = module.Trainer
    kind.train = around(kind.train, _always, _trained)
    kind._remove_unused_columns = around(kind._remove_unused_columns, _removes, _removed)


def _always(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _removes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return len(args) > 1 and not kwargs.get("dataset") and len(state.datasets) < MOST_DATASETS


def _removed(args: tuple[Any, ...], result: Any) -> None:
    """Of tables of `datasets`, whose column names are plain."""
    before, after = (_columns(dataset) for dataset in (args[1], result))
    if before is None or after is None:
        return
    model = hanging.unwrapped(vars(args[0]).get("model"))
    state.changed = True
    state.datasets.append(
        DroppedColumns(
            trainer=type(args[0]).__name__,
            model=type(model).__name__,
            columns=before,
            dropped=tuple(name for name in before if name not in after),
        )
    )


def _columns(dataset: Any) -> tuple[str, ...] | None:
    if not is_a(dataset, "datasets.arrow_dataset", "Dataset"):
        return None
    return tuple(map(str, dataset.column_names))


def _trained(args: tuple[Any, ...], _result: Any) -> None:
    held = vars(args[0])
    settings, progress = held.get("args"), attributes(held.get("state"))
    chosen = attributes(settings)
    planned, epochs = chosen.get("num_train_epochs"), progress.get("epoch")
    most, steps = chosen.get("max_steps"), progress.get("global_step")
    if type(epochs) not in (int, float) or type(planned) not in (int, float):
        return
    state.changed = True
    state.arguments, state.arguments_at = type(settings).__name__, origins.made_at(settings)
    state.planned, state.epochs = float(planned), float(epochs)  # type: ignore[arg-type]
    state.most_steps = most if type(most) is int else 0
    state.steps = steps if type(steps) is int else 0
    state.overrides = tuple(
        (name, other)
        for name, other in documented(type(settings).__doc__ or "")
        if _is_set(chosen.get(name)) and other in chosen
    )


def documented(text: str) -> list[tuple[str, str]]:
    """Settings that override another, as the docstring of their class says."""
    found: list[tuple[str, str]] = []
    name = ""
    for line in text.splitlines():
        entry = ENTRY.match(line)
        name = entry.group(1) if entry is not None else name
        found += [(name, other) for other in OVERRIDES.findall(line) if name and other != name]
    return found


def _is_set(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


@finishing.at_end
@periodic.every_few_seconds
@guarded("what a Trainer was asked for")
def write() -> None:
    if not state.changed:
        return
    state.changed = False
    spool.saw(
        TrainerRequests(
            process=spool.process(),
            datasets=tuple(state.datasets),
            arguments=state.arguments,
            arguments_at=state.arguments_at,
            overrides=state.overrides,
            planned_epochs=state.planned,
            epochs=state.epochs,
            most_steps=state.most_steps,
            steps=state.steps,
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
