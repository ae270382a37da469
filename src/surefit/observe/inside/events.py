"""Events of training that several parts of the observer want to hear of, as they happen.

A listener is called at every event of its kind, within the user's own step: it decides by a counter
or a budget, in less than a microsecond, whether to look. It must not raise, change a tensor, draw a
random number, or keep a reference to what it is given.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from surefit.observe.inside.spool import could_not

Listener = TypeVar("Listener", bound=Callable[..., None])

Listeners = list[Callable[..., None]]

forward_begun: Listeners = []
"""(module, args, kwargs): an outermost call of a module with parameters."""
forward_ended: Listeners = []
"""(module, args, kwargs, result): its end; the result is None if it raised."""
loss_begun: Listeners = []
"""(name, args, kwargs, place, grad): a loss function of `torch.nn.functional`; `place` is the
user's line."""
loss_ended: Listeners = []
"""(name, args, kwargs, result, place, grad)."""
backward_begun: Listeners = []
"""(loss)"""
backward_ended: Listeners = []
"""()"""
step_begun: Listeners = []
"""(optimizer)"""
step_ended: Listeners = []
"""(optimizer): not called for a step that a gradient scaler left out."""
gradients_cleared: Listeners = []
"""(optimizer or module)"""
gradients_clipped: Listeners = []
"""(name of the function, args, kwargs)"""
batch_came: Listeners = []
"""(iterator of a loader, batch): the batch is None at the end of its rows."""


def on(event: Listeners) -> Callable[[Listener], Listener]:
    """Marks a listener."""

    def mark(listener: Listener) -> Listener:
        event.append(listener)
        return listener

    return mark


def tell(event: Listeners, *what: Any) -> None:
    for listener in event:
        try:
            listener(*what)
        except Exception as error:  # noqa: BLE001 - the user's program and the other listeners go on
            could_not(f"{listener.__module__.rpartition('.')[2]}.{listener.__name__}", error)
