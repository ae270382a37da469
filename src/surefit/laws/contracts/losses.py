"""What losses of torch take: a tensor of predictions and targets of one dtype, shape and range."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.values.label_values import LabelValues
from surefit.laws.values.names import called_in, name_in

OF_CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
OF_DISTANCE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
LOSSES = (*OF_CLASSES, *BINARY, *OF_DISTANCE, "kl_div")
FUNCTIONS = "torch/nn/functional.py"
IGNORED = -100
INDICES = ("int64", "uint8")
"""Dtypes that cross entropy takes class indices in."""
FLOATS = ("float32", "float64")
ENOUGH = 3
"""Labels for each class, after which one that never came is taken for one that there is not."""
VOID = 255
"""From here on a lone value is a marker, not a class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossArguments(Violation):
    """A loss was given predictions and targets that it does not take together."""

    loss: str
    """As torch names it: `cross_entropy`."""
    called: str
    """As the user calls it, in backticks: `criterion`; or which model calls it."""
    predictions: Operand
    target: Operand
    inside: str = ""
    """The model that calls the loss itself, where the user does not."""
    labels: LabelValues | None = None
    """What the targets hold; None where they are not a tensor, or could not be read."""

    @property
    def classes(self) -> int:
        """How many classes the predictions have, by the axis that cross entropy takes; 0 where
        they are no tensor."""
        shape = self.predictions.shape
        return shape[min(1, len(shape) - 1)] if shape else 0

    @property
    def expected(self) -> tuple[int, ...]:
        """The shape in which cross entropy takes class indices."""
        shape = self.predictions.shape
        return (*shape[:1], *shape[2:]) if len(shape) > 1 else ()

    @property
    def place(self) -> Place:
        """The user's line that calls the loss, or the model that does."""
        return Place(self.use.place.file, self.use.place.line)

    def gets(
        self,
        dtypes: tuple[str, ...] = (),
        *,
        target_shape: tuple[int, ...] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> LossGets:
        """The same labels, in these dtypes and shapes."""
        labels = self.labels
        return LossGets(
            name=self.loss,
            place=self.place,
            target_shape=self.target.shape if target_shape is None else target_shape,
            target_dtypes=dtypes,
            supervised=labels.elements if labels else None,
            total=labels.total if labels else None,
            shape=shape,
            predictions=self.predicted,
        )

    @property
    def predicted(self) -> tuple[float, float] | None:
        """Least and greatest of the predictions, where all of them are finite."""
        value = self.predictions.value
        if value.least is None or value.greatest is None or value.not_finite:
            return None
        return value.least, value.greatest

    def converted(
        self, target_shape: tuple[int, ...], labels: int, total: float, *, loss: str = ""
    ) -> LossGets:
        """Each label has become a class index, and these add up to `total`."""
        return LossGets(
            name=loss or self.loss,
            place=self.place,
            target_shape=target_shape,
            target_dtypes=INDICES,
            supervised=labels,
            total=total,
            converted=True,
            predictions=self.predicted,
        )


class TargetDtype(LossArguments):
    """The shape is right, and the dtype is none that the loss takes."""

    @property
    def takes(self) -> str:
        return "int64" if self.loss in OF_CLASSES else self.predictions.dtype

    def holds(self) -> LossGets:
        return self.gets(INDICES if self.takes == "int64" else (self.takes,))


class TargetRange(LossArguments):
    """Class indices of the right dtype and shape, some of which are no class of the predictions."""

    @property
    def outside(self) -> list[tuple[float, int]]:
        """Values that are no class, each with how many labels have it."""
        return self.labels.outside(self.classes) if self.labels else []

    @property
    def least(self) -> int:
        return int(self.labels.values[0]) if self.labels else 0

    @property
    def greatest(self) -> int:
        return int(self.labels.values[-1]) if self.labels else 0

    @property
    def begins_late(self) -> bool:
        """As many consecutive integers as there are classes, from 1 on; from a later one on, each
        of them must have come."""
        different = self.labels.different if self.labels else 0
        consecutive = self.greatest - self.least + 1 == self.classes > 1
        return self.least > 0 and consecutive and (self.least == 1 or different == self.classes)

    @property
    def marker(self) -> int | None:
        """A single value apart from the classes."""
        if len(self.outside) != 1 or self.classes < 2 or self.labels is None:
            return None
        value = int(self.outside[0][0])
        apart = value == -1 or (value >= VOID and value > self.classes)
        return value if apart and self.labels.different > 2 else None

    @property
    def signs(self) -> bool:
        return self.labels is not None and self.labels.values == (-1.0, 1.0) and self.classes == 2

    @property
    def shift(self) -> str:
        """What makes classes of labels that begin late, or are signs."""
        return " + 1) // 2" if self.signs else f" - {self.least}"

    def shifted(self) -> LossGets:
        """Each label has become another one: the sum of all says whether it was each."""
        count, total = (self.labels.elements, self.labels.total) if self.labels else (0, 0.0)
        total = (total + count) / 2 if self.signs else total - self.least * count
        gets = self.converted(self.expected, count, total)
        return replace(gets, at_least=ENOUGH * (self.classes + 1), changes_the_past=True)

    def without(self, value: float, count: int) -> LossGets:
        """So many labels of this value are ignored."""
        gets = self.gets(INDICES)
        left, total = (gets.supervised or 0) - count, (gets.total or 0.0) - value * count
        return replace(gets, supervised=left, total=total)

    def widened(self) -> LossGets:
        """A class for each label; a wider layer draws more random numbers, so that what is drawn
        later, and `total`, is another."""
        shape, classes = self.predictions.shape, self.greatest + 1
        gets = self.gets(INDICES, shape=(*shape[:1], classes, *shape[2:]))
        return replace(gets, total=None, changes_the_past=True, at_least=ENOUGH * classes)

    @property
    def too_many(self) -> bool:
        different = self.labels.different if self.labels else 0
        near = self.greatest < 2 * self.classes + 2 or 2 * different > self.greatest
        return self.least >= 0 and near and self.classes > 1


class TargetShape(LossArguments):
    """Targets and predictions are tensors, and their shapes do not go together."""

    @property
    def labels_are_classes(self) -> bool:
        return self.labels is not None and self.labels.are_classes(self.classes)

    def holds(
        self, target_shape: tuple[int, ...], shape: tuple[int, ...] | None = None
    ) -> LossGets:
        """Both sides in these shapes, with every label as it was."""
        dtypes = INDICES if self.loss in OF_CLASSES else ()
        return self.gets(dtypes, target_shape=target_shape, shape=shape)

    def before_flattening(self, case: Case, last: int) -> tuple[int, ...] | None:
        """The shape that flat labels had, with so many entries in its last axis: of a value that a
        frame still has, or of the tensor that they are a view of."""
        frames = case.frames[: self.target.frame]
        values = (value for frame in reversed(frames) for value in frame.values)
        shapes = [value.shape or () for value in values if value.dtype == self.target.dtype]
        for shape in (*shapes, self.target.value.base_shape or ()):
            if len(shape) > 1 and shape[-1] == last and prod(shape) == prod(self.target.shape):
                return shape
        return None


class NotATensor(LossArguments):
    """One of the two sides is no tensor."""


def violations_of(case: Case) -> Iterator[Violation]:
    """The outermost loss on the way to an exception, and what is wrong with its arguments."""
    for number, frame in enumerate(case.frames):
        if is_loss(frame):
            values = {value.text: value for value in frame.values}
            if "input" in values and "target" in values:
                yield from broken_by(case, number, values)
            return


def is_loss(frame: Frame) -> bool:
    named = frame.function in LOSSES and frame.place.file.endswith(FUNCTIONS)
    return named and not frame.own


def broken_by(case: Case, number: int, values: dict[str, Value]) -> Iterator[LossArguments]:
    above = [frame for frame in case.frames[:number] if frame.own]
    if not above:
        return
    loss, own = case.frames[number].function, above[-1]
    between = case.frames[case.frames.index(own) + 1 : number]
    direct = all("torch/nn/modules/" in frame.place.file for frame in between)
    inside = "" if direct else model_in(case, number)
    sides = {
        name: operand(case, values[name], number, own if direct else None, name, position)
        for position, name in enumerate(("input", "target"))
    }
    kind = broken_kind(loss, sides["input"], sides["target"])
    if kind is None:
        return
    asked = about(number, loss, values)
    labels = case.ask(LabelValues, **asked) if kind is not NotATensor else None
    if kind is TargetRange and not (labels and labels.all_known):
        return
    library = f"`{loss}` in `{inside}`" if inside else f"`{loss}`"
    violation = kind(
        use=use_of(own),
        loss=loss,
        called=called_in(own, case) if direct else library,
        predictions=sides["input"],
        target=sides["target"],
        inside=inside,
        labels=labels,
    )
    if not isinstance(violation, TargetRange) or violation.outside:
        yield violation


def broken_kind(loss: str, predictions: Operand, target: Operand) -> type[LossArguments] | None:
    """What is wrong, from what both sides are; None where it cannot be told from that."""
    if not (is_tensor(predictions.value) and is_tensor(target.value)):
        return NotATensor
    if predictions.value.device != target.value.device:
        return None
    alike = target.shape == predictions.shape and target.dtype == predictions.dtype
    if loss == "cross_entropy" and alike:
        return None  # a distribution for each row
    if not shapes_fit(loss, predictions.shape, target.shape):
        return TargetShape
    if not dtype_fits(loss, predictions.dtype, target.dtype):
        return TargetDtype if predictions.dtype in FLOATS else None
    return TargetRange if loss in OF_CLASSES and target.dtype in INDICES else None


def is_tensor(value: Value) -> bool:
    return value.shape is not None and value.kind not in ("ndarray", "memmap", "Series")


def shapes_fit(loss: str, predictions: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if loss not in OF_CLASSES:
        return predictions == target
    expected = (*predictions[:1], *predictions[2:]) if len(predictions) > 1 else ()
    return target == expected


def dtype_fits(loss: str, predictions: str, target: str) -> bool:
    if loss in OF_CLASSES:
        return target in INDICES
    if loss == "binary_cross_entropy":
        return target == predictions
    return loss not in BINARY or target.startswith(("float", "bfloat"))


def about(number: int, loss: str, values: dict[str, Value]) -> dict[str, object]:
    """What is asked of the labels: which of them do not count and, where targets have the shape of
    the predictions, whether they are rows of zeros and ones along the axis of classes."""
    asked: dict[str, object] = {"frame": number, "text": "target", "ignored": None}
    if loss not in OF_CLASSES:
        return asked
    told = values.get("ignore_index")
    asked["ignored"] = told.scalar if told is not None and type(told.scalar) is int else IGNORED
    shape, target = values["input"].shape or (), values["target"].shape
    if len(shape) > 1 and shape == target:
        asked["axis"] = 1
    elif len(shape) > 1 and target == (prod(shape),) != shape[:1]:
        asked["rows"] = shape[-1]
    return asked


def model_in(case: Case, number: int) -> str:
    """The model that calls the loss itself."""
    layers = [frame.layer for frame in case.frames[:number] if frame.layer and not frame.own]
    return next((layer.kind for layer in layers if layer.path == ""), "")


IN_A_MODEL = {"input": ("logits", "pooled_logits"), "target": ("labels",)}
"""What models of transformers call the two sides on the way to their loss."""


def operand(
    case: Case, value: Value, frame: int, own: Frame | None, name: str, position: int
) -> Operand:
    """`own`: the user's frame, where its failing expression is the call of the loss."""
    use = case.argument(use_of(own), name, position) if own is not None else None
    text = name_in(case, value, frame) or (use.text if use else "")
    if not text and own is None:
        texts = {known.text for above in case.frames[:frame] for known in above.values}
        text = next((known for known in IN_A_MODEL[name] if known in texts), "")
    return Operand(value=value, name=in_code(text, f"`{name}`"), frame=frame, use=use)
