"""Tensors that a module holds as plain attributes, and that a move or a cast of it left behind."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording
from surefit.evidence.attribute_assignments import reads
from surefit.evidence.failed_operations import Failure
from surefit.evidence.strays import Stray


@dataclass(frozen=True, slots=True)
class Attribute:
    """A tensor that a module holds without having registered it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    learned: bool
    """It needs a gradient."""
    at: int
    """Number of the frame whose module holds it."""


def left_behind(
    crash: Crash, seen: Recording, stray: Stray, failure: Failure
) -> Iterator[Attribute]:
    """Attributes that the innermost module with any reads, and that the tensor was made from."""
    behind = shapes_behind(stray, failure)
    for at, frame in reversed(list(enumerate(crash.frames))):
        if not frame.own or frame.layer is None:
            continue
        fitting = [
            one
            for one in attributes(seen, crash, at)
            if stray.is_ in (one.device, one.dtype)
            and one.shape in behind
            and reads(seen, frame, one.name)
        ]
        if fitting:
            yield from fitting
            return


def shapes_behind(stray: Stray, failure: Failure) -> set[tuple[int, ...]]:
    """Of all that the tensor was made from and that is as it is."""
    found = {one.shape for one in stray.chain}
    like = [one for one in failure.before if stray.is_ in (one.device, one.dtype)]
    return found | {one.shape for op in stray.chain for one in failure.taken(op) if one in like}


def attributes(seen: Recording, crash: Crash, at: int) -> list[Attribute]:
    said = seen.ask(Question("plain-tensors", crash.id, {"frame": at}))
    plain = said.get("plain") if said else None
    return [
        Attribute(
            str(one["name"]),
            tuple(one["shape"]),
            str(one["dtype"]),
            str(one["device"]),
            one["learned"] is True,
            at,
        )
        for one in (plain if isinstance(plain, list) else [])
    ]
