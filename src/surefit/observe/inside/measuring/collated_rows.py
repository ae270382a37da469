"""When the user's own collate function is tried in a fork: once, after a step, with the model."""

import os
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.collated_rows import CollatedRows
from surefit.observe.inside import epochs, events, finishing, own_code, spool
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.experiments import company, forking, trees
from surefit.observe.inside.experiments.company import Joining, NotTriedError
from surefit.observe.inside.experiments.trees import Path, UnknownInputError
from surefit.observe.inside.measuring.experiments import SECOND_RUN
from surefit.observe.inside.training import hanging, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now

MOST_CALLS = 16
"""Calls of models until one must have been given a whole batch."""
MOST_BATCHES = 16
"""Batches of loaders until a step must have been taken."""
TOO_SLOW = 2.0
MOST_ELEMENTS = 1_000_000
STEPS = 2
"""Taken before: a layer that begins with zeros has some weight then."""


@dataclass(slots=True)
class CollateState:
    """Of this process."""

    batch: dict[Path, Any] = field(default_factory=dict)
    """Weak references to the tensors of the last batch."""
    iterator: Callable[[], Any] = lambda: None
    batches: int = 0
    calls: int = 0
    begun: float = 0.0
    done: bool = False
    fork: forking.ExperimentFork | None = None


state = CollateState()


@events.on(events.batch_came)
def batch_came(iterator: Any, batch: Any) -> None:
    if state.done:
        events.batch_came.rest(batch_came)
        return
    held = attributes(iterator)
    if batch is None or noted.steps < STEPS:
        return
    state.batches += 1
    if state.batches > MOST_BATCHES or held.get("_dataset_kind") == epochs.ITERABLE:
        state.done = True
        return
    if _own(held.get("_collate_fn")) is None:
        return
    tensors = {path: leaf for path, leaf in trees.tensors(batch).items() if trees.is_plain(leaf)}
    state.batch = {path: weakref.ref(tensor) for path, tensor in tensors.items()}
    state.iterator = weakref.ref(iterator)
    events.forward_begun.wake(forward_begun)
    events.forward_ended.wake(forward_ended)


def _own(collate: Any) -> Any:
    """The code of a function, or of a class with `__call__`, of the user's."""
    plain = getattr(collate, "func", collate)
    code = getattr(plain, "__code__", None)
    if code is None:
        code = getattr(vars(type(plain)).get("__call__"), "__code__", None)
    return code if code is not None and own_code.own(code) else None


@events.on(events.forward_begun)
def forward_begun(_module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if state.done or not state.batch:
        events.forward_begun.rest(forward_begun)
        return
    state.begun = time.thread_time()


@events.on(events.forward_ended)
def forward_ended(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if state.done or not state.batch:
        events.forward_ended.rest(forward_ended)
        return
    if result is None or not now.training or not now.grad or not readable.can_look():
        return
    took = time.thread_time() - state.begun
    state.calls += 1
    state.done = state.calls >= MOST_CALLS
    iterator = state.iterator()
    held = attributes(iterator) if iterator is not None else {}
    code = _own(held.get("_collate_fn"))
    rows = attributes(held.get("_index_sampler")).get("batch_size")
    if code is None or type(rows) is not int or took > TOO_SLOW:
        return
    with readable.looking():
        taken_from = _taken_from((args, kwargs))
    if not taken_from:
        return
    state.done = True
    state.batch = {}
    measure = CollatedRows(
        process=spool.process(),
        model=type(hanging.unwrapped(module)).__name__,
        place=own_code.own_place(),
        collate=code.co_name if code.co_name != "__call__" else code.co_qualname.split(".")[0],
        defined_at=Place(os.path.abspath(code.co_filename), code.co_firstlineno),
        step=noted.steps,
    )
    why_not = "the run only answers questions" if SECOND_RUN in os.environ else forking.why_not()
    if why_not:
        spool.saw(replace(measure, why_not=why_not))
        return
    joining = Joining(
        collate=held["_collate_fn"],
        dataset=held["_dataset"],
        module=module,
        tree=(args, kwargs),
        rows=rows,
        taken_from=taken_from,
    )
    state.fork = forking.start(lambda: work(joining, measure))


def _taken_from(tree: Any) -> dict[Path, Path]:
    """Empty unless every tensor of a call is one of the batch, or equal to it."""
    alive = {path: tensor for path, known in state.batch.items() if (tensor := known()) is not None}
    found: dict[Path, Path] = {}
    for path, tensor in trees.tensors(tree).items():
        source = next((key for key, known in alive.items() if known is tensor), None)
        source = source or next(
            (key for key, known in alive.items() if _equal(known, tensor)), None
        )
        if source is None or not tensor.is_cpu:
            return {}
        found[path] = source
    return found


def _equal(known: Any, tensor: Any) -> bool:
    if known.shape != tensor.shape or known.numel() > MOST_ELEMENTS or not trees.is_plain(tensor):
        return False
    if known.dtype.is_floating_point != tensor.dtype.is_floating_point:
        return False
    return bool((known == tensor).all())


def work(joining: Joining, measure: CollatedRows) -> None:
    """In the fork."""
    forking.writes_nothing()
    try:
        with readable.torch().no_grad():
            measure = company.tried(joining, measure)
    except (NotTriedError, UnknownInputError) as error:
        measure = replace(measure, why_not=str(error))
    except Exception as error:  # noqa: BLE001 - the user's own code runs here
        said = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        measure = replace(measure, why_not=f"rows could not be joined again ({said})")
    with forking.allowed():
        spool.saw(measure)


@finishing.at_end
def wait() -> None:
    if state.fork is not None:
        state.fork.wait()


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
