"""Weights that should learn: steps without a gradient and why, weights that are no numbers."""

import math
import weakref
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.weights_learn import HeldWeights, WeightsLearn
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.measuring.missing_gradients import Missing
from surefit.observe.inside.measuring.unstepped_weights import Unstepped
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import optimizers, periodic, readable, stepping
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around

EVERY, SELDOM = 64, 16
"""So many steps and passes are all looked at, then one in so many."""
MOST = 64
MOST_ELEMENTS = 200_000_000
"""Of an optimizer whose weights are searched for NaN."""

values = Budget(share=0.001, opening=0.05)


@dataclass(slots=True)
class Weights:
    """What was seen of one optimizer; it holds no tensor."""

    known: optimizers.Optimizer
    stepped_at: Place | None
    first_step: int
    tensors: int
    handed: int | None
    trainable: int
    empty: int = 0
    leaf: int = 0
    cleared: int = 0
    without_backward: int = 0
    bad_gradients: int = 0
    not_finite_by: int = 0
    not_numbers: int = 0
    not_numbers_by: int = 0
    cost: float = 0.0
    missing: Missing = field(default_factory=Missing)


class Learning:
    """All optimizers, and the backward passes since the last step."""

    def __init__(self) -> None:
        self.weights: dict[int, Weights] = {}
        self.looked = 0
        self.leaves = 0
        self.first_leaf = self.first_leaf_step = 0
        self.leaf_at: Place | None = None
        self.last_is_leaf = False
        self.unstepped = Unstepped()
        self.ordinary: readable.Ordinary | None = None
        self.changed = False


seen = Learning()
_handed: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()


def before_sample(count: int) -> int:
    """Numbers between this one and the next that is looked at."""
    return SELDOM - count % SELDOM - 1 if count >= EVERY else 0


@after_import("torch.optim.optimizer")
def handed_over(module: ModuleType) -> None:
    kind = module.Optimizer
    kind.add_param_group = around(kind.add_param_group, _is_given, _was_given)


def _is_given(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _was_given(args: tuple[Any, ...], _result: Any) -> None:
    groups = vars(args[0]).get("param_groups") or ()
    with readable.looking():
        trainable = sum(tensor.requires_grad for group in groups for tensor in group["params"])
    _handed[args[0]] = trainable


@events.on(events.backward_begun)
def passes(loss: Any) -> None:
    count = events.backward_begun.count
    events.backward_begun.rest(passes, before_sample(count))
    seen.changed = True
    seen.looked += 1
    seen.last_is_leaf = is_leaf = _is_leaf(loss)
    if not noted.steps and not seen.unstepped.begun and readable.can_look():
        with readable.looking():
            seen.unstepped.begin(count, _single(loss))
    if is_leaf:
        seen.leaves += 1
        if seen.leaf_at is None:
            seen.first_leaf, seen.first_leaf_step = count - 1, noted.steps
            seen.leaf_at = own_code.own_place()


def _is_leaf(loss: Any) -> bool:
    """A single tensor that requires grad and that no operation made."""
    loss = _single(loss)
    if type(loss) in (tuple, list):
        return False
    if seen.ordinary is None:
        seen.ordinary = readable.Ordinary()
    if seen.ordinary.is_ordinary(loss):
        return loss.grad_fn is None
    if readable.torch().Tensor not in type(loss).__mro__:
        return False
    with readable.looking():
        return loss.grad_fn is None


def _single(loss: Any) -> Any:
    return loss[0] if type(loss) in (tuple, list) and len(loss) == 1 else loss


@events.on(events.backward_ended)
def passed() -> None:
    if noted.steps:
        events.backward_ended.rest(passed)
    elif seen.unstepped.is_due(events.backward_begun.count) and readable.can_look():
        with readable.looking():
            seen.unstepped.look(events.backward_begun.count)


@events.on(events.optimizer_came)
def came(_optimizer: Any) -> None:
    events.step_ended.wake(stepped)


@events.on(events.stepped_empty)
def without_gradients(optimizer: Any) -> None:
    weights = _weights(optimizer)
    if weights is not None:
        _note_empty(weights, optimizer)


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    weights = _weights(optimizer)
    if weights is None:
        return
    known = weights.known
    if len(seen.weights) == 1:
        events.step_ended.rest(stepped, before_sample(known.steps))
    elif before_sample(known.steps - 1):
        return
    seen.changed = True
    _look_for_numbers(weights, optimizer)
    if weights.missing.is_due(known.steps) and not weights.empty and readable.can_look():
        with values, readable.looking():
            weights.missing.look(known.parameters, optimizers.tensors(optimizer))


def _weights(optimizer: Any) -> Weights | None:
    known = optimizers.of(optimizer)
    weights = seen.weights.get(known.serial)
    if weights is None and len(seen.weights) < MOST:
        weights = seen.weights[known.serial] = _first(known, optimizer)
    return weights


def _first(known: optimizers.Optimizer, optimizer: Any) -> Weights:
    tensors = optimizers.tensors(optimizer)
    with readable.looking():
        trainable = sum(tensor.requires_grad for tensor, _ in tensors)
    at, handed = own_code.own_place(), _handed.get(optimizer)
    return Weights(known, at, noted.steps - 1, len(tensors), handed, trainable)


def _note_empty(weights: Weights, optimizer: Any) -> None:
    weights.empty = weights.known.without_gradient
    weights.leaf += seen.last_is_leaf
    weights.cleared += now.cleared
    weights.without_backward += events.backward_ended.count == stepping.seen.passes
    if not before_sample(weights.empty - 1):
        with readable.looking():
            tensors = optimizers.tensors(optimizer)
            weights.tensors = len(tensors)
            weights.trainable = sum(tensor.requires_grad for tensor, _ in tensors)


def _look_for_numbers(weights: Weights, optimizer: Any) -> None:
    """After gradients that were not finite, and at powers of two, whether weights hold NaN."""
    steps = weights.known.steps
    bad = sum(parameter.not_finite for parameter in weights.known.parameters)
    fresh, weights.bad_gradients = bad > weights.bad_gradients, bad
    if fresh and not weights.not_finite_by:
        weights.not_finite_by = noted.steps
    due = fresh or not steps & (steps - 1)
    if weights.not_numbers or not due or not values.allows(weights.cost):
        return
    if readable.can_look():
        before = values.spent
        with values, readable.looking():
            _count_bad(weights, optimizer)
        weights.cost = values.spent - before


def _count_bad(weights: Weights, optimizer: Any) -> None:
    torch = readable.torch()
    learning = [tensor for tensor, _ in optimizers.tensors(optimizer) if tensor.grad is not None]
    plain = [readable.plain(tensor) for tensor in learning]
    found = [weight for weight in plain if weight is not None and weight.is_floating_point()]
    found = [weight for weight in found if weight.dtype.itemsize > 1 and weight.numel()]
    found = [weight for weight in found if weight.layout is torch.strided]
    if not found or sum(weight.numel() for weight in found) > MOST_ELEMENTS:
        return
    step = noted.steps

    def judge(sizes: list[float]) -> None:
        weights.not_numbers = sum(map(math.isnan, sizes))
        weights.not_numbers_by = step if weights.not_numbers else 0

    kinds = {(weight.device, weight.dtype) for weight in found}
    if len(kinds) == 1:
        readable.read(torch.stack(torch._foreach_norm(found)), judge)
    elif all(weight.device.type == "cpu" for weight in found):
        judge([float(weight.float().norm()) for weight in found])


@finishing.at_end
@periodic.every_few_seconds
@guarded("weights that learn")
def write() -> None:
    if seen.changed:
        seen.changed = False
        spool.saw(_measure())


def _measure() -> WeightsLearn:
    unstepped = seen.unstepped
    return WeightsLearn(
        process=spool.process(),
        held=tuple(_told(weights) for weights in seen.weights.values()),
        passes=seen.looked,
        leaves=seen.leaves,
        first_leaf=seen.first_leaf,
        first_leaf_step=seen.first_leaf_step,
        leaf_at=seen.leaf_at,
        optimizers=unstepped.optimizers,
        made_at=unstepped.made_at,
        watched=len(unstepped.watched),
        moved=unstepped.moved,
        compared=unstepped.compared,
    )


def _told(weights: Weights) -> HeldWeights:
    return HeldWeights(
        optimizer=weights.known.serial,
        stepped_at=weights.stepped_at,
        first_step=weights.first_step,
        last_step=weights.known.last_step,
        tensors=weights.tensors,
        handed_trainable=weights.handed,
        trainable=weights.trainable,
        empty=weights.empty,
        leaf=weights.leaf,
        cleared=weights.cleared,
        without_backward=weights.without_backward,
        not_numbers=weights.not_numbers,
        not_numbers_by=weights.not_numbers_by,
        not_finite_by=weights.not_finite_by,
        missing=tuple(weights.missing.names),
        missing_looked=weights.missing.looked,
    )


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
