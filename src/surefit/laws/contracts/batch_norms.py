"""What a batch norm in training mode takes: more than one value per channel."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.observations import Frame, Layer, Value
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.laws.rows.batch_lines import caller_of_model
from surefit.laws.rows.batches import of

NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")


@dataclass(frozen=True, slots=True, kw_only=True)
class OneValuePerChannel(Violation):
    """Rows times positions are one; the number of channels is right."""

    layer: Layer
    shape: tuple[int, ...]
    of_batch: bool
    """What the model was called with has one row, too: the norm was not given one of many."""


def violations_of(case: Case) -> Iterator[Violation]:
    frames = [frame for frame in case.frames if frame.layer]
    layer = frames[-1].layer if frames else None
    if case.own is None or layer is None or layer.kind not in NORMS or not layer.training:
        return
    given = first_tensor(frames[-1])
    shape = given.shape if given is not None and given.shape else ()
    if len(shape) < 2 or shape[1] != layer.sizes.get("num_features"):
        return
    if shape[0] * prod(shape[2:]) == 1:
        yield OneValuePerChannel(
            use=use_of(case.own), layer=layer, shape=shape, of_batch=batch_has_one_row(case)
        )


def first_tensor(frame: Frame) -> Value | None:
    """The first argument after `self` that is one."""
    arguments = map(frame.value, frame.arguments[1:])
    return next((value for value in arguments if value is not None and value.shape), None)


def batch_has_one_row(case: Case) -> bool:
    frame = caller_of_model(case.crash) if case.crash is not None else None
    shapes = [shape for value in frame.values for shape in of(value)] if frame is not None else []
    return not shapes or any(shape[0] == 1 for shape in shapes)
