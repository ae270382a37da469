"""An optimizer at work when an exception was raised: its parameters, and what it keeps for them."""

from dataclasses import dataclass, field

import msgspec

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording

OPTIMIZERS = "torch/optim/"


@dataclass(frozen=True, slots=True)
class Held:
    """A parameter, and the shapes of what the optimizer keeps for it."""

    name: str
    shape: tuple[int, ...]
    state: dict[str, tuple[int, ...]] = field(default_factory=dict)
    gradient: tuple[int, ...] | None = None

    @property
    def misfits(self) -> bool:
        """Its state is that of a parameter of another shape."""
        return bool(self.state) and self.shape not in self.state.values()


@dataclass(frozen=True, slots=True)
class OptimizerState:
    """By group, in order."""

    kind: str
    groups: tuple[tuple[Held, ...], ...]
    made_at: Place | None = None
    saved: tuple[tuple[tuple[int, ...], ...], ...] | None = None
    """Where a state dict was being loaded: shapes of what it keeps for each parameter, by group."""

    @property
    def held(self) -> list[Held]:
        return [one for group in self.groups for one in group]


def optimizer_in(crash: Crash, seen: Recording) -> OptimizerState | None:
    """None where no optimizer's own code was running."""
    if not any(OPTIMIZERS in frame.place.file.replace("\\", "/") for frame in crash.frames):
        return None
    said = seen.ask(Question("optimizer-state", crash.id))
    return msgspec.convert(said, OptimizerState, strict=False) if said is not None else None


def saved_shapes(state: OptimizerState) -> list[list[tuple[int, ...]]]:
    """By group: of the state dict that is being loaded, or of what has been."""
    if state.saved is not None:
        return [list(group) for group in state.saved]
    return [[next(iter(one.state.values()), ()) for one in group] for group in state.groups]


def saved_order(state: OptimizerState) -> tuple[int, ...] | None:
    """Which group of the optimizer each saved one belongs to, by shapes; None where these do not
    tell, or it is the order in which they stand."""
    found = []
    for shapes in saved_shapes(state):
        fitting = [
            number
            for number, group in enumerate(state.groups)
            if [one.shape for one in group] == shapes
        ]
        if len(fitting) != 1:
            return None
        found.append(fitting[0])
    order = tuple(found)
    return order if sorted(order) == list(range(len(state.groups))) != found else None
