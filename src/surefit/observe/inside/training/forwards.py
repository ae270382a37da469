"""Calls of modules: the outermost ones are events of training, the rest is passed through."""

from threading import get_ident
from types import ModuleType
from typing import Any

from surefit.observe.inside import compiling, events
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.events import forward_begun, forward_ended
from surefit.observe.inside.spool import could_not, guarded
from surefit.observe.inside.training import (
    beside,
    calls,
    inputs,
    labels,
    letters,
    periodic,
    readable,
)
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around, stands_for

AS_KNOWN = ("_compiled_call_impl", "_call_impl")
"""What `Module.__call__` uses, in every version so far."""


@after_import("torch.nn.modules.module")
def module_calls(module: ModuleType) -> None:
    plain = module.Module.__call__
    if plain.__code__.co_names == AS_KNOWN:
        stands_for(_call, plain)
        module.Module.__call__ = _call
    else:
        module.Module.__call__ = around(plain, _begin_around, _end_around)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """As torch has it, in one frame, and around the outermost call a note."""
    if (
        compiling.is_traced()
        or (now.inside and not now.wide)
        or compiling.state._is_compiling_flag
        or not begin(self, args, kwargs)
    ):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)
    result = None
    try:
        if self._compiled_call_impl is not None:
            result = self._compiled_call_impl(*args, **kwargs)
        else:
            result = self._call_impl(*args, **kwargs)
        return result
    finally:
        end(self, args, kwargs, result)


def begin(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is an event, noted as begun. That of a module without parameters is not:
    what it calls is looked at instead."""
    if now.inside:
        nested(module)
        return False
    try:
        thread = get_ident()
        known = calls.of(module) if now.thread == thread or not now.thread else None
        if known is None or not known.counts:
            return False
        now.thread = thread
        now.grad = grad = readable.torch().is_grad_enabled()
        turned = False
        if module.__dict__.get("training", True):
            turned = now.training is False
            now.training = training = True
            letters.note("T" if grad else "t", True)
            known.training = count = known.training + 1
            if not grad:
                known.unrecorded += 1
        else:
            now.training = training = False
            letters.note("E" if grad else "e", True)
            known.evaluating = count = known.evaluating + 1
        if not count & (count - 1):  # the first, and powers of two
            now.wide = True
            now.recorded = grad
            now.outermost = known
            idle = training and beside.look_for_chance(module, known, grad)
            beside.called(known, idle or not training)
        elif not (grad and training):
            beside.called(known)
        if "labels" in kwargs or (args and hasattr(type(args[0]), "keys")):
            labels.look(args, kwargs, training)
        if count <= inputs.most:
            inputs.look(args, kwargs, training)
        if noted.now >= periodic.due:
            periodic.write(noted.now)
        elif turned:  # an evaluation has ended
            periodic.write_early(noted.now)
    except Exception as error:  # noqa: BLE001 - the user's module runs, whatever happens here
        could_not("calls of modules", error)
    now.inside = True
    forward_begun.count += 1
    if forward_begun.count >= forward_begun.due:
        events.call(forward_begun, module, args, kwargs)
    if not (now.grad and now.training):
        events.tell(events.idle_begun, module, args, kwargs)
    return True


def _begin_around(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return not now.inside and begin(args[0], args[1:], kwargs)


def _end_around(args: tuple[Any, ...], result: Any) -> None:
    end(args[0], args[1:], {}, result)


def end(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if not (now.grad and now.training):
        events.tell(events.idle_ended, module, args, kwargs, result)
    forward_ended.count += 1
    if forward_ended.count >= forward_ended.due:
        events.call(forward_ended, module, args, kwargs, result)
    if now.outermost is not None:
        known, now.outermost = now.outermost, None
        gave(known, result)
    now.inside = now.wide = False
    letters.ended()


@guarded("what modules give back")
def gave(known: calls.Calls, result: Any) -> None:
    beside.gave(known, result)


def nested(module: Any) -> None:
    try:
        known = calls.inside(module)
        if now.recorded and known is not None and not readable.torch().is_grad_enabled():
            beside.inside(module, known)
    except Exception as error:  # noqa: BLE001 - see above
        could_not("calls of modules", error)
