"""Events of training that several parts of the observer want to hear of, as they happen.

A listener is called at every event of its kind, within the user's own step: it decides by a counter
or a budget, in less than a microsecond, whether to look. It must not raise, change a tensor, draw a
random number, or keep a reference to what it is given.

Even a call that does nothing takes up to a microsecond, with cold caches. A listener that has
nothing to do for a while therefore rests: for a number of events, or until it is woken. Where
events come in every step, whoever tells of them counts them and asks `due` in its own frame:

    backward_ended.count += 1
    if backward_ended.count >= backward_ended.due:
        call(backward_ended)
"""

from collections.abc import Callable
from typing import Any, TypeVar

from surefit.observe.inside import finishing
from surefit.observe.inside.spool import could_not

Listener = TypeVar("Listener", bound=Callable[..., None])

NEVER = 1 << 62


class Event:
    """One kind of event, and who listens to it."""

    __slots__ = ("active", "count", "due", "listeners", "resting", "wake_at", "waking")

    def __init__(self) -> None:
        self.listeners: list[Callable[..., None]] = []
        self.resting: dict[Callable[..., None], int] = {}
        """With the number of the event at which each listens again."""
        self.active: tuple[Callable[..., None], ...] = ()
        """Those that do not rest. A new tuple at each change: somebody may be going through it."""
        self.count = 0
        """Events so far, in this process."""
        self.wake_at = NEVER
        """The least number in `resting`."""
        self.due = NEVER
        """The number of the next event of which somebody is told."""
        self.waking = False
        """Some were woken for the event that is being told, and may rest again after it."""

    def rest(self, listener: Callable[..., None], events: int = NEVER) -> None:
        """It does not hear of the next so many events; without a number, until it is woken."""
        if events > 0:
            self.resting[listener] = self.count + events + 1
            if not self.waking:
                self.arrange()

    def wake(self, listener: Callable[..., None]) -> None:
        if self.resting.pop(listener, None) is not None:
            self.arrange()

    def wake_due(self) -> None:
        """Those that rest again at this very event cause no further arrangement until its end."""
        count, resting = self.count, self.resting
        for listener in [known for known, number in list(resting.items()) if number <= count]:
            resting.pop(listener, None)
        self.active = tuple([known for known in self.listeners if known not in resting])
        self.waking = True

    def wake_all(self) -> None:
        self.resting.clear()
        self.arrange()

    def arrange(self) -> None:
        self.waking = False
        resting = self.resting
        self.active = tuple([known for known in self.listeners if known not in resting])
        self.wake_at = min(list(resting.values()), default=NEVER)
        self.due = 0 if self.active else self.wake_at


_every: list[Event] = []


def event() -> Event:
    new = Event()
    _every.append(new)
    return new


def before_power_of_two(count: int) -> int:
    """Numbers between this one and the next power of two, both left out."""
    return (1 << count.bit_length()) - count - 1


model_came = event()
"""(module): the first of its outermost calls begins."""
optimizer_came = event()
"""(optimizer): the first of its steps begins."""
forward_begun = event()
"""(module, args, kwargs): an outermost call of a module with parameters."""
forward_ended = event()
"""(module, args, kwargs, result): its end; the result is None if it raised."""
idle_begun = event()
"""(module, args, kwargs): as `forward_begun` and after it, of a call in evaluation mode or without
gradients."""
idle_ended = event()
"""(module, args, kwargs, result): its end, before `forward_ended`."""
loss_begun = event()
"""(name, args, kwargs, place, grad): a loss function of `torch.nn.functional`; `place` is the
user's line."""
loss_ended = event()
"""(name, args, kwargs, result, place, grad)."""
idle_loss_ended = event()
"""(name, args, kwargs, result, place): as `loss_ended`, where gradients are off."""
backward_begun = event()
"""(loss)"""
backward_ended = event()
"""()"""
step_begun = event()
"""(optimizer)"""
step_ended = event()
"""(optimizer): not called for a step that a gradient scaler left out."""
stepped_empty = event()
"""(optimizer): as `step_ended` and before it, of a step at which no tensor had a gradient."""
gradients_cleared = event()
"""(optimizer or module)"""
gradients_clipped = event()
"""(name of the function, args, kwargs)"""
batch_came = event()
"""(iterator of a loader, batch): the batch is None at the end of its rows."""


def on(what: Event) -> Callable[[Listener], Listener]:
    """Marks a listener."""

    def mark(listener: Listener) -> Listener:
        what.listeners.append(listener)
        what.wake_all()
        return listener

    return mark


def tell(event: Event, *what: Any) -> None:
    event.count += 1
    if event.count >= event.due:
        call(event, *what)


def call(event: Event, *what: Any) -> None:
    """Calls whoever listens to an event that has been counted, and is due."""
    if event.count >= event.wake_at:
        event.wake_due()
    for listener in event.active:
        try:
            listener(*what)
        except Exception as error:  # noqa: BLE001 - the user's program and the other listeners go on
            could_not(f"{listener.__module__.rpartition('.')[2]}.{listener.__name__}", error)
    if event.waking:
        event.arrange()


@finishing.after_fork
def forget_parent() -> None:
    for entry in _every:
        entry.count = 0
        entry.wake_all()
