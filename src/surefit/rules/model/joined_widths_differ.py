"""Two tensors that are joined or added have different numbers of features.

## What happens
To put projected pictures before embedded words (`torch.cat([visual, text], dim=1)`), or to add two
branches, every vector must be equally wide. A projection that was sized for the model it comes from
makes them differ; so does a residual block that changes the width and adds its input as it is.

## Why it matters
The error names two numbers and no layer. Joining along another axis, or padding with zeros, lets it
run with features of two models side by side.

## What to do
Give the projection the width of what it is joined with: `nn.Linear(vision_width, text_width)`, from
the other model's configuration. Around a block that changes the width, the shortcut needs a
projection of its own (`nn.Conv2d(c_in, c_out, 1)`).

## How it is recognised
The failing operation was given tensors that differ on one axis alone. A second run tells which
layer gave each width. A layer of your own is to blame beside one inside a library's model, a
projection beside a table, one that differs from several others; otherwise each way is tried. In a
script that is only read, widths are followed from layer to layer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.sizes import SizesDiffer
from surefit.laws.layers.ways import WidthSource
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"Sizes of tensors must match except in dimension"
    r"|size of tensor a \(\d+\) must match the size of tensor b"
    r"|stack expects each tensor to be equal size",
    "whether the axis that differs holds features, and which layer gave each width",
)
RULE = Rule("SF303", "joined-widths-differ", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

TABLES = ("Embedding", "EmbeddingBag")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the tensors, the width that it has, and the layer that gave it."""

    operand: Operand
    width: int
    layer: WidthSource

    @property
    def name(self) -> str:
        return code(" ".join(self.layer.constructor.text.split()))

    @property
    def chosen(self) -> Written:
        """Where its width was chosen."""
        return [self.layer.constructor, *self.layer.chosen][-1]

    def fact(self) -> Fact:
        return self.operand.fact(f"from {self.name}, created at {self.layer.constructor.place}")


@RULE.on(SizesDiffer)
def widths_differ(broken: SizesDiffer, case: Case) -> Finding | None:
    if len(broken.axes) != 1:
        return None
    sides = [
        Side(operand, operand.shape[broken.axes[0]], layer)
        for operand in broken.operands
        if (layer := broken.source_of(operand, case)) is not None
    ]
    if len(sides) != len(broken.operands) or len({side.width for side in sides}) != 2:
        return None
    wrong, why = to_blame(sides)
    first = wrong or sides[0]
    second = other(sides, first)
    return case.finding(
        wrong.chosen.place if wrong is not None else broken.use.place,
        f"{first.operand.name} has {first.width} features, from {first.name}, and"
        f" {second.operand.name} that it is {'joined with' if broken.joins else 'added to'} has"
        f" {second.width}.",
        facts=[side.fact() for side in sides],
        why=why or "Vectors that are put together must be equally wide.",
        remedies=remedies([wrong] if wrong is not None else sides, sides),
    )


def to_blame(sides: Sequence[Side]) -> tuple[Side | None, str]:
    """The side to change, and why it is that one; None where nothing decides."""
    for side in sides:
        others = [known for known in sides if known.width != side.width]
        if len(others) == len(sides) - 1 > 1:
            return side, f"The other {len(others)} are {others[0].width} wide."
    by_hand = [side for side in sides if side.layer.by_hand]
    projections = [side for side in sides if side.layer.kind not in TABLES]
    for few, why in (
        (by_hand, "is a library's model, whose width is given."),
        (projections, "is a table; a projection follows its width."),
    ):
        if len(few) == 1 and len(sides) == 2:
            return few[0], f"{other(sides, few[0]).name} {why}"
    return None, ""


def other(sides: Sequence[Side], side: Side) -> Side:
    return next(known for known in sides if known.width != side.width)


def remedies(wrong: Sequence[Side], sides: Sequence[Side]) -> Iterator[Remedy | Fix]:
    for side in wrong:
        width = other(sides, side).width
        give = f"Make {side.name} give {width}"
        for at in reversed(side.layer.chosen):
            words = f"{give}: {code(at.text)} → {width} at {at.place}."
            yield ReplaceWith(at=at, text=str(width), words=words, choice=True)
        if not side.layer.chosen:
            yield Fix(f"{give}.", choice=True)


@RULE.on(SizesDiffer)
def a_block_adds_its_own_input(broken: SizesDiffer, case: Case) -> Finding | None:
    """A sum of two, one of which was made from the other: a residual block."""
    if broken.operation != "add" or len(broken.operands) != 2 or broken.axes == (-broken.rank,):
        return None
    lineages = [case.lineage(operand) for operand in broken.operands]
    ends = [lineage.root[0].serial if lineage.root else -1 for lineage in lineages]
    inside = [ends[1 - at] in {step.serial for step in lineages[at].all} for at in range(2)]
    if inside.count(True) != 1:
        return None
    new, old = (broken.operands[at] for at in (inside.index(True), inside.index(False)))
    shortcut = projection(old.shape, new.shape)
    return case.finding(
        broken.use.place,
        f"{new.name} is added to {old.name}, from which it was made, and the shape changed on the"
        f" way: {old.shape_words} to {new.shape_words}.",
        facts=(old.fact(), new.fact()),
        why="A shortcut that passes its input on as it is needs a block that keeps the shape.",
        remedies=(
            Fix(f"Give the shortcut a projection: {shortcut}.", choice=True),
            Fix(f"Make the block give {shape_of(old.shape[1:])} again.", choice=True),
        ),
    )


def projection(old: tuple[int, ...], new: tuple[int, ...]) -> str:
    sides = len(old) - 2
    if not sides or old[1:-1] == new[1:-1]:
        return f"`nn.Linear({old[-1]}, {new[-1]})`"
    step = round(old[2] / new[2]) if new[2] else 1
    stride = f", stride={step}" if step > 1 else ""
    return f"`nn.Conv{sides}d({old[1]}, {new[1]}, 1{stride})`"
