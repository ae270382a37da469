"""Calls that seed random numbers: from which line, at which steps, and what was drawn after."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_use import SeedSite
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST_SITES = 32
MOST_LOOKED = 64
"""Calls of a line at which it is asked whether random numbers were drawn since."""


@dataclass(slots=True)
class SeedCalls:
    """One line."""

    function: str
    place: Place
    value: str
    first_step: int
    calls: int = 0
    steps: int = 0
    last_step: int = -1
    same: bool = True
    drawn: int = 0
    trained: int = 0
    in_worker: bool = False
    waiting: bool = False
    """No forward pass with gradients came since."""
    after: object = None
    """The random state just after the last call."""


_sites: dict[tuple[str, Place], SeedCalls] = {}
_latest: list[SeedCalls] = []


@after_import("torch.random")
def torch_seeds(module: ModuleType) -> None:
    """`torch` takes the function over, later or, in a fork of a process that has it, before; newer
    ones hide it from the compiler."""
    plain = vars(module)["manual_seed"]
    vars(module)["manual_seed"] = around(plain, _begin_torch, _end)
    names = vars(sys.modules.get("torch", module))
    taken: Any = names.get("manual_seed")
    if taken is plain or getattr(taken, "__wrapped__", None) is plain:
        names["manual_seed"] = around(taken, _begin_torch, _end)


@after_import("numpy.random")
def numpy_seeds(module: ModuleType) -> None:
    vars(module)["seed"] = _dressed("numpy.random", vars(module)["seed"])


@after_import("random")
def python_seeds(module: ModuleType) -> None:
    vars(module)["seed"] = _dressed("random", vars(module)["seed"])


def _dressed(module: str, plain: Callable[..., None]) -> Callable[..., None]:
    """A method of the one generator of a module, which is no plain function."""
    name = f"{module}.seed"

    @wraps(plain)
    def seed(*args: Any, **kwargs: Any) -> None:
        begun = _guarded_begin(name, args, kwargs)
        plain(*args, **kwargs)
        if begun:
            _guarded_end()

    seed.__module__, seed.__qualname__ = module, "seed"
    return seed


@guarded("seeds")
def _guarded_begin(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    value = args[0] if args else next(iter(kwargs.values()), "")
    return type(value) in (int, str) and _begin(name, str(value))


@guarded("seeds")
def _guarded_end() -> None:
    _end((), None)


def _begin_torch(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return _begin("torch.manual_seed", str(args[0] if args else kwargs.get("seed", "")))


def _begin(function: str, value: str) -> bool:
    frame = own_code.own_frame(depth=3)
    if frame is None:
        return False
    place = own_code.place(frame)
    site = _sites.get((function, place))
    if site is None:
        if len(_sites) >= MOST_SITES:
            return False
        site = _sites[function, place] = SeedCalls(function, place, value, noted.steps)
    site.calls += 1
    site.in_worker = site.in_worker or spool.is_worker()
    site.same = site.same and value == site.value
    if noted.steps != site.last_step:
        site.last_step = noted.steps
        site.steps += 1
    if site.calls <= MOST_LOOKED and site.after is not None:
        site.drawn += _random_state(function) != site.after
    _latest[:] = [site]
    return True


def _end(_args: tuple[Any, ...], _result: Any) -> None:
    if not _latest:
        return
    site = _latest.pop()
    site.waiting = True
    events.forward_begun.wake(called)
    if site.calls <= MOST_LOOKED:
        site.after = _random_state(site.function)


def _random_state(function: str) -> object:
    if function == "torch.manual_seed":
        return hash(readable.torch().get_rng_state().numpy().tobytes())
    if function == "random.seed":
        return hash(sys.modules["random"].getstate())
    kind, keys, *rest = sys.modules["numpy"].random.get_state()
    return hash((kind, keys.tobytes(), *rest))


@events.on(events.forward_begun)
def called(_module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if readable.torch().is_grad_enabled():
        for site in _sites.values():
            if site.waiting:
                site.waiting = False
                site.trained += 1
        events.forward_begun.rest(called)


def seeds_seen() -> tuple[SeedSite, ...]:
    return tuple(
        SeedSite(
            function=site.function,
            place=site.place,
            calls=site.calls,
            steps=site.steps,
            first_step=site.first_step,
            same=site.same,
            value=site.value,
            drawn=site.drawn,
            trained=site.trained,
            in_worker=site.in_worker,
        )
        for site in _sites.values()
    )


@finishing.after_fork
def forget_parent() -> None:
    _sites.clear()
    _latest.clear()
