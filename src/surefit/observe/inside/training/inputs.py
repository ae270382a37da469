"""Tensors that models are called with: their shapes, and sums that tell whether all arrived."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.observations import InputsSeen
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.letters import noted

FIRST = 16
MOST_IN_PROOF = 200
MOST_SUMMED = 1_000_000
"""Elements of a tensor that are still added up."""

most = MOST_IN_PROOF if spool.in_proof() else FIRST
"""Calls of each model, in each mode, that are looked at."""
_seen: list[InputsSeen] = []


@guarded("inputs")
def look(args: tuple[Any, ...], kwargs: dict[str, Any], training: bool) -> None:
    if len(_seen) >= 2 * most or not readable.can_look():
        return
    shapes: dict[str, tuple[int, ...]] = {}
    totals: dict[str, int] = {}
    with readable.looking() as torch:
        for name, given in _named(args, kwargs):
            plain = readable.plain(given) if values.is_tensor(given) else None
            if plain is None:
                continue
            shapes[name] = tuple(int(size) for size in plain.shape)
            whole = not plain.is_floating_point() and plain.layout is torch.strided
            if whole and plain.is_cpu and plain.numel() <= MOST_SUMMED:
                totals[name] = int(plain.sum())
    if shapes:
        _seen.append(InputsSeen(noted.steps, training, shapes, totals))


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for position, given in enumerate(args):
        inside = values.mapping(given)
        if inside is None:
            yield str(position), given
        else:
            yield from ((key, one) for key, one in inside.items() if type(key) is str)
    yield from kwargs.items()


def seen() -> tuple[InputsSeen, ...]:
    return tuple(_seen)


@finishing.after_fork
def forget_parent() -> None:
    global most
    most = MOST_IN_PROOF if spool.in_proof() else FIRST
    _seen.clear()
