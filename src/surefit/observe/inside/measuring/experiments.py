"""When experiments with the live model are made: after one of the first forward passes in training,
and once in evaluation."""

import os
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from surefit.observe.inside import events, finishing, own_code, small_batches, spool
from surefit.observe.inside.autopsy.values import attributes, is_a
from surefit.observe.inside.experiments import forking, trees, trying
from surefit.observe.inside.experiments.trees import Path
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted

MOST_MODELS = 2
"""Different models of which experiments are made."""
MOST_CALLS = 64
"""Calls of a model that are looked at until its experiment is made."""
SLOW = 0.25
"""Seconds of a forward pass from which on fewer rows are taken."""
TOO_SLOW = 6.0
FORWARDS = 8
"""Forward passes that the experiments take, about."""
FIRST_BATCHES = 4
"""Of each way through a loader that are looked at, once the experiments in training are made."""
MOST_COMPARED = 1_000_000
FEWEST_EQUAL = 8
SAME, OTHER = 0.98, 0.9
IGNORED = -100
COMPARES = frozenset(("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss"))
WRAPPED = ("ScriptModule", "FullyShardedDataParallel", "RecursiveScriptModule", "DataParallel")

UNLIKE = "no call of a model was like the batch of its loader"
SECOND_RUN = "SUREFIT_STORY"
"""Environment: a run that only answers questions."""

budget = Budget(share=0.01, opening=1.5)


@dataclass(slots=True)
class AwaitedModel:
    """A model whose calls are awaited."""

    alive: Any
    calls: int = 0
    tried: set[bool] = field(default_factory=set)
    """Modes in which its experiment was made, or given up."""
    sizes: set[int] = field(default_factory=set)
    """First axes of its first input, over the calls."""


@dataclass(slots=True)
class ExperimentState:
    """What is known until the experiments are made."""

    models: dict[int, AwaitedModel] = field(default_factory=dict)
    forks: list[tuple[forking.ExperimentFork, trying.TriedCall]] = field(default_factory=list)
    done: bool = False
    begun: float = 0.0
    inputs: dict[Path, Any] = field(default_factory=dict)
    """Weak references to the tensors of the last call in training."""
    shape: tuple[int, ...] = ()
    predicts: Path | None = None
    positions: int = 1
    """Its axis of positions: the other of the first two holds the rows."""
    compared: int = 0
    targets: int | None = None
    """Labels of the last loss, if they have one axis."""
    iterator: Callable[[], Any] = lambda: None
    looked: int = 0
    """Batches of this iterator of a loader."""
    awaits_training: bool = True
    rows: int | None = None
    """Of a batch of the loader that gave the last one."""
    batch: list[Any] = field(default_factory=list)
    """Weak references to its tensors."""
    why_not: str = ""


seen = ExperimentState()


@events.on(events.batch_came)
def batch_came(iterator: Any, batch: Any) -> None:
    if seen.done or batch is None:
        return
    if seen.iterator() is not iterator:
        seen.iterator, seen.looked = weakref.ref(iterator), 0
    seen.looked += 1
    if seen.looked > FIRST_BATCHES and not seen.awaits_training:
        return
    held = attributes(iterator)
    size = attributes(held.get("_index_sampler")).get("batch_size")
    seen.rows = small_batches.rows_of_a_batch(held, size) if type(size) is int else None
    tensors = filter(trees.is_plain, trees.tensors(batch).values())
    seen.batch = [weakref.ref(tensor) for tensor in list(tensors)[:16]]


@events.on(events.forward_begun)
def forward_begun(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if seen.done:
        events.forward_begun.rest(forward_begun)
        return
    known = seen.models.get(identity(module))
    if known is None:
        if len(seen.models) >= MOST_MODELS:
            return
    elif vars(module).get("training", True) in known.tried:
        if not seen.awaits_training:
            events.forward_begun.rest(forward_begun)
            events.forward_ended.rest(forward_ended)
        return
    seen.begun = time.thread_time()
    seen.inputs = {
        path: weakref.ref(tensor)
        for path, tensor in trees.tensors((args, kwargs)).items()
        if trees.is_plain(tensor)
    }


@events.on(events.model_came)
def model_came(_module: Any) -> None:
    events.forward_begun.wake(forward_begun)
    events.forward_ended.wake(forward_ended)


@events.on(events.idle_begun)
def idle_begun(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Calls in training are not heard of any more: this may be the first in evaluation."""
    known = seen.models.get(identity(module))
    if known is None or seen.done or vars(module).get("training", True) in known.tried:
        return
    if forward_begun in events.forward_begun.resting:
        events.forward_begun.wake(forward_begun)
        events.forward_ended.wake(forward_ended)
        forward_begun(module, args, kwargs)


@events.on(events.loss_begun)
def loss_begun(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], _place: Any, grad: bool
) -> None:
    """Whether the loss compares each position with the next one of an input."""
    if seen.done or seen.compared > 3:
        events.loss_begun.rest(loss_begun)
        return
    if not grad or name not in COMPARES:
        return
    target: Any = args[1] if len(args) > 1 else kwargs.get("target")
    if not trees.is_plain(target) or not readable.can_look():
        return
    seen.compared += 1
    with readable.looking():
        seen.targets = int(target.shape[0]) if target.dim() == 1 else None
        for path, reference in seen.inputs.items():
            given = reference()
            axis = _next_along(given, target) if given is not None else None
            if axis is not None:
                seen.predicts, seen.positions = path, axis
                return


def _next_along(given: Any, target: Any) -> int | None:
    """The axis of positions, where the target is the next one of each."""
    if given.dim() < 2 or given.is_floating_point() != target.is_floating_point():
        return None
    if not (given.is_cpu and target.is_cpu) or given.numel() > MOST_COMPARED:
        return None
    return next((axis for axis in (1, 0) if _is_next_along(given, target, axis)), None)


def _is_next_along(given: Any, target: Any, axis: int) -> bool:
    steps = given.shape[axis] - 1
    if steps < 1:
        return False
    later, earlier = given.narrow(axis, 1, steps), given.narrow(axis, 0, steps)
    if target.numel() == later.numel():
        labels = target.reshape(later.shape)
    elif target.numel() == given.numel():
        labels = target.reshape(given.shape).narrow(axis, 0, steps)
    else:
        return False
    counted = labels != IGNORED
    count = int(counted.sum())
    equal = int(((labels == later) & counted).sum())
    same = int(((labels == earlier) & counted).sum())
    return count >= FEWEST_EQUAL and equal >= SAME * count and same < OTHER * count


@events.on(events.forward_ended)
def forward_ended(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if seen.done:
        events.forward_ended.rest(forward_ended)
        return
    if result is None:
        return
    known = seen.models.get(identity(module))
    if known is not None and vars(module).get("training", True) in known.tried:
        return
    took = time.thread_time() - seen.begun
    model = _model(module)
    if model is None or kwargs.get("past_key_values") is not None:
        return  # the latter is a step of `generate`
    training = bool(vars(module).get("training", True))
    if training in model.tried or not readable.can_look():
        return
    recorded = readable.torch().is_grad_enabled()
    with readable.looking():
        call = _prepared(model, module, (args, kwargs), training and not recorded, took)
        why_not = _why_not(call, took) if call is not None else ""
    if call is not None:
        _try(model, call, took, why_not)


def _prepared(
    model: AwaitedModel, module: Any, tree: Any, unrecorded: bool, took: float
) -> trying.TriedCall | None:
    """None where a later call is awaited."""
    training = bool(vars(module).get("training", True))
    if not all(map(trees.is_plain, trees.tensors(tree).values())):
        _give_up(model, training, "the model is given tensors of a class of their own")
        return None
    first = next((tensor for tensor in trees.tensors(tree).values() if tensor.dim()), None)
    model.calls += 1
    model.sizes.add(int(first.shape[0]) if first is not None else 0)
    if unrecorded or (training and not _has_begun(model)):
        return None
    if model.calls > MOST_CALLS:
        _give_up(model, training, UNLIKE)
        return None
    predicted = trees.tensors(tree).get(seen.predicts) if seen.predicts is not None else None
    if seen.rows is None and predicted is not None and predicted.dim() >= 2:
        known: tuple[int | None, bool] = int(predicted.shape[1 - seen.positions]), False
    else:
        known = _rows(module, first, model)
    rows, assumed = known
    return _call(module, tree, rows, assumed, training, took) if rows is not None else None


def _has_begun(model: AwaitedModel) -> bool:
    """Weights have moved once: before that some layers are still zero."""
    return noted.steps >= 1 or model.calls > 3


def _model(module: Any) -> AwaitedModel | None:
    known = seen.models.get(identity(module))
    if known is not None and known.alive() is module:
        return known
    if len(seen.models) >= MOST_MODELS:
        return None
    known = seen.models[identity(module)] = AwaitedModel(weakref.ref(module))
    return known


def _rows(module: Any, first: Any, model: AwaitedModel) -> tuple[int | None, bool]:
    """How many rows the batch has, and whether only its labels say so."""
    if seen.rows is not None:
        fits = first is not None and seen.rows in tuple(first.shape[:2]) and _loaded(seen.rows)
        return (seen.rows if fits else None), False
    if first is None:
        return None, False
    rows = int(first.shape[0])
    if is_a(hanging.unwrapped(module), "transformers.modeling_utils", "PreTrainedModel"):
        return rows, False
    constant = len(model.sizes) == 1 and model.calls > 1
    labelled = seen.targets == rows and rows not in tuple(first.shape[1:])
    return (rows if constant and labelled else None), True


def _loaded(rows: int) -> bool:
    """The loader's last batch is a whole one."""
    alive = [tensor for reference in seen.batch if (tensor := reference()) is not None]
    return any(rows in tuple(tensor.shape) for tensor in alive)


def _call(
    module: Any, tree: Any, rows: int, assumed: bool, training: bool, took: float
) -> trying.TriedCall:
    loaded = {
        id(tensor): 0
        for reference in seen.batch
        if (tensor := reference()) is not None and tensor.dim() and tensor.shape[0] == rows
    }
    predicted = trees.tensors(tree).get(seen.predicts) if seen.predicts is not None else None
    if predicted is not None and predicted.dim() >= 2:
        axis = 1 - seen.positions
        if predicted.shape[axis] == rows:
            loaded[id(predicted)] = axis
    return trying.TriedCall(
        module=module,
        tree=tree,
        rows=rows,
        from_loader=loaded,
        assumed=assumed,
        place=own_code.own_place(),
        training=training,
        step=noted.steps,
        slow=took > SLOW,
        predicts=seen.predicts,
    )


def _try(model: AwaitedModel, call: trying.TriedCall, took: float, why_not: str) -> None:
    if why_not:
        _give_up(model, call.training, why_not)
        return
    cost = FORWARDS * took * min(1.0, (3 if call.slow else 7) / call.rows)
    if not budget.allows(cost):
        model.calls -= 1  # a later call may find time
        return
    model.tried.add(call.training)
    budget.spent += cost
    seen.forks.append((forking.start(lambda: trying.work(call)), _light(call)))
    _finish_when_complete()


def _light(call: trying.TriedCall) -> trying.TriedCall:
    """Without anything that would keep tensors alive."""
    return replace(call, module=None, tree=((), {}), from_loader={})


def _why_not(call: trying.TriedCall, took: float) -> str:
    if SECOND_RUN in os.environ:
        return "the run only answers questions"
    if took > TOO_SLOW:
        return f"a forward pass takes {took:.1f} s"
    kinds = {kind.__name__ for kind in type(call.module).__mro__}
    if kinds & set(WRAPPED):
        return f"a `{type(call.module).__name__}` is not called in a fork"
    tensors = list(trees.tensors(call.tree).values())
    if any(not tensor.is_cpu for tensor in tensors):
        return "the batch is on an accelerator, where there is no fork"
    return forking.why_not()


def _give_up(model: AwaitedModel, training: bool, why_not: str) -> None:
    model.tried.add(training)
    seen.why_not = seen.why_not or why_not
    _finish_when_complete()


def _finish_when_complete() -> None:
    seen.awaits_training = any(True not in model.tried for model in seen.models.values())
    full = len(seen.models) >= MOST_MODELS
    seen.done = full and all(len(model.tried) > 1 for model in seen.models.values())


@finishing.at_end
def wait() -> None:
    """Forks that are still at work are waited for; those that hang are said to."""
    for fork, call in seen.forks:
        fork.wait()
        if not fork.ended:
            what = f"a fork did not end within {forking.SECONDS:.0f} s"
            spool.saw(replace(_unmade(call), why_not=what))
    if not seen.forks and noted.steps:
        why = seen.why_not or UNLIKE
        spool.saw(replace(_unmade(None), why_not=why))


def _unmade(call: trying.TriedCall | None) -> Any:
    from surefit.doctor.measures.experiments import Experimented

    return Experimented(
        process=spool.process(),
        model="",
        place=call.place if call is not None else None,
        training=call.training if call is not None else True,
        step=call.step if call is not None else 0,
    )


@finishing.after_fork
def forget_parent() -> None:
    global seen
    seen = ExperimentState()
