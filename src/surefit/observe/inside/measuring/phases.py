"""Which calls of models are learned from: a backward pass goes through what they gave back.

Calls are told apart by model, line, caller's line, mode of the model and whether gradients are on.
What no backward pass goes through is evaluation, also where gradients are on.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite
from surefit.observe.inside import events, finishing, origins, own_code, spool
from surefit.observe.inside.autopsy.values import mapping
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now

MOST = 512
"""Sites that are told apart."""
HOOKED = 16
"""First calls of a site of which each is followed to its backward pass; then powers of two."""
MOST_TENSORS = 4
CALLER = 4
"""Frames between `begin` and what calls a module, where that is the user's own."""

Key = tuple[int, int, int, int, int, bool, bool]


@dataclass(slots=True, eq=False)
class CallPhase:
    """Calls of one model from one line, in one mode."""

    code: CodeType | None
    instruction: int
    place: Place | None
    module: Callable[[], Any]
    kind: str
    serial: int
    made_at: Place | None
    training: bool
    grad: bool
    back: CodeType | None = None
    """The user's code that called the function of the line, and where."""
    back_instruction: int = 0
    calls: int = 0
    followed: int = 0
    learned: int = 0
    """Of those followed, calls that a backward pass went through."""
    first_step: int = 0
    last_step: int = 0

    @property
    def call_site(self) -> CallSite | None:
        return written_call(self.code, self.instruction)

    @property
    def caller(self) -> CallSite | None:
        return written_call(self.back, self.back_instruction)


def written_call(code: CodeType | None, instruction: int) -> CallSite | None:
    """With the columns that Python keeps of a call, in bytes as `ast` counts them."""
    if code is None:
        return None
    positions = next(islice(code.co_positions(), instruction // 2, None), None)
    line, _, column, end_column = positions or (None,) * 4
    return CallSite(Place(os.path.abspath(code.co_filename), line), column, end_column)


sites: dict[Key, CallPhase] = {}
called = events.event()
"""(site, args, kwargs, result): after each outermost call of a model."""
idle_called = events.event()
"""(site, args, kwargs, result): the same, without gradients."""
learned = events.event()
"""(site): a backward pass has come to a call of it."""
_last: list[CallPhase] = []
"""The site of the call before, where the user's frame called the model itself."""
current: list[CallPhase] = []
"""The site of the outermost call that is running, if one is."""
_follow_all = spool.in_proof()
"""In a proof: every call to its backward pass."""


@events.on(events.forward_begun)
def begin(module: Any, _args: Any, _kwargs: Any) -> None:
    nearest = sys._getframe(CALLER)
    if _last:
        site, back = _last[0], nearest.f_back
        if (
            nearest.f_lasti == site.instruction
            and (back.f_lasti if back is not None else 0) == site.back_instruction
            and now.training is site.training
            and now.grad is site.grad
            and site.module() is module
            and nearest.f_code is site.code
        ):  # the same call as before
            current.append(site)
            return
    current[:] = [_site(module, nearest)]


@events.on(events.forward_ended)
def end(_module: Any, args: Any, kwargs: Any, result: Any) -> None:
    if not current:
        return
    site = current.pop()
    site.calls = count = site.calls + 1
    site.last_step = noted.steps
    if site.grad and (count <= HOOKED or not count & (count - 1) or _follow_all):
        _follow(site, result)
    called.count += 1
    if called.count >= called.due:
        events.call(called, site, args, kwargs, result)
    if not site.grad:
        events.tell(idle_called, site, args, kwargs, result)


def _site(module: Any, nearest: FrameType) -> CallPhase:
    training, grad = now.training is True, now.grad
    frame = own_code.own_frame(depth=5)
    back = frame.f_back if frame is not None else None
    key = (
        identity(module),
        identity(frame.f_code) if frame is not None else 0,
        frame.f_lasti if frame is not None else 0,
        identity(back.f_code) if back is not None else 0,
        back.f_lasti if back is not None else 0,
        training,
        grad,
    )
    known = sites.get(key)
    if known is not None and known.module() is module:
        _last[:] = [known] if frame is nearest else []
        return known
    own = hanging.unwrapped(module)
    site = CallPhase(
        frame.f_code if frame is not None else None,
        frame.f_lasti if frame is not None else 0,
        own_code.place(frame) if frame is not None else None,
        weakref.ref(module),
        type(own).__name__,
        origins.number(own),
        origins.made_at(own),
        training,
        grad,
        back.f_code if back is not None and own_code.own(back.f_code) else None,
        back.f_lasti if back is not None else 0,
        first_step=noted.steps,
    )
    if len(sites) < MOST:
        sites[key] = site
    return site


def _follow(site: CallPhase, result: Any) -> None:
    """Has autograd say when it comes to what this call gave back."""
    with readable.looking():
        nodes = [node for tensor in tensors(result) if (node := tensor.grad_fn) is not None]
    site.followed += 1
    met: list[bool] = []

    def comes(_gradients: Any) -> None:
        if not met:
            met.append(True)
            site.learned += 1
            events.tell(learned, site)

    for node in nodes:
        node.register_prehook(comes)


def tensors(result: Any) -> Iterator[Any]:
    """Of what a model gave back, the first few."""
    return islice(_tensors(result), MOST_TENSORS)


def _tensors(result: Any) -> Iterator[Any]:
    kind = readable.torch().Tensor
    if kind in type(result).__mro__:
        yield result
        return
    inside = mapping(result)
    members = inside.values() if inside is not None else result
    if type(members) in (list, tuple) or inside is not None:
        for member in members:
            if kind in type(member).__mro__:
                yield member


def is_evaluation(site: CallPhase) -> bool:
    """No call of it was learned from, as far as they were followed."""
    return not site.learned


@finishing.after_fork
def forget_parent() -> None:
    global _follow_all
    _follow_all = spool.in_proof()
    sites.clear()
    current.clear()
    _last.clear()
