"""What a frame calls its values."""

from collections.abc import Iterator

from surefit.doctor.observations import Frame, Value


def named(frame: Frame) -> Iterator[tuple[str, Value]]:
    """Values of a frame by name, with those one level inside: `batch['labels']`."""
    for value in frame.values:
        yield value.text, value
        for name, member in value.members.items():
            yield f"{value.text}[{name!r}]", member


def name_in(frame: Frame, value: Value | None) -> str | None:
    """The name of the very same object; None where the frame has none for it."""
    same = [text for text, one in named(frame) if value and one.identity == value.identity]
    return same[0] if same else None
