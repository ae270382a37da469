"""What models and losses are given in training and in evaluation: figures of features and ids."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.phase_inputs import PhaseInput, PhaseInputs
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.measuring import phases
from surefit.observe.inside.measuring.loss_inputs import OF_NUMBERS, arguments_of
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.feature_sums import (
    FeatureSums,
    features_of,
    few_rows,
    sums_of,
)
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.named_tensors import named_tensors
from surefit.observe.inside.training.token_counts import TokenRows

FIRST = 8
"""Calls from one line that are looked at, and after them each power of two."""
MOST_TAKERS = 48
MOST_ARGUMENTS = 8
MOST_TOKENS = 512
"""Of a row of ids; of a longer one, its beginning."""
DEEPEST = 6
EVALUATING = ("evaluation_loop", "prediction_loop", "_run_validation", "validation_step")
GENERATING = ("generate", "beam_search", "_sample", "assisted_decoding")
MASK = "mask"
SIDES = ("input", "target")

training_budget = Budget(share=0.001, opening=0.05)
evaluation_budget = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class GivenArgument:
    """One argument, over the calls looked at."""

    dtype: str
    shape: tuple[int, ...]
    axis: str = "feature"
    chosen: tuple[int, ...] = ()
    looked: int = 0
    sums: FeatureSums = field(default_factory=FeatureSums)
    tokens: TokenRows | None = None


@dataclass(slots=True)
class GivenAt:
    """Arguments of one model or loss from one line."""

    taker: str
    model: int
    stack: tuple[Place, ...]
    library: str
    step: int
    site: CallPhase | None
    """Of a model; a loss has none."""
    grad: bool
    generates: bool = False
    calls: int = 0
    arguments: dict[str, GivenArgument] = field(default_factory=dict)

    @property
    def trained(self) -> bool:
        return bool(self.site.learned) if self.site is not None else self.grad


class InputState:
    """Of this process."""

    def __init__(self) -> None:
        self.models: dict[int, GivenAt] = {}
        self.losses: dict[tuple[str, Place | None, bool], GivenAt] = {}
        self.changed = False


state = InputState()


@events.on(phases.called)
def called(site: CallPhase, args: Any, kwargs: Any, _result: Any) -> None:
    """With gradients: training, mostly."""
    if not site.grad:
        return
    count = site.calls
    if count > FIRST and count & (count - 1) and not training_budget.unlimited:
        phases.called.rest(called, events.before_power_of_two(count))
    elif training_budget.allows():
        _look(site, args, kwargs, training_budget)


@events.on(phases.idle_called)
def idle_called(site: CallPhase, args: Any, kwargs: Any, _result: Any) -> None:
    count = site.calls
    often = count > FIRST and count & (count - 1) and not evaluation_budget.unlimited
    if not often and evaluation_budget.allows():
        _look(site, args, kwargs, evaluation_budget)


def _look(site: CallPhase, args: Any, kwargs: Any, budget: Budget) -> None:
    if not readable.can_look():
        return
    with budget, readable.looking():
        given = _of_model(site)
        if given is None or given.generates:
            return
        _add(given, _plain(named_tensors(site.module(), args, kwargs)))


def _of_model(site: CallPhase) -> GivenAt | None:
    known = state.models.get(id(site))
    if known is None and len(state.models) < MOST_TAKERS:
        stack, library, generates = _stack()
        known = state.models[id(site)] = GivenAt(
            site.kind, site.serial, stack, library, noted.steps, site, site.grad, generates
        )
    return known


@events.on(events.loss_ended)
def computed(
    name: str, args: Any, kwargs: Any, result: Any, place: Place | None, grad: bool
) -> None:
    count = events.loss_ended.count
    if count > FIRST and count & (count - 1) and not training_budget.unlimited:
        events.loss_ended.rest(computed, events.before_power_of_two(count))
    if grad and result is not None:
        _look_at_loss(name, args, kwargs, place, training_budget)


@events.on(events.idle_loss_ended)
def idle_computed(name: str, args: Any, kwargs: Any, result: Any, place: Place | None) -> None:
    if result is not None:
        _look_at_loss(name, args, kwargs, place, evaluation_budget)


def _look_at_loss(name: str, args: Any, kwargs: Any, place: Place | None, budget: Budget) -> None:
    if name not in OF_NUMBERS or not budget.allows() or not readable.can_look():
        return
    with budget, readable.looking():
        known = _of_loss(name, place, grad=budget is training_budget)
        if known is None:
            return
        known.calls = count = known.calls + 1
        if count > FIRST and count & (count - 1) and not budget.unlimited:
            return
        sides = arguments_of(name, args, kwargs)
        _add(known, _plain((side, sides[side]) for side in SIDES if is_tensor(sides.get(side))))


def _of_loss(name: str, place: Place | None, grad: bool) -> GivenAt | None:
    key = name, place, grad
    known = state.losses.get(key)
    if known is None and len(state.losses) < MOST_TAKERS:
        stack, library, _ = _stack()
        known = state.losses[key] = GivenAt(name, 0, stack, library, noted.steps, None, grad)
    return known


def _plain(tensors: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found = ((name, readable.plain(tensor)) for name, tensor in tensors)
    strided = readable.torch().strided
    return {name: plain for name, plain in found if plain is not None and plain.layout is strided}


def _add(given: GivenAt, tensors: dict[str, Any]) -> None:
    state.changed = True
    for name, tensor in list(tensors.items())[:MOST_ARGUMENTS]:
        if not tensor.dim() or not tensor.numel():
            continue
        known = given.arguments.get(name)
        if known is None:
            shape = tuple(int(size) for size in tensor.shape)
            known = given.arguments[name] = GivenArgument(str(tensor.dtype)[6:], shape)
        known.looked += 1
        if _are_ids(tensor):
            _add_ids(known, name, tensor, tensors)
        elif not tensor.is_complex():
            _add_numbers(known, tensor)


def _are_ids(tensor: Any) -> bool:
    torch = readable.torch()
    return tensor.dim() == 2 and tensor.dtype in (torch.int64, torch.int32)


def _add_numbers(known: GivenArgument, tensor: Any) -> None:
    view = features_of(tensor)
    known.axis, known.chosen = view.axis, view.chosen
    rows = int(view.values.shape[0])
    readable.read(sums_of(view), partial(known.sums.add, rows))


def _add_ids(known: GivenArgument, name: str, tensor: Any, tensors: dict[str, Any]) -> None:
    if MASK in name or not tensor.is_cpu:
        return
    known.tokens = known.tokens or TokenRows()
    known.tokens.positions |= any("position" in other for other in tensors)
    masks = [
        other
        for key, other in tensors.items()
        if MASK in key and other.shape == tensor.shape and other.is_cpu
    ]
    few = few_rows(tensor)[:, :MOST_TOKENS]
    kept = (few_rows(masks[0])[:, :MOST_TOKENS] != 0).tolist() if masks else None
    known.tokens.add(few.tolist(), kept)


def _stack() -> tuple[tuple[Place, ...], str, bool]:
    """The user's lines, the function of a library that evaluates, and whether one generates."""
    frame: FrameType | None = sys._getframe(3)
    found: list[Place] = []
    library, generates = "", False
    while frame is not None and len(found) < DEEPEST:
        name = frame.f_code.co_name
        if own_code.own(frame.f_code):
            found.append(own_code.place(frame))
        elif name in EVALUATING:
            library = name
        generates |= name in GENERATING and not own_code.own(frame.f_code)
        frame = frame.f_back
    return tuple(found), library, generates


@finishing.at_end
@periodic.every_few_seconds
@guarded("inputs of training and evaluation")
def write() -> None:
    if not state.changed:
        return
    state.changed = False
    readable.read_waiting()
    takers = [*state.models.values(), *state.losses.values()]
    if any(given.trained for given in takers):
        inputs = tuple(told for given in takers for told in _told(given, takers))
        spool.saw(PhaseInputs(process=spool.process(), steps=noted.steps, inputs=inputs))


def _told(given: GivenAt, takers: list[GivenAt]) -> Iterator[PhaseInput]:
    for name, argument in given.arguments.items():
        tokens = argument.tokens
        if not (tokens.rows if tokens is not None else argument.sums.rows):
            continue
        yield PhaseInput(
            taker=given.taker,
            model=given.model,
            name=name,
            trained=given.trained,
            grad=given.grad,
            stack=given.stack,
            call=given.site.call_site if given.site is not None else None,
            position=list(given.arguments).index(name),
            library=given.library,
            step=given.step,
            calls=given.site.calls if given.site is not None else given.calls,
            looked=argument.looked,
            rows=tokens.rows if tokens is not None else argument.sums.rows,
            dtype=argument.dtype,
            shape=argument.shape,
            axis=argument.axis,
            features=() if tokens is not None else argument.sums.figures(),
            chosen=argument.chosen if tokens is None else (),
            tokens=tokens.figures(_ends(name, takers)) if tokens is not None else None,
        )


def _ends(name: str, takers: list[GivenAt]) -> set[int]:
    """Tokens that begin or end rows of this argument, in any phase."""
    known = [given.arguments[name].tokens for given in takers if name in given.arguments]
    return {token for tokens in known if tokens is not None for token in tokens.ends()}


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
