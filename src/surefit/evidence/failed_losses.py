"""The call of a loss function that a crash came from: what it was given, and who called it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.evidence.frame_names import name_in
from surefit.source.reading import Source

OF_CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
OF_DISTANCE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
OF_DISTRIBUTIONS = ("kl_div",)
LOSSES = (*OF_CLASSES, *BINARY, *OF_DISTANCE, *OF_DISTRIBUTIONS)
FUNCTIONS = "torch/nn/functional.py"
IGNORED = -100
INDICES = ("int64", "uint8")
"""Kinds of number that cross entropy takes class labels in."""


@dataclass(frozen=True, slots=True)
class FailedLoss:
    """A loss function of torch that was being called, with its two arguments."""

    name: str
    frame: int
    """Its number among the crash's frames."""
    given: Value
    target: Value
    own: Frame
    """The innermost frame of the user's that led to it."""
    ignored: int | None
    """The label that it passes over, if it is one of the losses that do."""
    source: Source | None = None
    call: ast.Call | None = None
    """The user's own call of the loss; None where a library calls it."""

    @property
    def classes(self) -> int | None:
        """How many classes the predictions have, by the axis that cross entropy takes."""
        shape = self.given.shape
        return shape[min(1, len(shape) - 1)] if shape else None

    @property
    def wanted(self) -> tuple[int, ...] | None:
        """The shape that cross entropy wants class labels in."""
        shape = self.given.shape
        return (*shape[:1], *shape[2:]) if shape and len(shape) > 1 else () if shape else None

    @property
    def target_node(self) -> ast.expr | None:
        return self.argument("target", 1)

    @property
    def given_node(self) -> ast.expr | None:
        return self.argument("input", 0)

    def argument(self, name: str, position: int) -> ast.expr | None:
        if self.call is None or self.source is None:
            return None
        return self.source.argument(self.call, name, position)


def failed_loss(crash: Crash, seen: Recording) -> FailedLoss | None:
    """The outermost loss function on the way to an exception; None where there is none."""
    for number, frame in enumerate(crash.frames):
        if frame.own or frame.function not in LOSSES:
            continue
        if not frame.place.file.endswith(FUNCTIONS):
            continue
        values = {value.text: value for value in frame.values}
        above = [one for one in crash.frames[:number] if one.own]
        if "input" not in values or "target" not in values or not above:
            return None
        ignored = values.get("ignore_index")
        return FailedLoss(
            frame.function,
            number,
            values["input"],
            values["target"],
            above[-1],
            ignored_by(frame.function, ignored),
            *own_call(crash, number, above[-1], seen),
        )
    return None


def ignored_by(name: str, said: Value | None) -> int | None:
    if name not in OF_CLASSES:
        return None
    return said.scalar if said is not None and type(said.scalar) is int else IGNORED


def own_call(
    crash: Crash, number: int, own: Frame, seen: Recording
) -> tuple[Source | None, ast.Call | None]:
    """The user's expression that calls the loss, with nothing but torch's layers in between."""
    source = seen.source(own.place)
    between = crash.frames[crash.frames.index(own) + 1 : number]
    if not all("torch/nn/modules/" in one.place.file for one in between):
        return source, None
    node = source.expression_at(own.span) if source and own.span else None
    return source, node if isinstance(node, ast.Call) else None


def own_name(crash: Crash, value: Value) -> str:
    """What the innermost own frame that has the very object calls it; where none has, a model."""
    frames = [one for one in reversed(crash.frames) if one.own]
    frames += [one for one in reversed(crash.frames) if not one.own and is_model(one)]
    return next((text for frame in frames if (text := name_in(frame, value))), "")


def is_model(frame: Frame) -> bool:
    """Not one of torch's own layers."""
    return frame.layer is not None and "torch/nn/" not in frame.place.file


def target_name(crash: Crash, loss: FailedLoss) -> str:
    found = named(crash, loss, loss.target, loss.target_node)
    return found or in_a_model(crash, loss, "labels") or "`target`"


def given_name(crash: Crash, loss: FailedLoss) -> str:
    found = named(crash, loss, loss.given, loss.given_node)
    return found or in_a_model(crash, loss, "logits", "pooled_logits") or "`input`"


def in_a_model(crash: Crash, loss: FailedLoss, *names: str) -> str:
    """What a model calls them that flattens them on the way to its loss."""
    texts = {value.text for frame in crash.frames if is_model(frame) for value in frame.values}
    return next((f"`{name}`" for name in names if name in texts and loss.call is None), "")


def named(crash: Crash, loss: FailedLoss, value: Value, node: ast.expr | None) -> str:
    text = own_name(crash, value)
    if not text and node is not None and loss.source is not None:
        text = " ".join(loss.source.segment(node).split())
    return f"`{text}`" if text and len(text) <= LONGEST else ""


LONGEST = 60


def loss_name(loss: FailedLoss) -> str:
    """As the user's line calls it; torch's own name where a library does."""
    if loss.call is not None and loss.source is not None:
        return f"`{loss.source.segment(loss.call.func)}`"
    return f"`{loss.name}`"


def inside(crash: Crash, loss: FailedLoss) -> Iterator[str]:
    """The model that called the loss itself, where it was not the user."""
    if loss.call is None:
        for frame in crash.frames[: loss.frame]:
            if not frame.own and frame.layer is not None and frame.layer.path == "":
                yield frame.layer.kind


def called_at(loss: FailedLoss) -> Place:
    return loss.own.place
