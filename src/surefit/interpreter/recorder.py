"""Whether operations are being recorded."""

import ast
from dataclasses import dataclass

from surefit.interpreter.values import (
    AbstractValue,
    Constant,
    LayerValue,
    Moment,
    RecordedOperation,
    TensorValue,
)

OFF = ("torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")
INFERENCE = ("torch.inference_mode", "torch.autograd.inference_mode")
ON = ("torch.enable_grad", "torch.autograd.enable_grad")
CHOSEN = ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")


@dataclass(frozen=True, slots=True)
class RecordingMode:
    """Whether operations are recorded, and what switched that off."""

    recording: bool | None = True
    switched_by: ast.AST | None = None
    inference: ast.AST | None = None


@dataclass(frozen=True, slots=True)
class FreedGraph:
    """A `backward` that has freed an operation."""

    by: ast.AST
    moment: Moment
    tensor: TensorValue


class GraphRecorder:
    """Whether operations are being recorded, and what `backward` has freed."""

    def __init__(self) -> None:
        self.freed: dict[tuple[int, RecordedOperation], FreedGraph] = {}
        self.lost = False
        """Some `backward` could not be followed: which weights have gradients is not known."""
        self.begin()

    def begin(self) -> None:
        self.mode = RecordingMode()
        self.reached: dict[LayerValue, None] = {}
        """Layers that some `backward` has gone through."""

    @property
    def recording(self) -> bool | None:
        return self.mode.recording

    def forget_mode(self) -> None:
        self.mode = RecordingMode(None, None, self.mode.inference)

    def enter(self, name: str, mode: AbstractValue | None, node: ast.AST) -> bool:
        """A context or decorator by its name; False where it is none of those that are known."""
        enabled = mode.value if isinstance(mode, Constant) else None
        inference = self.mode.inference
        if name in OFF:
            self.mode = RecordingMode(False, node, inference)
        elif name in ON:
            self.mode = RecordingMode(True, None, inference)
        elif name in INFERENCE:
            if mode is None or enabled:
                self.mode = RecordingMode(False, node, node)
            elif enabled is None:
                self.forget_mode()
        elif name in CHOSEN:
            known = enabled if isinstance(enabled, bool) else None
            self.mode = RecordingMode(known, node if known is False else None, inference)
        else:
            return False
        return True
