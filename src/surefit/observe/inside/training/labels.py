"""Labels that models are called with: how many of them take part in the loss."""

from typing import Any

from surefit.doctor.observations import LabelsSeen
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.letters import noted

IGNORED = -100
"""The label that losses pass over, by the convention of transformers."""
FIRST = 16
MOST_IN_PROOF = 10_000

_most = MOST_IN_PROOF if spool.in_proof() else FIRST
_seen: list[LabelsSeen] = []
_calls = {True: 0, False: 0}
"""By training mode: training must not use up what evaluation is to be seen of."""


@guarded("labels")
def look(args: tuple[Any, ...], kwargs: dict[str, Any], training: bool) -> None:
    given = _given(args, kwargs) if _calls[training] < _most else None
    if given is None or not readable.can_look():
        return
    with readable.looking() as torch:
        plain = readable.plain(given)
        if plain is None or plain.is_floating_point() or plain.layout is not torch.strided:
            return
        _calls[training] += 1
        shape, step = tuple(int(size) for size in plain.shape), noted.steps
        readable.read(
            (plain != IGNORED).sum(),
            lambda count: _seen.append(LabelsSeen(step, shape, int(count), training)),
        )


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "labels" in kwargs:
        return kwargs["labels"]
    inside = values.mapping(args[0]) if args else None
    return inside.get("labels") if inside is not None else None


def seen() -> tuple[LabelsSeen, ...]:
    return tuple(_seen)


@finishing.after_fork
def forget_parent() -> None:
    global _most
    _most = MOST_IN_PROOF if spool.in_proof() else FIRST
    _calls.update({True: 0, False: 0})
    _seen.clear()
