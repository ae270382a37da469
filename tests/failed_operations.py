"""Hand-made crashes and operations on tensors, for tests of rules."""

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Operation, Process
from surefit.source.spans import Span

FILE = "train.py"


def operation(
    serial: int,
    name: str,
    shape: tuple[int, ...] = (),
    takes: tuple[int, ...] = (),
    line: int = 1,
    *,
    numbers: tuple[float, ...] = (),
    dtype: str = "float32",
    device: str = "cpu",
    own: bool = True,
) -> Operation:
    return Operation(
        serial,
        name,
        Place(FILE, line),
        Place(FILE, line),
        own,
        shape,
        dtype,
        contiguous=True,
        takes=takes,
        numbers=numbers,
        device=device,
    )


def crash(*frames: Frame, said: str = "RuntimeError: no") -> Crash:
    return Crash("1-1", 1.0, Process(1), "RuntimeError", said, frames)


def span_of(text: str, line: int, part: str) -> Span:
    """Where a part of a line stands."""
    at = text.splitlines()[line - 1].index(part)
    return Span(line, at, line, at + len(part))
