"""Pictures reach a convolution with their channels last, or without an axis for channels.

## What happens
A convolution of PyTorch takes (rows, channels, height, width). Files, NumPy and most libraries for
pictures give (height, width, channels), and grey pictures often (height, width) alone: then rows or
heights are counted as channels.

## Why it matters
A transposition that makes the numbers fit (`transpose(1, 3)`) also swaps height and width; a layer
created for as many channels as there are pixel rows trains, and learns nothing that moves.

## What to do
`permute(2, 0, 1)` where a picture is read, or `permute(0, 3, 1, 2)` for a batch; for grey pictures
`unsqueeze(0)`, or `unsqueeze(1)` for a batch.

## How it is recognised
A convolution for 1, 3 or 4 channels was given data that no layer has changed yet, and only the last
axis has as many; or it is for 1 channel, and the input has one axis too few. A second run tells
where the tensor was created. In a script that is only read, the same by sizes that are written
there.
"""

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.widths import LayerWidth, Layout
from surefit.laws.layers.axis_changes import lost_axis
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import PASSING, Producer
from surefit.lineage.ways import shape, way_back
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"expected input\[.*\] to have \d+ channels",
    "whether the last axis of the input has as many as the convolution takes",
)
RULE = Rule("SF308", "pictures-in-another-layout", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LayerWidth)
def axes_are_in_another_order(broken: LayerWidth, case: Case) -> Finding | None:
    layout = broken.layout
    lineage = case.lineage(broken.given) if layout is not None else None
    if layout is None or lineage is None or not broken.is_data(case) or lost_axis(lineage):
        return None
    origin = first_tensor_of(lineage, broken.shape)
    layer = broken.layer
    made = f", created at {layer.constructor.place}" if layer.constructor else ""
    return case.finding(
        (origin or broken.use).place,
        f"{broken.given.name} is {broken.given.shape_words} and {layout.words}; {layer.name} takes"
        f" {broken.width} before height and width.",
        facts=(
            Fact(layer.name, f"{layer.words}{made}"),
            broken.given.fact(),
            Fact("as it takes it", shape_of(layout.shape)),
        ),
        why="PyTorch counts channels first; files and NumPy count them last.",
        remedies=(in_order(origin, broken.shape, layout), before_the_layer(broken, layout)),
    )


def first_tensor_of(lineage: Lineage, batch: tuple[int, ...]) -> Producer | None:
    """The user's oldest expression that has one of these pictures, or all of them, as a tensor."""
    shapes = [
        producer
        for producer in way_back(lineage)
        if producer.own
        and producer.kind not in PASSING
        and producer.value.kind == "Tensor"
        and (shape(producer) == batch[1:] or shape(producer)[1:] == batch[1:])
    ]
    return shapes[-1] if shapes else None


def in_order(origin: Producer | None, batch: tuple[int, ...], layout: Layout) -> Remedy | None:
    if origin is None:
        return None
    suffix = layout.row if shape(origin) == batch[1:] else layout.batch
    words = f"Put the axes in order where the tensor is created: {code(origin.text + suffix)}."
    return Append(at=origin, suffix=suffix, words=words, alike=False)


def before_the_layer(broken: LayerWidth, layout: Layout) -> Remedy:
    text = code(broken.given.name.strip("`") + layout.batch)
    words = f"Put the axes in order before {broken.layer.name}: {text}."
    return Append(at=broken.given.use, suffix=layout.batch, words=words, alike=False)
