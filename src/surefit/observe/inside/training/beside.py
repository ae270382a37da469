"""Modules run beside what is trained, which no optimizer holds: teachers, judges, copies.

At a call a line is noted and, seldom, which layers draw at random; the rest is put together when
roots are looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import BesideSeen, CallSite
from surefit.observe.inside import finishing, origins, own_code
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import calls, hanging, readable, samples
from surefit.observe.inside.training.calls import Calls, Site
from surefit.observe.inside.training.hanging import Hanging

MOST = 32
MOST_SITES = 8
MOST_SAMPLED = 4
"""Parameters of a module by which it is told whether it changes."""
MOST_RATES = 4


@dataclass(slots=True)
class Beside:
    """What was last known of a module; it stays when the module is gone."""

    kind: str
    made_at: Place | None
    serial: int
    parameters: int = 0
    learned: bool = False
    frozen: bool = False
    reached: bool = False
    """Gradients arrived at its parameters."""
    moved: bool = False
    calls: list[Calls] = field(default_factory=list)
    """Of itself and, where it is a root, of its parts."""
    before: list[Any] | None = None

    @property
    def idle(self) -> int:
        """Calls in training mode by which it does not learn."""
        if not self.learned and (self.frozen or not self.reached):
            return sum(one.training + one.hidden_training for one in self.calls)
        return sum(one.unrecorded + one.still + one.hidden_training for one in self.calls)


_known: dict[int, Beside] = {}
_learned: set[int] = set()
"""Serials of those that some optimizer held at some time."""


def called(known: Calls, idle: bool = True) -> None:
    """The user's line of a call; idle: the module cannot learn by it."""
    frame = own_code.own_frame(depth=3)
    if frame is None:
        return
    site = identity(frame.f_code), frame.f_lasti
    met = known.sites.get(site)
    if met is None and len(known.sites) < MOST_SITES:
        met = known.sites[site] = Site(frame.f_code, own_code.place(frame))
    if met is not None and idle:
        met.idle = True


def inside(module: Any, known: Calls) -> None:
    """A call from inside another module, whose own call is recorded: this one is not."""
    with readable.looking():
        if not hanging.has_parameters(module):
            return
    known.hidden += 1
    known.hidden_training += vars(module).get("training", True)
    called(known)
    look_for_chance(module, known, recorded=False)


def look_for_chance(module: Any, known: Calls, recorded: bool) -> bool:
    """Which of its layers draw at random, or follow the batch, in this call; gives whether it
    cannot learn by it."""
    with readable.looking() as torch:
        still = recorded and not hanging.is_trainable(module)
        known.still += still
        idle = still or not recorded
        if known.looked_idle and not idle:
            return idle
        known.looked_idle = idle
        dropout = torch.nn.modules.dropout._DropoutNd
        norm = torch.nn.modules.batchnorm._BatchNorm
        active = [one for one in parts(module) if vars(one).get("training")]
        rates = [_rate(one) for one in active if dropout in type(one).__mro__]
        rates = [rate for rate in rates if rate > 0]
        known.dropouts = len(rates)
        known.rates = tuple(sorted(set(rates)))[:MOST_RATES]
        known.norms = sum(norm in type(one).__mro__ for one in active)
        return idle


def _rate(dropout: Any) -> float:
    rate = vars(dropout).get("p", 0.0)
    return float(rate) if type(rate) in (float, int) else 0.0


def gave(known: Calls, result: Any) -> None:
    """How wide its logits are."""
    if isinstance(result, tuple) and result:
        result = result[0]
    inside = values.mapping(result)
    if inside is not None:
        result = inside.get("logits")
    if values.is_tensor(result):
        with readable.looking():
            plain = readable.plain(result)
            known.width = int(plain.shape[-1]) if plain is not None and plain.dim() > 1 else 0


def parts(module: Any) -> Iterator[Any]:
    """A module and all that hangs in it, each once, outer ones before inner ones."""
    seen = {identity(module)}
    waiting = [module]
    for one in waiting:
        yield one
        for child in hanging.children(one):
            if identity(child) not in seen:
                seen.add(identity(child))
                waiting.append(child)


def note(root: Any, found: list[Hanging], held: frozenset[int], was_held: bool) -> None:
    """A root that no optimizer holds or, of one that is trained, the parts that are only run.

    One that was held at the look before stays out of it: at the end of a program optimizers go.
    """
    serial = origins.number(hanging.unwrapped(root))
    if not any(identity(one.parameter) in held for one in found):
        if not was_held or serial in _known:
            _note(root, found, [one for part in parts(root) if (one := calls.known(part))])
        return
    _known.pop(serial, None)
    _learned.add(serial)
    covered: set[int] = set()
    for part in parts(root):
        known = calls.known(part)
        if known is None or identity(part) in covered or not (known.hidden or known.sites):
            continue
        below = list(hanging.parameters(part))
        if below and not any(identity(one.parameter) in held for one in below):
            covered |= {identity(one) for one in parts(part)}
            _note(part, below, [known])


def _note(module: Any, found: list[Hanging], counted: list[Calls]) -> None:
    own = hanging.unwrapped(module)
    serial = origins.number(own)
    if serial not in _known and len(_known) >= MOST:
        return
    one = _known.setdefault(serial, Beside(type(own).__name__, origins.made_at(own), serial))
    kept = [other.parameter for other in found]
    kept = [other for other in kept if not type(other).__name__.startswith("Uninitialized")]
    one.parameters = sum(int(parameter.numel()) for parameter in kept)
    one.frozen = not any(parameter.requires_grad for parameter in kept)
    one.reached = one.reached or any(parameter.grad is not None for parameter in kept)
    one.learned = serial in _learned
    one.calls += [fresh for fresh in counted if fresh not in one.calls]
    now = [_sample(parameter) for parameter in kept[:: max(1, len(kept) // MOST_SAMPLED)]]
    one.moved = one.moved or (one.before is not None and _differ(one.before, now))
    one.before = now


def _sample(parameter: Any) -> Any:
    plain = readable.plain(parameter)
    spots = samples.spots(plain, 0) if plain is not None else None
    return spots.view(plain).clone() if spots is not None else None


def _differ(before: list[Any], now: list[Any]) -> bool:
    """Moved to another device, or into another dtype, they are not compared."""
    torch = readable.torch()
    pairs = [pair for pair in zip(before, now, strict=False) if None not in map(_kind, pair)]
    return any(_kind(one) == _kind(other) and not torch.equal(one, other) for one, other in pairs)


def _kind(sample: Any) -> Any:
    return None if sample is None else (sample.dtype, sample.device, sample.shape)


def seen() -> tuple[BesideSeen, ...]:
    """In the order they were made."""
    return tuple(_seen(one) for one in sorted(_known.values(), key=lambda one: one.serial))


def _seen(one: Beside) -> BesideSeen:
    looked = [counted for counted in one.calls if counted.looked_idle or not one.learned]
    loudest = max(looked, key=lambda counted: counted.dropouts + counted.norms, default=None)
    return BesideSeen(
        one.kind,
        one.made_at,
        one.serial,
        one.parameters,
        one.frozen,
        one.learned,
        one.moved,
        sum(counted.training + counted.hidden_training for counted in one.calls),
        sum(counted.evaluating + counted.hidden - counted.hidden_training for counted in one.calls),
        one.idle,
        sites(one.calls, idle=one.learned),
        loudest.dropouts if loudest else 0,
        loudest.rates if loudest else (),
        loudest.norms if loudest else 0,
        next((counted.width for counted in one.calls if counted.width), None),
    )


def sites(counted: list[Calls], idle: bool = False) -> tuple[CallSite, ...]:
    """Each once, in the order they were met; idle: only those by which nothing is learned."""
    found = [
        _site(site, instruction)
        for one in counted
        for (_, instruction), site in one.sites.items()
        if site.idle or not idle
    ]
    return tuple(dict.fromkeys(found))[:MOST_SITES]


def _site(site: Site, instruction: int) -> CallSite:
    """With the columns that Python keeps of a call, in bytes as `ast` counts them."""
    positions = next(islice(site.code.co_positions(), instruction // 2, None), (None,) * 4)
    line, _, column, end_column = positions
    return CallSite(Place(site.place.file, line or site.place.line), column, end_column)


@finishing.after_fork
def forget_parent() -> None:
    _known.clear()
    _learned.clear()
