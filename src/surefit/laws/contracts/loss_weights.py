"""What losses of classes take as the weights of the classes: floats like their predictions."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.losses import FUNCTIONS, INDICES, OF_CLASSES
from surefit.laws.values.names import called_in, name_in
from surefit.lineage.properties import FLOATING

WEIGHTED = (*OF_CLASSES, "multi_margin_loss")
"""Losses that multiply by the weight of a class, without converting it."""
POSITIONS = dict.fromkeys(OF_CLASSES, 2)
"""Of the argument `weight`, counted from 0; as a keyword elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeightDtype(Violation):
    """The weights of the classes have another dtype than the predictions."""

    called: str
    """As the user calls the loss, in backticks."""
    weight: Operand
    """`use`: the argument that gives it to the loss or to its constructor."""
    predictions: Operand


def violations_of(case: Case) -> Iterator[LossWeightDtype]:
    if case.own is None or case.frames[-1].own:
        return
    number, last = len(case.frames) - 1, case.frames[-1]
    weight, predictions, target = (last.value(text) for text in ("weight", "input", "target"))
    if last.function not in WEIGHTED or not last.place.file.endswith(FUNCTIONS):
        return
    if weight is None or predictions is None or target is None or target.dtype not in INDICES:
        return
    if weight.dtype in (None, predictions.dtype) or predictions.dtype not in FLOATING:
        return
    use = given_as(case, last)
    name = name_in(case, weight) or (use.text if use is not None else "")
    yield LossWeightDtype(
        use=use_of(case.own),
        called=called_in(case.own, case),
        weight=Operand(value=weight, name=in_code(name, "`weight`"), frame=number, use=use),
        predictions=Operand(
            value=predictions,
            name=in_code(name_in(case, predictions), "the predictions"),
            frame=number,
        ),
    )


def given_as(case: Case, loss: Frame) -> Expression | None:
    """The user's argument `weight`: of the constructor of the loss, or of its function."""
    layers = [frame.layer for frame in case.frames if frame.layer and not frame.own]
    if layers and "Loss" in layers[-1].kind:
        first = 0 if loss.function in OF_CLASSES else None
        return case.argument(case.constructor(layers[-1]), "weight", first)
    own = use_of(case.own) if case.own is not None else None
    return case.argument(own, "weight", POSITIONS.get(loss.function))
