"""What an optimizer's state must be: as many groups and parameters as it holds, in their order."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of

OPTIMIZERS = "torch/optim/"


@dataclass(frozen=True, slots=True)
class HeldParameter:
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

    probe: ClassVar[str] = "optimizer-state"

    kind: str
    groups: tuple[tuple[HeldParameter, ...], ...]
    made_at: Place | None = None
    saved: tuple[tuple[tuple[int, ...], ...], ...] | None = None
    """Where a state dict was being loaded: shapes of what it keeps for each parameter, by group."""

    @property
    def misfits(self) -> list[HeldParameter]:
        return [held for group in self.groups for held in group if held.misfits]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(len(group) for group in self.groups)

    @property
    def saved_numbers(self) -> tuple[int, ...] | None:
        return None if self.saved is None else tuple(len(group) for group in self.saved)

    @property
    def saved_shapes(self) -> list[list[tuple[int, ...]]]:
        """By group: of the state dict that is being loaded, or of what has been."""
        if self.saved is not None:
            return [list(group) for group in self.saved]
        return [[next(iter(held.state.values()), ()) for held in group] for group in self.groups]

    @property
    def saved_order(self) -> tuple[int, ...] | None:
        """Which group of the optimizer each saved one belongs to, by shapes; None where these do
        not tell, or it is the order in which they are."""
        order = []
        for shapes in self.saved_shapes:
            numbers = [
                number
                for number, group in enumerate(self.groups)
                if [held.shape for held in group] == shapes
            ]
            if len(numbers) != 1:
                return None
            order.append(numbers[0])
        every = list(range(len(self.groups)))
        return tuple(order) if sorted(order) == every != order else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOfOtherParameters(Violation):
    """Groups, parameters or shapes are not those that the state was saved for."""

    state: OptimizerState


def violations_of(case: Case) -> Iterator[Violation]:
    frames = case.crash.frames if case.crash is not None else ()
    if not any(OPTIMIZERS in frame.place.file.replace("\\", "/") for frame in frames):
        return
    state = case.ask(OptimizerState)
    if state is None or case.own is None:
        return
    other_numbers = state.saved_numbers not in (None, state.numbers)
    if state.misfits or other_numbers or state.saved_order is not None:
        yield StateOfOtherParameters(use=use_of(case.own), state=state)
