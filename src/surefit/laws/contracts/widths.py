"""What layers take: an input with so many axes, and with the declared size on one of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Layer, Value
from surefit.doctor.violations import Expression, Operand, Violation, Written, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.layers.layer_tables import (
    ARGUMENTS,
    AXES,
    CHANNELS,
    NORMS,
    STATE,
    axis_of,
    declared_by,
    declared_width,
    first_tensor,
)
from surefit.laws.layers.layer_words import described, layer_name
from surefit.laws.layers.ways import WidthSource, input_widths, sized_by
from surefit.laws.layers.width_arithmetic import axes_that_make, items_in_a_row
from surefit.laws.values.names import name_in
from surefit.lineage.producers import ProducerKind
from surefit.lineage.ways import learned

USUAL_CHANNELS = (1, 3, 4)
"""Grey, colours, colours with a mask: what pictures come with."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a batch of pictures becomes what a convolution takes."""

    batch: str
    """`.permute(0, 3, 1, 2)`, after a batch; `row` is the same after one picture."""
    row: str
    shape: tuple[int, ...]
    """Of the batch afterwards."""
    words: str


@dataclass(frozen=True, slots=True)
class CalledLayer:
    """A layer that was being run."""

    name: str
    """In backticks."""
    kind: str
    words: str
    """`Linear(271 → 256)`."""
    constructor: Expression | None
    """The user's call that created it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerInput(Violation):
    """A layer was given a tensor that it does not take."""

    layer: CalledLayer
    given: Operand

    @property
    def kind(self) -> str:
        return self.layer.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.given.shape


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWidth(LayerInput):
    """The size of one axis is another than the layer was created for."""

    width: int
    """As declared."""
    size: int
    """As it is."""
    axis: int
    source: WidthSource | None = None
    """Of source that was only read: the layer that gave the size."""

    def given_by(self, case: Case) -> WidthSource | None:
        """The layer that gave the input its size."""
        if case.crash is None or not self.shape:
            return self.source
        return sized_by(case.lineage(self.given), self.axis - len(self.shape))

    def is_data(self, case: Case) -> bool:
        """No layer has changed the input yet, as far as its lineage is known."""
        if case.crash is None:
            return self.source is None
        lineage = case.lineage(self.given)
        return bool(lineage.root) and not learned(lineage)

    @property
    def counts_channels(self) -> bool:
        return self.kind in CHANNELS or self.kind in NORMS

    @property
    def joined(self) -> int | None:
        """So many rows of the width are one, by the numbers."""
        known = self.shape and not self.counts_channels
        return items_in_a_row(self.size, self.width) if known else None

    @property
    def apart(self) -> int | None:
        """So many of the last axes together have the width: they were not joined yet."""
        known = self.shape and not self.counts_channels
        return axes_that_make(self.shape, self.width) if known else None

    def declared_at(self, case: Case) -> Written | None:
        """Where the declared width was chosen: the argument of the constructor, or of the user's
        function that passes it on."""
        if self.layer.constructor is None or case.crash is None:
            return self.layer.constructor
        of = Value("self", self.kind)
        lineage = case.lineage(Operand(value=of, name=self.layer.name, frame=self.given.frame))
        for producer in lineage.all:
            made = producer.value.layer
            if producer.kind is ProducerKind.CALL and made is not None and made.kind == self.kind:
                chosen = input_widths(lineage, producer)
                if chosen:
                    return chosen[-1]
        argument = case.argument(self.layer.constructor, declared_by(self.kind), 0)
        return argument or self.layer.constructor

    @property
    def layout(self) -> "Layout | None":
        """Where the numbers leave one way only: (rows, height, width, channels), or no channels."""
        sides, shape, width = CHANNELS.get(self.kind, 0), self.shape, self.width
        if not sides or width not in USUAL_CHANNELS:
            return None
        if len(shape) == sides + 2 and shape[-1] == width and width not in shape[1:-1]:
            order = (0, sides + 1, *range(1, sides + 1))
            batch, row = ", ".join(map(str, order)), ", ".join(str(axis - 1) for axis in order[1:])
            after = tuple(shape[axis] for axis in order)
            words = "its channels are last"
            return Layout(f".permute({batch})", f".permute({row})", after, words)
        if len(shape) == sides + 1 and width == 1:
            after = (shape[0], 1, *shape[1:])
            return Layout(".unsqueeze(1)", ".unsqueeze(0)", after, "it has no axis for channels")
        return None

    @property
    def lacks_an_axis(self) -> bool:
        """A convolution took a batch for a single row, because an axis is missing."""
        sides = CHANNELS.get(self.kind, 0)
        return bool(sides) and len(self.shape) == sides + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerAxes(LayerInput):
    """The input has more or fewer axes than the layer takes."""

    axes: int
    """With rows."""
    words: str
    """What they are: `rows, steps and features`."""
    argument: str = ""
    """The name that a model of a library has for it."""
    or_less: bool = False
    """One axis less would do as well, for whole batches."""

    @property
    def missing(self) -> int:
        """Negative where there are too many."""
        least = self.axes - 1 if self.or_less else self.axes
        return (least if len(self.shape) < least else self.axes) - len(self.shape)


def violations_of(case: Case) -> Iterator[Violation]:
    """Of the innermost layer that was being run; or of a model that takes embeddings."""
    if case.own is None:
        return
    for number, frame in reversed(list(enumerate(case.frames))):
        if frame.layer is not None and STATE not in frame.arguments:
            value = first_tensor(frame)
            axes = of_axes(case, number, frame.layer, value) or of_model(case)
            if axes is not None:
                yield axes
            elif value is not None:
                yield from of_width(case, number, frame.layer, value)
            return


def of_width(case: Case, number: int, layer: Layer, value: Value) -> Iterator[LayerWidth]:
    width, shape = declared_width(layer), value.shape or ()
    axis = axis_of(layer.kind, shape) if width is not None else None
    if width is None or axis is None or shape[axis] == width:
        return
    yield LayerWidth(
        use=failing(case),
        layer=called_layer(case, layer),
        given=given_to(case, number, value),
        width=width,
        size=shape[axis],
        axis=axis,
    )


def of_axes(case: Case, number: int, layer: Layer, value: Value | None) -> LayerAxes | None:
    if layer.kind not in AXES or layer.own or value is None or not value.shape:
        return None
    taken, words = AXES[layer.kind]
    if len(value.shape) in taken:
        return None
    return LayerAxes(
        use=failing(case),
        layer=called_layer(case, layer),
        given=given_to(case, number, value),
        axes=taken[-1],
        words=words,
        or_less=layer.kind == "BatchNorm1d",
    )


def of_model(case: Case) -> LayerAxes | None:
    """By the name that a library's own `forward` has for the argument, outermost first."""
    for number, frame in enumerate(case.frames):
        if frame.own or frame.layer is None or "transformers/" not in frame.place.file:
            continue
        for text, (axes, words) in ARGUMENTS.items():
            value = frame.value(text)
            if value is None or not value.shape or text not in frame.arguments:
                continue
            if len(value.shape) == axes:
                return None
            return LayerAxes(
                use=failing(case),
                layer=called_layer(case, frame.layer),
                given=given_to(case, number, value),
                axes=axes,
                words=words,
                argument=text,
            )
    return None


def called_layer(case: Case, layer: Layer) -> CalledLayer:
    return CalledLayer(layer_name(layer), layer.kind, described(layer), case.constructor(layer))


def given_to(case: Case, number: int, value: Value) -> Operand:
    """The input, under the user's own name for it, where there is one."""
    direct = frames_between(case, number) == 0
    use = case.argument(failing(case), "input", 0) if direct else None
    text = name_in(case, value, number) or (use.text if use is not None else "")
    return Operand(value=value, name=in_code(text, "the input"), frame=number, use=use)


def frames_between(case: Case, number: int) -> int:
    """Modules between the user's innermost frame and the layer: a `Sequential`, say."""
    inner, between = case.frames[number].layer, case.frames[case.number + 1 : number]
    modules = [frame.layer for frame in between if frame.layer is not None]
    return len([layer for layer in modules if inner is None or layer.path != inner.path])


def failing(case: Case) -> Expression:
    """The user's expression that failed."""
    assert case.own is not None
    return use_of(case.own)
