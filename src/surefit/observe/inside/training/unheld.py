"""Parameters that get gradients and that no optimizer holds.

A gradient can be left over from earlier training. So parameters that have one are suspects only:
for two steps a hook on each counts whether it gets a new one.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from surefit.doctor.observations import ParameterSeen
from surefit.observe.inside import finishing, origins
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import parameters, readable, roots, samples
from surefit.observe.inside.training.parameters import Parameter, parameter
from surefit.observe.inside.training.roots import Named

WATCHED = 2
"""Steps for which a suspect is watched."""
MOST = 1024


@dataclass(slots=True)
class Suspect:
    """A parameter with a gradient and without an optimizer."""

    parameter: Parameter
    alive: Callable[[], Any]
    hook: Any
    until: int
    """The step after which it is judged."""
    before: Any
    """A sample of its values."""
    fresh: int = 0


class Unheld:
    """Suspects, those found out, and when to look again."""

    def __init__(self) -> None:
        self.suspects: dict[int, Suspect] = {}
        self.found: dict[int, Suspect] = {}
        self.made = 0
        """Parameters registered so far, by any module."""
        self.made_then = 0
        self.look_at = 1


seen = Unheld()


@after_import("torch.nn.modules.module")
def registrations(module: ModuleType) -> None:
    if hasattr(module, "register_module_parameter_registration_hook"):
        module.register_module_parameter_registration_hook(_count)


def _count(_module: Any, _name: str, _parameter: Any) -> None:
    seen.made += 1


def due(step: int) -> bool:
    """After this step there is something to do: the first, powers of two, and two steps after
    parameters were made."""
    if seen.made != seen.made_then:
        seen.made_then = seen.made
        seen.look_at = min(seen.look_at, step + WATCHED) if step > 1 else step
    return step >= seen.look_at or any(one.until <= step for one in seen.suspects.values())


def look(step: int, optimizers: list[Any]) -> None:
    """Judges suspects whose time is over, and looks for new ones, if `step` is one to look at."""
    held = held_by(optimizers)
    judge(held, step)
    if step < seen.look_at:
        return
    seen.look_at = 2 * step
    names = roots.look(held)
    # A copied model registers nothing anew: its parameters are found by their names alone.
    everywhere = {key: named.tensor for key, named in names.items()}
    everywhere |= {identity(tensor): tensor for tensor in origins.alive(readable.torch().Tensor)}
    for key, tensor in everywhere.items():
        if key not in held and len(seen.suspects) + len(seen.found) < MOST:
            _suspect(tensor, names.get(key), step)


def held_by(optimizers: list[Any]) -> frozenset[int]:
    """Ids of what any optimizer holds that exists."""
    known = {identity(one): one for one in [*origins.alive(_optimizer()), *optimizers]}
    return frozenset(
        identity(tensor)
        for optimizer in known.values()
        for group in vars(optimizer).get("param_groups", ())
        for tensor in group["params"]
    )


def _optimizer() -> Any:
    return readable.torch().optim.Optimizer


def _suspect(tensor: Any, named: Named | None, step: int) -> None:
    known = seen.suspects.get(identity(tensor)) or seen.found.get(identity(tensor))
    if known is not None and known.alive() is tensor:
        return
    if not tensor.requires_grad or not tensor.is_leaf or tensor.grad is None:
        return
    about = parameter(tensor, named, type(tensor).__name__)
    about.held_by = parameters.last_held_by(tensor)
    suspect = Suspect(about, weakref.ref(tensor), None, step + WATCHED, _sample(tensor))

    def arrived(_tensor: Any) -> None:
        suspect.fresh += 1

    suspect.hook = tensor.register_post_accumulate_grad_hook(arrived)
    seen.suspects[identity(tensor)] = suspect


def _sample(tensor: Any) -> Any:
    plain = readable.plain(tensor)
    spots = samples.spots(plain, 0) if plain is not None else None
    return spots.view(plain).clone() if spots is not None else None


def judge(held: frozenset[int], step: int | None = None) -> None:
    """Those with a new gradient are found out; at the end all, whatever their time."""
    for key, suspect in list(seen.suspects.items()):
        tensor = suspect.alive()
        if step is not None and suspect.until > step and tensor is not None:
            continue
        suspect.hook.remove()
        del seen.suspects[key]
        if suspect.fresh and key not in held:
            suspect.parameter.looked += suspect.fresh
            seen.found[key] = suspect
    with readable.looking() as torch:
        for key, suspect in list(seen.found.items()):
            tensor = suspect.alive()
            if tensor is not None and key in held:
                del seen.found[key]
            elif (
                tensor is not None and suspect.before is not None and not suspect.parameter.changed
            ):
                now = _sample(tensor)
                suspect.parameter.changed = not torch.equal(now, suspect.before)


def found() -> tuple[ParameterSeen, ...]:
    return tuple(suspect.parameter.seen() for suspect in seen.found.values())


@finishing.after_fork
def forget_parent() -> None:
    made = seen.made
    seen.__init__()  # type: ignore[misc]
    seen.made = made
