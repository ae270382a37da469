"""Hand-made stories of operations that failed, for tests of rules."""

from collections.abc import Sequence
from dataclasses import asdict

from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Frame, Layer, Operation, Process, Question
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
    layer: Layer | None = None,
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
        layer=layer,
    )


def weight(
    serial: int, layer: Layer, shape: tuple[int, ...], dtype: str = "float32", device: str = "cpu"
) -> Operation:
    return operation(serial, "parameter", shape, layer=layer, dtype=dtype, device=device)


def story(*operations: Operation, layers: Sequence[Layer] = ()) -> Answer:
    """The failing one first, then the newest."""
    return Answer(
        Question("story-of-failure", "1-1"),
        {
            "operations": [asdict(one) for one in operations],
            "layers": [asdict(one) for one in layers],
        },
    )


def crash(*frames: Frame, said: str = "RuntimeError: no") -> Crash:
    return Crash("1-1", 1.0, Process(1), "RuntimeError", said, frames)


def span_of(text: str, line: int, part: str) -> Span:
    """Where a part of a line stands."""
    at = text.splitlines()[line - 1].index(part)
    return Span(line, at, line, at + len(part))
