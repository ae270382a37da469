"""What safetensors writes: each tensor with a memory of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.violations import Expression, Violation
from surefit.laws.case import Case, use_of

SAVES = ("save_file", "save")


@dataclass(frozen=True, slots=True)
class SharedTensors:
    """Names of tensors that lie in the same memory."""

    probe: ClassVar[str] = "shared-tensors"
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShared(Violation):
    """Tensors of a mapping that is saved share their memory."""

    groups: tuple[tuple[str, ...], ...]
    tensors: Expression
    """What is saved, as the user's call passes it."""


def violations_of(case: Case) -> Iterator[MemoryShared]:
    innermost = case.frames[-1] if case.frames else None
    if innermost is None or case.own is None or innermost.own:
        return
    saves = [frame for frame in case.frames if frame.function in SAVES and not frame.own]
    if not saves or not innermost.place.file.endswith("safetensors/torch.py"):
        return
    shared = case.ask(SharedTensors)
    use = use_of(case.own)
    tensors = case.argument(use, "tensors", 0)
    if shared is not None and shared.groups and tensors is not None:
        yield MemoryShared(use=use, groups=shared.groups, tensors=tensors)
