"""What moving a module needs: every parameter and buffer of it has data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.observations import Layer
from surefit.doctor.violations import Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of

MODULE = "torch/nn/modules/module.py"


@dataclass(frozen=True, slots=True)
class WithoutData:
    """Tensors of a module that are on the meta device."""

    probe: ClassVar[str] = "without-data"

    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleWithoutData(Violation):
    """A module was moved that has tensors without data."""

    name: str
    """In backticks."""
    layer: Layer
    without: WithoutData


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    if crash is None or own is None or own is crash.frames[-1]:
        return
    number = crash.frames.index(own)
    inside = crash.frames[number + 1 :]
    applied = any(frame.function == "Module._apply" for frame in inside)
    if not applied or not inside[-1].place.file.endswith(MODULE):
        return
    for value in own.values:
        if value.layer is not None and (own.expression or "").startswith(f"{value.text}."):
            without = case.ask(WithoutData, frame=number, text=value.text)
            if without is not None and (without.parameters or without.buffers):
                yield ModuleWithoutData(
                    use=use_of(own), name=code(value.text), layer=value.layer, without=without
                )
                return
