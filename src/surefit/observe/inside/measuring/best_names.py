"""Variables that are called the best and are the very tensors that training goes on with."""

from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from surefit.doctor.measures.saving import LiveState
from surefit.observe.inside import events, finishing, own_code
from surefit.observe.inside.autopsy.values import attributes, is_module, is_tensor
from surefit.observe.inside.measuring import saving, state_tensors
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted

BEST = "best"
MOST_FRAMES = 8
MOST_NAMES = 64

budget = Budget(share=0.0005, opening=0.1)
_evaluated = False
"""Since the last step."""


@events.on(events.idle_begun)
def called(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    global _evaluated
    if not vars(module).get("training", True):
        _evaluated = True
        events.step_ended.wake(stepped)


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    """The first step after an evaluation: what that has called the best is looked at."""
    global _evaluated
    events.step_ended.rest(stepped)
    if not _evaluated:
        return
    _evaluated = False
    if not budget.allows() or not readable.can_look():
        return
    with budget, readable.looking():
        trained = {
            parameter.data_ptr()
            for group in optimizer.param_groups
            for parameter in group["params"]
            if readable.plain(parameter) is parameter and parameter.numel()
        }
        for frame, name, value in _called_best():
            tensors = _tensors(value)
            saving.so_far.best_looks += bool(tensors)
            shared = sum(tensor.data_ptr() in trained for tensor in tensors)
            if shared and shared >= len(trained) / 2:
                _note(frame, name, value, len(tensors), shared)


def _called_best() -> Iterator[tuple[FrameType, str, Any]]:
    frame = own_code.own_frame()
    for _ in range(MOST_FRAMES):
        if frame is None:
            return
        if own_code.own(frame.f_code):
            held = frame.f_locals
            for name, value in list(held.items())[:MOST_NAMES]:
                if BEST in name.lower():
                    yield frame, name, value
                elif own_code.own_class(type(value)) and not is_module(value):
                    for attribute, inside in list(attributes(value).items())[:MOST_NAMES]:
                        if BEST in attribute.lower():
                            yield frame, f"{name}.{attribute}", inside
        frame = frame.f_back


def _tensors(value: Any) -> list[Any]:
    if is_module(value):
        return list(state_tensors.of_module(value).values())
    if isinstance(value, dict):
        return list(state_tensors.in_mapping(value).values())
    if type(value) in (list, tuple):
        return _plain(value[: state_tensors.MOST])
    return []


def _plain(values: Iterable[Any]) -> list[Any]:
    tensors = (readable.plain(value) for value in values if is_tensor(value))
    return [tensor for tensor in tensors if tensor is not None and tensor.numel()]


def _note(frame: FrameType, name: str, value: Any, tensors: int, shared: int) -> None:
    key = "kept", name, frame.f_code.co_qualname
    known = saving.so_far.live.get(key)
    if known is None and len(saving.so_far.live) >= saving.MOST:
        return
    saving.so_far.live[key] = LiveState(
        how="kept",
        model=type(value).__name__,
        taken_at=None,
        taken_step=known.taken_step if known is not None else noted.steps,
        used_at=own_code.place(frame),
        used_step=noted.steps,
        tensors=tensors,
        changed=shared,
        name=name,
        function=frame.f_code.co_qualname,
    )


@finishing.after_fork
def forget_parent() -> None:
    global _evaluated
    _evaluated = False
