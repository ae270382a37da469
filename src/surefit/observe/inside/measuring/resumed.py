"""Checkpoints that are read, and which of what they hold is loaded again."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.rates import CheckpointRead
from surefit.observe.inside import finishing, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 16
OF_A_SCHEDULER = ("last_epoch", "_step_count")


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A file that was read; no reference to what is in it."""

    place: Place | None
    step: int
    optimizer_key: str
    scheduler_key: str
    has_state: bool
    rate: float
    model: bool = False
    optimizer_loaded: bool = False
    scheduler: bool = False
    rate_after: float | None = None
    optimizer: int = 0


class Resumed:
    """All of a process."""

    def __init__(self) -> None:
        self.checkpoints: list[Checkpoint] = []
        self.waiting = False
        """One of them has not been followed by a step yet."""
        self.weights_set = 0


seen = Resumed()


@after_import("torch.serialization")
def files(module: ModuleType) -> None:
    setattr(module, "load", around(vars(module)["load"], _always, _read))  # noqa: B010


@after_import("torch.nn.modules.module")
def models(module: ModuleType) -> None:
    module.Module.load_state_dict = around(module.Module.load_state_dict, _model)


@after_import("torch.optim.optimizer")
def optimizers(module: ModuleType) -> None:
    kind = module.Optimizer
    kind.load_state_dict = around(kind.load_state_dict, _optimizer)


@after_import("torch.optim.lr_scheduler")
def schedulers(module: ModuleType) -> None:
    kinds: list[Any] = [kind for kind in vars(module).values() if isinstance(kind, type)]
    for kind in kinds:
        if "load_state_dict" in vars(kind):
            kind.load_state_dict = around(kind.load_state_dict, _scheduler)


def _always(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _read(_args: tuple[Any, ...], result: Any) -> None:
    if type(result) is not dict or len(seen.checkpoints) >= MOST:
        return
    parts = {key: part for key, part in result.items() if type(key) is str and type(part) is dict}
    states = {key: part for key, part in parts.items() if {"state", "param_groups"} <= set(part)}
    plans = [key for key, part in parts.items() if set(OF_A_SCHEDULER) <= set(part)]
    if not states and not plans:
        return
    key = next(iter(states), "")
    groups: Any = states[key]["param_groups"] if key else []
    rates = [group.get("lr") for group in groups if type(group.get("lr")) is float]
    seen.checkpoints.append(
        Checkpoint(
            own_code.own_place(),
            noted.steps,
            key,
            next(iter(plans), ""),
            bool(key and states[key]["state"]),
            max(rates, default=0.0),
        )
    )
    seen.waiting = True


def _model(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    seen.weights_set += 1
    for checkpoint in _open():
        checkpoint.model = True
    return False


def _optimizer(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    for checkpoint in _open():
        checkpoint.optimizer_loaded = True
    return False


def _scheduler(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    for checkpoint in _open():
        checkpoint.scheduler = True
    return False


def _open() -> Iterator[Checkpoint]:
    """Those that no step has followed yet: what is loaded later is another matter."""
    return (known for known in seen.checkpoints if known.rate_after is None)


def stepped(optimizer: int, rate: float) -> None:
    for checkpoint in _open():
        checkpoint.rate_after, checkpoint.optimizer = rate, optimizer
    seen.waiting = False


def as_seen(steps: int) -> Iterator[CheckpointRead]:
    for known in seen.checkpoints:
        yield CheckpointRead(
            place=known.place,
            step=known.step,
            optimizer_key=known.optimizer_key,
            scheduler_key=known.scheduler_key,
            has_state=known.has_state,
            rate=known.rate,
            model_loaded=known.model,
            optimizer_loaded=known.optimizer_loaded,
            scheduler_loaded=known.scheduler,
            rate_after=known.rate_after or 0.0,
            steps_after=steps - known.step if known.rate_after is not None else 0,
            optimizer=known.optimizer,
        )


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
