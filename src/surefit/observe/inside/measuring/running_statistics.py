"""Running statistics that a call in evaluation mode changes."""

import re
from collections.abc import Iterator
from typing import Any

from surefit.observe.inside import events, finishing
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import layer_modes, phases
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.budget import Budget

STATISTIC = re.compile(r"running|mean|var$|variance|std|moving|ema|avg|average|codebook|cluster")
FIRST = 3
"""Calls of a site that are looked at."""

budget = Budget(share=0.001, opening=0.05)

_before: dict[str, tuple[int, int]] = {}
_looked: dict[CallPhase, int] = {}
_changed: dict[CallPhase, dict[str, None]] = {}


@events.on(events.idle_begun)
def begin(module: Any, _args: Any, _kwargs: Any) -> None:
    _before.clear()
    site = phases.current[0] if phases.current else None
    if site is None or site.training or _looked.get(site, 0) >= FIRST or not budget.allows():
        return
    with budget, readable.looking():
        _before.update(_versions(module))
    phases.called.wake(called)
    _looked[site] = _looked.get(site, 0) + 1


@events.on(phases.called)
def called(site: CallPhase, _args: Any, _kwargs: Any, _result: Any) -> None:
    phases.called.rest(called)
    module = site.module()
    if not _before or module is None:
        return
    with budget, readable.looking():
        for name, now in _versions(module):
            if _before.get(name, now) != now:
                _changed.setdefault(site, {})[name] = None
    _before.clear()


def _versions(module: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    """Of statistics in float that are saved with the model."""
    for path, part, _ in layer_modes.walk(module):
        passing = vars(part).get("_non_persistent_buffers_set") or ()
        for name, buffer in list((vars(part).get("_buffers") or {}).items()):
            plain = readable.plain(buffer) if buffer is not None and name not in passing else None
            if plain is None or not plain.is_floating_point() or not STATISTIC.search(name):
                continue
            if not plain.is_inference():
                yield f"{path}.{name}" if path else name, (identity(buffer), buffer._version)


def changed(site: CallPhase) -> Iterator[str]:
    yield from _changed.get(site, {})


@finishing.after_fork
def forget_parent() -> None:
    _before.clear()
    _looked.clear()
    _changed.clear()
