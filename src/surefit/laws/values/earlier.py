"""What is unlike all earlier evaluations of the expression that failed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.observations import Frame, Passed, Value
from surefit.doctor.rule import Unanswered
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.values.value_words import in_words

MOST_TEXTS = 12
MOST_FACTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierEvaluations:
    """Values at the failing line, each time that a second run came by."""

    probe = "earlier"
    passed: tuple[Passed, ...] = ()


def unlike_before(case: Case) -> list[Fact]:
    """What tells the failing evaluation from all earlier ones; nothing while that is not known, or
    where the line was not passed before."""
    frame = passed_often(case)
    if frame is None:
        return []
    try:
        passed = earlier_passes(frame, case)
    except Unanswered:
        return []
    return list(differences(frame, compared_texts(frame), passed))[:MOST_FACTS]


def earlier_passes(frame: Frame, case: Case) -> Sequence[Passed]:
    """The line of a frame each time before the failing one; raises while a second run has yet to
    tell."""
    earlier = case.ask(
        EarlierEvaluations,
        file=frame.place.file,
        line=frame.place.line,
        texts=compared_texts(frame),
    )
    return earlier.passed[:-1] if earlier is not None else ()  # the last one is this one


def compared_texts(frame: Frame) -> list[str]:
    return [value.text for value in frame.values if is_comparable(value)][:MOST_TEXTS]


def passed_often(case: Case) -> Frame | None:
    """The innermost frame of the user's whose line does not only raise."""
    for frame in reversed(case.frames):
        if frame.own and frame.place.line and not frame.line.startswith(("raise", "assert")):
            return frame
    return None


def is_comparable(value: Value) -> bool:
    return value.kind == "NoneType" or any(
        known is not None for known in (value.shape, value.length, value.scalar)
    )


def differences(frame: Frame, texts: Sequence[str], passed: Sequence[Passed]) -> Iterator[Fact]:
    for text in texts:
        now = frame.value(text)
        before = [value for point in passed for value in point.values if value.text == text]
        said = difference(now, before) if now is not None and before else ""
        if now is not None and said:
            times = counted(len(before), "earlier evaluation")
            yield Fact(f"{code(text)} before", f"{said} at all of {times}; now {in_words(now)}")


def difference(now: Value, before: Sequence[Value]) -> str:
    """What all earlier values had in common that this one has not."""
    kinds = {value.kind for value in before}
    if now.kind not in kinds:
        return in_words(before[-1]) if len(kinds) == 1 else " or ".join(sorted(kinds))
    if now.dtype is not None and now.dtype not in {value.dtype for value in before}:
        return str(before[-1].dtype)
    if now.shape is not None:
        return unlike_shapes(now.shape, [value.shape or () for value in before]) or unlike_range(
            now, before
        )
    if now.length is not None and now.scalar is None:
        return unlike_sizes(now.length, [value.length or 0 for value in before], "length")
    return ""


def unlike_shapes(now: tuple[int, ...], before: Sequence[tuple[int, ...]]) -> str:
    if len(now) not in {len(shape) for shape in before}:
        return f"{len(before[-1])} axes"
    same = [shape for shape in before if len(shape) == len(now)]
    for axis, size in enumerate(now):
        said = unlike_sizes(size, [shape[axis] for shape in same], f"axis {axis}")
        if said:
            return said
    return ""


def unlike_sizes(now: int, before: Sequence[int], name: str) -> str:
    """`axis 0 was 64`, `length was at most 512`; nothing where such a size came before."""
    if min(before) <= now <= max(before):
        return ""
    if len(set(before)) == 1:
        return f"{name} was {before[0]:,}"
    return (
        f"{name} was at least {min(before):,}"
        if now < min(before)
        else (f"{name} was at most {max(before):,}")
    )


def unlike_range(now: Value, before: Sequence[Value]) -> str:
    """Of integers: one that is larger or smaller than any before."""
    if not (now.dtype or "").startswith("int") or now.greatest is None or now.least is None:
        return ""
    most = [value.greatest for value in before if value.greatest is not None]
    least = [value.least for value in before if value.least is not None]
    if most and now.greatest > max(most):
        return f"at most {max(most):g}"
    return f"at least {min(least):g}" if least and now.least < min(least) else ""
