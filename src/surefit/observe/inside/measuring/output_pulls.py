"""The gradient of the loss at outputs of a model, taken as it goes back, at a few steps.

Nothing is computed twice: a function of the graph tells what passes it. Looked at are the first
forward passes in training, and some from every power of two on.
"""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.output_pulls import OutputPulls, PulledOutput, TargetPull, UnpulledPart
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.experiments import trees
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import could_not, guarded
from surefit.observe.inside.training import periodic, pulls, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now

FIRST = 8
"""Forward passes in training that are looked at when a model has come."""
WINDOW = 3
"""Those from each power of two on: the batch of the first is not known."""
MOST_WAITING = 8
MOST_PASSES = 8
"""Backward passes for which a step of the model's own optimizer is awaited."""
MOST_OUTPUTS = 4
MOST_SEEN = 16
MOST_ELEMENTS = 1 << 21
MOST_TARGETS = 1 << 18
MOST_TENSORS = 8
MOST_INDICES = 4096

looks = Budget(share=0.001, opening=0.15)


@dataclass(slots=True)
class FollowedOutput:
    """An output whose gradient is awaited until the next step of its optimizer."""

    module: Any
    """Weak."""
    key: tuple[int, trees.Path]
    values: Any
    given: Any
    place: Place | None
    targets: dict[str, Any]
    inputs: frozenset[int]
    """Where the inputs of the model lie in memory: what lies there is no target of its own."""
    age: int = 0
    handle: Any = None
    gradient: Any = None
    backward: Place | None = None


@dataclass(slots=True)
class TargetSeen:
    """What all steps show about one tensor of targets."""

    shape: tuple[int, ...] = ()
    kind: str = ""
    looked: int = 0
    judged: int = 0
    towards: int = 0
    away: int = 0
    over_rows: int = 0
    least: int = 0
    others: dict[str, int] = field(default_factory=dict)
    first: Any = None
    repeats: bool = True
    """The targets are the same at every step."""
    axes: dict[int, "AxisSeen"] = field(default_factory=dict)


@dataclass(slots=True)
class AxisSeen:
    """Along one axis, for each index: whether it had a gradient, and the range of its targets."""

    pulled: Any
    low: Any
    high: Any
    constant: bool = True
    """The same indices have a gradient at every step."""
    own: bool = True
    """Targets belong to their own index, not to one beside it."""


@dataclass(slots=True)
class OutputSeen:
    """Of one output of one model."""

    model: str
    output: str
    place: Place | None
    shape: tuple[int, ...]
    looked: int = 0
    step: int = 0
    backward: Place | None = None
    padding_alone: int = 0
    padded: int = 0
    targets: dict[str, TargetSeen] = field(default_factory=dict)


@dataclass(slots=True)
class PullState:
    """Of this process."""

    passes: int = 0
    until: int = 0
    waiting: list[FollowedOutput] = field(default_factory=list)
    batch: dict[str, Any] = field(default_factory=dict)
    seen: dict[tuple[int, trees.Path], OutputSeen] = field(default_factory=dict)
    place: Place | None = None
    running: bool = False
    """A backward pass of the script's own: gradients that are asked for meanwhile are its."""
    written: int = 0


state = PullState()


@events.on(events.batch_came)
def batch_came(_iterator: Any, batch: Any) -> None:
    if state.passes and state.passes >= state.until:
        state.batch = {}
        events.batch_came.rest(batch_came)
    elif batch is not None:
        small = {
            ".".join(map(str, path)): tensor.detach()
            for path, tensor in trees.tensors(batch).items()
            if trees.is_plain(tensor) and 1 < tensor.numel() <= MOST_TARGETS
        }
        state.batch = dict(list(small.items())[:MOST_TENSORS])


@events.on(events.model_came)
def model_came(_module: Any) -> None:
    state.until = max(state.until, state.passes) + FIRST
    events.batch_came.wake(batch_came)
    events.forward_ended.wake(forward_ended)


@events.on(events.forward_ended)
def forward_ended(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if result is None or not (now.grad and now.training):
        return
    if state.passes >= state.until:
        state.until = state.passes + WINDOW
        events.batch_came.wake(batch_came)
    state.passes += 1
    if state.passes >= state.until:
        event = events.forward_ended
        event.rest(forward_ended, events.before_power_of_two(event.count))
    if looks.allows() and readable.can_look() and len(state.seen) < MOST_SEEN:
        with looks, readable.looking():
            _follow(module, (args, kwargs), result)


def _follow(module: Any, given: Any, result: Any) -> None:
    outputs = [
        (path, tensor)
        for path, tensor in trees.tensors(result).items()
        if trees.is_plain(tensor) and _can_follow(tensor)
    ]
    inputs = frozenset(map(_memory, filter(trees.is_plain, trees.tensors(given).values())))
    for path, tensor in outputs[:MOST_OUTPUTS]:
        followed = FollowedOutput(
            module=weakref.ref(module),
            key=(identity(module), path),
            values=tensor.detach(),
            given=_positions(given, tensor),
            place=own_code.own_place(),
            targets=dict(state.batch),
            inputs=inputs,
        )
        followed.handle = tensor.grad_fn.register_prehook(_teller(followed, tensor.output_nr))
        state.waiting.append(followed)
    if outputs:
        for event, listener in LISTENERS:
            event.wake(listener)
    for followed in state.waiting[:-MOST_WAITING]:
        _forget(followed)


def _memory(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _can_follow(tensor: Any) -> bool:
    return bool(
        tensor.grad_fn is not None
        and tensor.dim()
        and 1 < tensor.numel() <= MOST_ELEMENTS
        and tensor.is_floating_point()
        and tensor.layout is readable.torch().strided
    )


def _positions(given: Any, output: Any) -> Any:
    """The input with the rows and positions of an output."""
    if output.dim() < 2:
        return None
    for tensor in trees.tensors(given).values():
        fits = trees.is_plain(tensor) and tensor.dim() > 1 and tensor.numel() <= MOST_ELEMENTS
        if fits and tensor.shape[:2] == output.shape[:2]:
            return tensor.detach()
    return None


def _forget(followed: FollowedOutput) -> None:
    state.waiting.remove(followed)
    followed.handle.remove()


def _teller(followed: FollowedOutput, number: int) -> Any:
    def tell(gradients: tuple[Any, ...]) -> None:
        try:
            gradient = gradients[number]
            if state.running and trees.is_plain(gradient):
                with looks, readable.looking():
                    known = followed.gradient
                    followed.gradient = gradient.clone() if known is None else known + gradient
                    followed.backward = state.place
        except Exception as error:  # noqa: BLE001 - the user's backward pass goes on
            could_not("output_pulls.tell", error)

    return tell


@events.on(events.backward_begun)
def backward_begun(_loss: Any) -> None:
    state.running = bool(state.waiting)
    if state.running:
        state.place = own_code.own_place()
    else:
        events.backward_begun.rest(backward_begun)


@events.on(events.backward_ended)
def backward_ended() -> None:
    state.running = False
    for followed in list(state.waiting):
        followed.age += 1
        if followed.age > MOST_PASSES:
            _forget(followed)
    if not state.waiting:
        events.backward_ended.rest(backward_ended)


@events.on(events.loss_begun)
def loss_begun(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], _place: Any, grad: bool
) -> None:
    if not state.waiting:
        events.loss_begun.rest(loss_begun)
        return
    target: Any = args[1] if len(args) > 1 else kwargs.get("target")
    if not grad or not trees.is_plain(target) or target.requires_grad:
        return
    for words, tensor in ((name, target), (f"{name}, whole", target._base)):
        if tensor is not None and 1 < tensor.numel() <= MOST_TARGETS:
            for followed in state.waiting:
                followed.targets.setdefault(words, tensor.detach())


@events.on(events.step_begun)
def step_begun(optimizer: Any) -> None:
    if not state.waiting:
        events.step_begun.rest(step_begun)
        return
    if not readable.can_look():
        return
    with looks, readable.looking():
        held = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
        maximizes = any(group.get("maximize") for group in optimizer.param_groups)
        for followed in list(state.waiting):
            if _is_stepped(followed, held):
                _forget(followed)
                _look(followed, -1.0 if maximizes else 1.0)


LISTENERS = (
    (events.loss_begun, loss_begun),
    (events.backward_begun, backward_begun),
    (events.backward_ended, backward_ended),
    (events.step_begun, step_begun),
)


def _is_stepped(followed: FollowedOutput, held: set[int]) -> bool:
    module = followed.module()
    if module is None:
        return True
    every = readable.torch().nn.Module.parameters(module)
    return any(id(weight) in held for weight in every)


def _look(followed: FollowedOutput, sign: float) -> None:
    gradient, module = followed.gradient, followed.module()
    if gradient is None or module is None or gradient.shape != followed.values.shape:
        return
    gradient = sign * gradient.cpu().float()
    if not bool((gradient != 0).any()) or not bool(gradient.isfinite().all()):
        return
    output = ".".join(map(str, followed.key[1]))
    shape = tuple(map(int, gradient.shape))
    seen = state.seen.get(followed.key)
    if seen is None:
        name = type(module).__name__
        seen = state.seen[followed.key] = OutputSeen(name, output, followed.place, shape)
    if seen.shape != shape:
        return
    seen.looked += 1
    seen.step, seen.backward = noted.steps, followed.backward
    if followed.given is not None:
        alone = pulls.padding_alone(gradient, followed.given.cpu())
        seen.padded += alone is not None
        seen.padding_alone += bool(alone)
    values = followed.values.cpu().float()
    for name, target in followed.targets.items():
        pull = pulls.pull_of(values, gradient, target.cpu())
        known = seen.targets.setdefault(name, TargetSeen()) if pull is not None else None
        if pull is None or known is None or (known.looked and known.kind != pull.kind):
            continue
        known.kind, known.shape = pull.kind, tuple(map(int, target.shape))
        _add(known, pull)
        if _memory(target) not in followed.inputs:
            _add_axes(known, pull, values, gradient)


def _add(seen: TargetSeen, pull: pulls.StepPull) -> None:
    seen.looked += 1
    seen.judged += pull.judged
    seen.towards += pull.towards
    seen.away += 0 < pulls.NEARLY * pull.judged <= pull.away
    seen.over_rows += pull.over_rows
    seen.least += pull.least
    if seen.first is None:
        seen.first = pull.targets.clone()
    seen.repeats = seen.repeats and bool((seen.first == pull.targets).all())
    if pull.other:
        seen.others[pull.other] = seen.others.get(pull.other, 0) + 1


def _add_axes(seen: TargetSeen, pull: pulls.StepPull, values: Any, gradient: Any) -> None:
    torch = readable.torch()
    for axis, size in enumerate(gradient.shape):
        if size == 1 or pull.targets.shape[axis] != size:
            continue
        pulled, (low, high) = pulls.has_gradient(gradient, axis), pulls.bounds(pull, axis)
        known = seen.axes.setdefault(axis, AxisSeen(pulled, low, high))
        known.constant = known.constant and bool((known.pulled == pulled).all())
        known.pulled = known.pulled | pulled
        known.low, known.high = torch.minimum(known.low, low), torch.maximum(known.high, high)
        if known.constant and known.own and not bool(pulled.all()):
            known.own = pulls.is_own(values, gradient, pull, axis)


@finishing.at_end
@periodic.every_few_seconds
@guarded("gradients at outputs")
def write() -> None:
    looked = sum(seen.looked for seen in state.seen.values())
    if looked == state.written:
        return
    state.written = looked
    with readable.looking():
        outputs = tuple(map(_told, state.seen.values()))
    spool.saw(OutputPulls(process=spool.process(), outputs=outputs))


def _told(seen: OutputSeen) -> PulledOutput:
    return PulledOutput(
        model=seen.model,
        output=seen.output,
        place=seen.place,
        backward=seen.backward,
        shape=seen.shape,
        looked=seen.looked,
        step=seen.step,
        padding_alone=seen.padding_alone,
        padded=seen.padded,
        targets=tuple(_told_target(name, target) for name, target in seen.targets.items()),
    )


def _told_target(name: str, seen: TargetSeen) -> TargetPull:
    return TargetPull(
        target=name,
        kind=seen.kind,
        shape=seen.shape,
        looked=seen.looked,
        judged=seen.judged,
        towards=seen.towards,
        steps_away=seen.away,
        steps_over_rows=seen.over_rows,
        steps_least=seen.least,
        steps_of_others=dict(seen.others),
        repeats=seen.repeats,
        left_out=tuple(_left_out(seen)),
    )


def _left_out(seen: TargetSeen) -> Iterator[UnpulledPart]:
    for axis, known in seen.axes.items():
        indices = (~known.pulled & (known.high > known.low)).nonzero().flatten().tolist()
        if indices and known.constant and known.own:
            yield UnpulledPart(
                axis=axis, size=len(known.pulled), indices=tuple(indices[:MOST_INDICES])
            )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
