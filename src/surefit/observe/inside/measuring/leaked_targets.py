"""Targets of regression, one number a row, held against every element of the row of inputs."""

from dataclasses import dataclass
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.leaked_targets import TargetsInInputs
from surefit.observe.inside import events, finishing, spool
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.letters import noted

LOSSES = frozenset(
    (
        *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
        *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
    )
)
CALLS = 8
"""Losses that are looked at."""
FORWARDS = 64
"""Calls of models until these must have come."""
MOST_ROWS = 64
MOST_WIDTH = 1 << 12
"""Elements of an input row."""


@dataclass(slots=True)
class LeaksSeen:
    """The elements that have equalled the target in every row so far."""

    calls: int = 0
    forwards: int = 0
    inputs: Any = None
    """A copy of the first rows of what a model was given last, laid out flat: the tensor itself is
    often gone when the loss is computed."""
    given: tuple[int, ...] = ()
    """Its shape."""
    place: Place | None = None
    name: str = ""
    shape: tuple[int, ...] = ()
    rows: int = 0
    values: int = 0
    positions: Any = None
    step: int = 0
    written: int = 0


state = LeaksSeen()


@events.on(events.forward_begun)
def forward_begun(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    state.inputs = None
    if state.calls >= CALLS or state.forwards >= FORWARDS:
        events.forward_begun.rest(forward_begun)
        events.loss_begun.rest(loss_begun)
        return
    if not readable.torch().is_grad_enabled() or not readable.can_look():
        return
    state.forwards += 1
    with readable.looking():
        for given in (*args[:2], *list(kwargs.values())[:4]):
            if trees.is_plain(given) and given.is_floating_point() and given.dim() >= 2:
                _remember(given)
                return


def _remember(given: Any) -> None:
    width = given.numel() // max(1, given.shape[0])
    if given.is_cpu and not given.requires_grad and 1 < width <= MOST_WIDTH:
        state.given = tuple(map(int, given.shape))
        state.inputs = given[:MOST_ROWS].detach().reshape(-1, width).clone()


@events.on(events.loss_begun)
def loss_begun(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], place: Place | None, grad: bool
) -> None:
    if state.calls >= CALLS or state.inputs is None or not grad or name not in LOSSES:
        return
    target: Any = args[1] if len(args) > 1 else kwargs.get("target")
    if not trees.is_plain(target) or not readable.can_look():
        return
    if state.place is not None and place != state.place:
        return
    with readable.looking():
        one_each = target.dim() and target.shape[0] == target.numel() == state.given[0]
        if one_each and target.is_cpu and target.is_floating_point():
            state.calls += 1
            state.place, state.name, state.step = place, name, noted.steps
            state.shape = state.given
            _compare(state.inputs, target[:MOST_ROWS].reshape(-1, 1))
            state.inputs = None


def _compare(given: Any, target: Any) -> None:
    equal = (given == target).all(0)
    positions = set(equal.nonzero().flatten().tolist())
    state.positions = positions if state.positions is None else state.positions & positions
    state.rows += len(target)
    state.values = max(state.values, len(set(target.flatten().tolist())))


@finishing.at_end
@periodic.every_few_seconds
def write() -> None:
    if not state.calls or state.written == state.calls:
        return
    state.written = state.calls
    spool.saw(
        TargetsInInputs(
            process=spool.process(),
            place=state.place,
            name=state.name,
            rows=state.rows,
            values=state.values,
            looked=state.calls,
            step=state.step,
            shape=state.shape,
            positions=tuple(sorted(state.positions)),
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
