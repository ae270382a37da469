"""Tensors that a module holds as plain attributes: a move or a cast of it leaves them out."""

from dataclasses import dataclass, replace
from typing import ClassVar

from surefit.laws.case import Case
from surefit.laws.contracts.mixed_operands import MixedOperands, PlainTensor, TwoDevices
from surefit.lineage.producers import ProducerKind


@dataclass(frozen=True, slots=True)
class PlainTensors:
    """Of the module that a frame runs."""

    probe: ClassVar[str] = "plain-tensors"

    plain: tuple[PlainTensor, ...] = ()


def left_behind(broken: MixedOperands, case: Case) -> PlainTensor | None:
    """The one attribute of the innermost module with any that the stray tensor is computed from."""
    frames = case.crash.frames if case.crash is not None else ()
    for number in reversed(range(len(frames))):
        frame = frames[number]
        if not frame.own or frame.layer is None or not frame.arguments:
            continue
        known = case.ask(PlainTensors, frame=number)
        alike = [held for held in (known.plain if known else ()) if is_like(held, broken)]
        fitting = [held for held in alike if is_source(held, broken, case, frame.arguments[0])]
        if fitting:
            owner = frame.layer.kind
            return replace(fitting[0], frame=number, owner=owner) if len(fitting) == 1 else None
    return broken.plain


def is_like(held: PlainTensor, broken: MixedOperands) -> bool:
    by_device = isinstance(broken, TwoDevices)
    return (held.device if by_device else held.dtype) == (
        broken.stray.value.device if by_device else broken.stray.dtype
    )


def is_source(held: PlainTensor, broken: MixedOperands, case: Case, owner: str) -> bool:
    """The user's expression names it, or one that the tensor came through read it."""
    text = f"{owner}.{held.name}"
    if broken.stray.name.strip("`").startswith(text):
        return True
    return any(
        producer.kind is ProducerKind.ATTRIBUTE
        and producer.text == text
        and producer.value.shape == held.shape
        for producer in case.lineage(broken.stray).all
    )
