"""A skip connection and the map that it is joined with have different heights, widths or lengths.

## What happens
A pooling of stride 2 turns 25 into 12: it rounds down. Going up again doubles 12 to 24, and the
skip connection from the way down still has 25. Convolutions without padding take off an edge as
well, and a transposed one of kernel 3 and stride 2 gives one less without `output_padding=1`.

## Why it matters
An even size is not enough, and a size that works at one depth fails after one more pooling.
Pictures cropped by hand no longer fit their masks.

## What to do
Give the network sizes that are multiples of 2ⁿ for n such steps, pictures and masks alike; or bring
the map to the size of its skip connection: `F.interpolate(x, size=skip.shape[2:])`. For
convolutions without padding: `padding="same"`, or crop the skip connection.

## How it is recognised
`torch.cat` or a sum was given maps whose channels fit and whose sides do not. A second run tells
which operations rounded the sides of the newer map or took off an edge, and where the sizes of the
pictures are written. In a script that is only read, sides are followed from sizes written there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from math import prod

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import spoken, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.laws.layers.ways import creator
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.ways import operation, shape, steps_back, way_back
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.resize import ResizeLike
from surefit.remedies.together import Together

SYMPTOM = Symptom(
    r"Sizes of tensors must match except in dimension"
    r"|size of tensor a \(\d+\) must match the size of tensor b",
    "whether the sizes that differ are sides of maps, and which operation rounded one down",
)
RULE = Rule("SF304", "skip-of-another-size", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MOST_STEPS = 4


@dataclass(frozen=True, slots=True)
class SideChange:
    """An operation that made the sides of a map smaller or larger."""

    producer: Producer
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def name(self) -> str:
        return operation(self.producer)

    @property
    def words(self) -> str:
        return f"`{self.name}` rounds {times(self.before)} to {times(self.after)}"

    @property
    def slides(self) -> bool:
        """A window goes over the map: a convolution or a pooling."""
        return self.name.startswith("conv") or "pool" in self.name

    @property
    def factor(self) -> int:
        """By how much it makes them smaller; 1 where it only takes off an edge."""
        pairs = zip(self.before, self.after, strict=True)
        return max((round(old / new) for old, new in pairs if new), default=1)

    @property
    def rounds(self) -> bool:
        """A side was no multiple of the factor, and the rest of it is lost."""
        return self.factor > 1 and self.slides and any(side % self.factor for side in self.before)

    @property
    def takes_off_an_edge(self) -> bool:
        smaller = any(new < old for old, new in zip(self.before, self.after, strict=True))
        return self.factor == 1 and smaller and self.slides

    @property
    def grows_to(self) -> tuple[int, ...]:
        """What going up by whole steps would have given; nothing where it makes them smaller."""
        steps = {-(-new // old) for old, new in zip(self.before, self.after, strict=True) if old}
        step = steps.pop() if len(steps) == 1 else 1
        return tuple(old * step for old in self.before) if step > 1 else ()


@RULE.on(SizesDiffer)
def maps_have_other_sides(broken: SizesDiffer, case: Case) -> Finding | None:
    if not broken.of_maps or len(broken.operands) != 2:
        return None
    pairs = [(case.lineage(operand), operand) for operand in broken.operands]
    pairs.sort(key=lambda pair: pair[0].root[0].serial if pair[0].root else 0)
    (_, skip), (lineage, newer) = pairs
    changes = side_changes(lineage, broken.rank)
    resize = ResizeLike(at=newer.use, like=skip.use)
    if changes and is_short(changes[0], newer, skip):
        return one_short(broken, case, creator(lineage, changes[0].producer), changes[0], resize)
    if any(change.rounds for change in changes):
        return rounded(broken, case, lineage, changes, resize)
    if any(change.takes_off_an_edge for change in changes):
        return without_padding(broken, case, lineage, changes, resize)
    if not case.read:
        return None
    return case.finding(
        broken.use.place,
        f"{newer.name} is {newer.shape_words} and {skip.name} is {skip.shape_words}: the skip"
        " connection has another size than what it meets.",
        why="A pooling of stride 2 rounds down, and going up again doubles what is left.",
        remedies=(
            Fix("Pad the pictures to a multiple of 2 for each step down.", choice=True),
            resize,
        ),
    )


def is_short(change: SideChange, newer: Operand, skip: Operand) -> bool:
    """A transposed convolution gave a little less than whole steps, which would have fitted."""
    transposed = change.name.startswith("conv_transpose")
    return transposed and newer.shape[2:] == change.after and change.grows_to == skip.shape[2:]


def rounded(
    broken: SizesDiffer,
    case: Case,
    lineage: Lineage,
    changes: list[SideChange],
    resize: ResizeLike,
) -> Finding:
    first = first_map(lineage, broken.rank)
    sides = shape(first)[2:] if first is not None else changes[-1].before
    step = prod(change.factor for change in changes if change.factor > 1)
    written = sizes_written(lineage, sides)
    rounding = next(change for change in reversed(changes) if change.rounds)
    counts = spoken([str(operand.shape[1]) for operand in broken.operands])
    return case.finding(
        written[0].place if written else broken.use.place,
        f"Each side of {times(sides)} must be a multiple of {step}: {rounding.words}, so that"
        f" {resize.names[0]} has another size than the skip connection {resize.names[1]}.",
        facts=(*facts(broken, changes), Fact("the network was given", times(sides))),
        ruled_out=(
            Fact("channels", f"{counts}, joined along axis 1" if broken.joins else f"{counts} fit"),
        ),
        why="What a pooling or a stride has rounded, going up again does not give back.",
        remedies=(multiples(written, sides, step), resize),
    )


def multiples(written: list[Producer], sides: tuple[int, ...], step: int) -> Remedy | Fix:
    below = tuple(side // step * step for side in sides)
    above = tuple(-(-side // step) * step for side in sides)
    near = [below, above] if all(below) else [above]
    words = (
        f"Crop, pad or resize pictures and targets to multiples of {step}:"
        f" {' or '.join(map(times, near))}."
    )
    sizes = dict(zip(sides, near[0], strict=True))
    parts = tuple(
        ReplaceWith(at=literal, text=str(sizes[int(str(literal.value.scalar))]), words="")
        for literal in written
    )
    return Together(parts=parts, words=words, choice=True) if parts else Fix(words, choice=True)


def facts(broken: SizesDiffer, changes: list[SideChange]) -> Iterator[Fact]:
    yield from (operand.fact() for operand in broken.operands)
    yield Fact("joined at" if broken.joins else "added at", f"{broken.use.place}")
    shown = [change for change in reversed(changes) if change.rounds or change.factor > 1]
    for change in shown[:MOST_STEPS]:
        sizes = f"{times(change.before)} → {times(change.after)}"
        yield Fact(f"`{change.name}`", f"{sizes}, rounded" if change.rounds else sizes)


def without_padding(
    broken: SizesDiffer,
    case: Case,
    lineage: Lineage,
    changes: list[SideChange],
    resize: ResizeLike,
) -> Finding:
    edge = next(change for change in reversed(changes) if change.takes_off_an_edge)
    layer, (newer, skip) = creator(lineage, edge.producer), resize.names
    words = 'Keep the sides: `padding="same"` in the convolutions.'
    return case.finding(
        (layer or broken.use).place,
        f"`{edge.name}` without padding takes an edge off the map ({times(edge.before)} →"
        f" {times(edge.after)}), so that {newer} is smaller than the skip connection {skip}.",
        facts=facts(broken, changes),
        why="A convolution of width k without padding makes each side k - 1 smaller.",
        remedies=(
            SetArgument(at=layer, name="padding", value='"same"', words=words, choice=True),
            resize,
            Fix("Crop the skip connection to the smaller size, and the targets, too.", choice=True),
        ),
    )


def one_short(
    broken: SizesDiffer, case: Case, layer: Written | None, change: SideChange, resize: ResizeLike
) -> Finding:
    missing = max(whole - new for whole, new in zip(change.grows_to, change.after, strict=True))
    value, words = str(missing), f"Give the transposed convolution `output_padding={missing}`."
    return case.finding(
        (layer or broken.use).place,
        f"`{change.name}` makes {times(change.after)} of {times(change.before)}, and the skip"
        f" connection {resize.names[1]} has {times(change.grows_to)}: `output_padding={missing}` is"
        " missing.",
        facts=facts(broken, []),
        why="Several sizes give the same result going down; `output_padding` says which was meant.",
        remedies=(SetArgument(at=layer, name="output_padding", value=value, words=words), resize),
    )


def side_changes(lineage: Lineage, rank: int) -> list[SideChange]:
    """Newest first, back to the map that the network was given."""
    of_rank = takewhile(lambda step: len(step.before) == rank, steps_back(lineage))
    changes = [SideChange(step.producer, step.before[2:], step.after[2:]) for step in of_rank]
    return [change for change in changes if change.before != change.after]


def first_map(lineage: Lineage, rank: int) -> Producer | None:
    """The map that the network was given."""
    maps = list(takewhile(lambda producer: len(shape(producer)) == rank, way_back(lineage)))
    return maps[-1] if maps else None


def sizes_written(lineage: Lineage, sides: tuple[int, ...]) -> list[Producer]:
    """Literals of the user's, on one line, that are these sizes; none where there are several such
    lines."""
    literals = [
        producer
        for producer in lineage.all
        if producer.kind is ProducerKind.LITERAL
        and type(producer.value.scalar) is int
        and producer.value.scalar in sides
    ]
    unique = {(producer.place, producer.span): producer for producer in literals}
    one_line = len({producer.place for producer in unique.values()}) == 1
    every = {producer.value.scalar for producer in unique.values()} == set(sides)
    return list(unique.values()) if one_line and every else []
