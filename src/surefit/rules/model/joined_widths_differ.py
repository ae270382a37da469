"""Two tensors that are joined or added have other numbers of features: a layer gives the wrong one.

## What happens
To put projected pictures in front of embedded words (`torch.cat([visual, text], dim=1)`), to add
two branches or to stack them, every vector must be equally wide. A projection that was sized for
the model it comes from, and not for the one it leads to, makes them differ; so does a residual
block that changes the width and adds its input as it is.

## Why it matters
The error names two numbers and no layer. Joining along another axis, or filling up with zeros, lets
it run with features of two models side by side.

## What to do
Give the projection the width of what it is joined with: `nn.Linear(vision_width, text_width)`, from
the other model's configuration (`hidden_size`, `n_embd`) rather than as a number. Around a block
that changes the width, the shortcut needs a projection of its own (`nn.Conv2d(c_in, c_out, 1)`).

## How it is recognised
The failing operation was given tensors that differ on the axis of their features alone. A second
run that records every operation tells which layer made each of the two widths. A layer of your own
is to blame beside one inside a library's model; a projection beside a table of embeddings; and
otherwise the one that no layer still to come can take. Where nothing of that decides, nothing is
claimed; but for the sum of a block and its own input, which is named as that.

In a script that is only read: widths are followed from layer to layer, and two tensors that are
added, joined or stacked have different ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Frame, Layer, Operation, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.failed_operations import Failure, failure_of
from surefit.evidence.failing_expressions import calls_or_adds
from surefit.evidence.given_widths import Given, made_by_hand, width_given
from surefit.evidence.joins import Misjoin, misjoin_of
from surefit.evidence.layer_names import described, name
from surefit.evidence.map_sizes import changes
from surefit.evidence.misfits import declared_by
from surefit.evidence.width_makers import Maker, is_behind, maker_of
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import is_of_widths, projection_beside_table
from surefit.interpreter.violations import JoinMismatch
from surefit.source.edits import replaced

RULE = Rule(
    "SF303",
    "joined-widths-differ",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Sizes of tensors must match except in dimension"
            r"|size of tensor a \(\d+\) must match the size of tensor b"
            r"|stack expects each tensor to be equal size",
            "whether the axis that differs holds features, and which layer made each width",
        ),
    ),
)

TABLES = ("Embedding", "EmbeddingBag")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the tensors, the width that it has, and the layer that gave it."""

    operand: Operation
    width: int
    maker: Maker
    layer: Layer


@RULE.on(Crash)
def widths_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame if is_cause(crash, seen) else None
    failure = failure_of(seen, crash) if frame and calls_or_adds(frame) else None
    join = misjoin_of(failure) if failure else None
    if frame is None or failure is None or join is None:
        return
    sides = sides_of(failure, join)
    if is_a_block(failure, join):
        found = by_those_that_follow(sides, failure, seen) if sides else None
        if found is None or found[0].operand is min(join.operands, key=age):
            yield shortcut(crash, frame, join, failure)
            return
    found_by = wrong_one(sides, failure, seen) if sides else None
    if found_by is not None:
        yield finding(crash, seen, frame, join, sides, *found_by)


def age(operation: Operation) -> int:
    return operation.serial


def sides_of(failure: Failure, join: Misjoin) -> list[Side]:
    """Each tensor with the layer that made its width; none where one of them has no such layer."""
    if len(join.axes) != 1:
        return []
    found = [side_of(failure, one, join.axes[0]) for one in join.operands]
    known = [side for side in found if side is not None]
    return known if len(known) == len(found) else []


def side_of(failure: Failure, operand: Operation, axis: int) -> Side | None:
    maker = maker_of(failure, operand, axis)
    made, width = maker.operation, operand.shape[axis]
    if maker.layer is None or maker.layer.made_at is None or len(made.shape) < 2:
        return None
    at = 1 if made.name.startswith("conv") else -1
    return Side(operand, width, maker, maker.layer) if made.shape[at] == width else None


def is_a_block(failure: Failure, join: Misjoin) -> bool:
    """A sum of two, one of which was made from the other: what is around a residual block."""
    if failure.name != "add" or len(join.operands) != 2 or join.axes == (-join.rank,):
        return False
    old, new = sorted(join.operands, key=age)
    return is_behind(failure, old, new) and not any(one.rounds for one in changes(failure, new))


def wrong_one(
    sides: list[Side], failure: Failure, seen: Recording
) -> tuple[Side, Side, str] | None:
    """The side to change, one to fit, and why it is that one; None where nothing decides."""
    widths = {side.width for side in sides}
    if len(widths) != 2:
        return None
    for decides in (by_majority, by_hand, by_table, by_those_that_follow):
        found = decides(sides, failure, seen)
        if found is not None:
            wrong, why = found
            right = next(side for side in sides if side.width != wrong.width)
            return wrong, right, why
    return None


def by_majority(sides: list[Side], _: Failure, __: Recording) -> tuple[Side, str] | None:
    for side in sides:
        others = [one for one in sides if one.width != side.width]
        if len(others) == len(sides) - 1 > 1:
            return side, f"The other {len(others)} are {others[0].width} wide."
    return None


def by_hand(sides: list[Side], _: Failure, seen: Recording) -> tuple[Side, str] | None:
    own = [side for side in sides if made_by_hand(side.layer, seen)]
    if len(own) != 1 or len(sides) != 2:
        return None
    other = next(side for side in sides if side is not own[0])
    whole = other.layer.kind if not other.layer.root else other.layer.path or other.layer.kind
    return own[0], f"`{whole}` belongs to a library's model, whose width is given."


def by_table(sides: list[Side], _: Failure, __: Recording) -> tuple[Side, str] | None:
    projections = [side for side in sides if side.layer.kind not in TABLES]
    if len(projections) != 1 or len(sides) != 2:
        return None
    other = next(side for side in sides if side is not projections[0])
    return projections[0], f"{name(other.layer)} is a table; a projection goes by its width."


def by_those_that_follow(
    sides: list[Side], failure: Failure, _: Recording
) -> tuple[Side, str] | None:
    """Layers of the model that have not run yet take one of the two widths; those of a block like
    one that has run say nothing new."""
    ran = {like(one.layer) for one in failure.before if one.layer}
    taken: dict[int, Layer] = {}
    for one in failure.layers:
        width = one.sizes.get(declared_by(one.kind))
        if width is not None and like(one) not in ran:
            taken.setdefault(width, one)
    wrong = [side for side in sides if side.width not in taken]
    right = [side for side in sides if side.width in taken]
    if len(wrong) != 1 or len(right) != 1:
        return None
    follows = taken[right[0].width]
    return wrong[0], f"{name(follows)}, {described(follows)}, takes {right[0].width} after it."


def like(layer: Layer) -> tuple[object, ...]:
    """Equal for layers of one kind and size that one line has made."""
    return layer.kind, layer.made_at, tuple(sorted(layer.sizes.items()))


def shortcut(crash: Crash, frame: Frame, join: Misjoin, failure: Failure) -> Finding:
    """A block's result and its own input have other shapes."""
    old, new = sorted(join.operands, key=age)
    identity = [one for one in failure.layers if one.kind == "Identity" and one.made_at]
    inside = frame.layer.path if frame.layer else None
    here = [one for one in identity if inside is not None and (one.path or "").startswith(inside)]
    place = here[0].made_at if len(here) == 1 and here[0].made_at else frame.place
    block = name(frame.layer) if frame.layer else "The block"
    to = f"{shape_of(old.shape)} to {shape_of(new.shape)}"
    return RULE.finding(
        place,
        f"{block} adds its input to what it made of it, and changes the shape on the way: {to}.",
        facts=(
            Fact("its input", shape_of(old.shape)),
            Fact("what it makes", shape_of(new.shape)),
            Fact("added at", f"{frame.place}  {frame.line}"),
        ),
        why="A shortcut that passes its input on as it is needs a block that keeps the shape.",
        fixes=(
            Fix(
                f"Give the shortcut a projection: {projection(old, new)}.",
                why_not_tried="new weights are a choice of yours",
            ),
            Fix(
                f"Or make the block give {shape_of(old.shape[1:])} again.",
                why_not_tried="which of the two shapes is meant only you know",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def projection(old: Operation, new: Operation) -> str:
    sides = len(old.shape) - 2
    if not sides or old.shape[1:-1] == new.shape[1:-1]:
        return f"`nn.Linear({old.shape[-1]}, {new.shape[-1]})`"
    step = round(old.shape[2] / new.shape[2]) if new.shape[2] else 1
    stride = f", stride={step}" if step > 1 else ""
    return f"`nn.Conv{sides}d({old.shape[1]}, {new.shape[1]}, 1{stride})`"


def finding(
    crash: Crash,
    seen: Recording,
    frame: Frame,
    join: Misjoin,
    sides: list[Side],
    wrong: Side,
    right: Side,
    why: str,
) -> Finding:
    chosen = width_given(seen, wrong.layer, wrong.width)
    together = "joined with" if join.joins or join.stacks else "added to"
    return RULE.finding(
        chosen.place if chosen else wrong.layer.made_at or frame.place,
        f"{name(wrong.layer)} gives {wrong.width} features, and {called_there(frame, right)} that"
        f" it is {together} has {right.width}.",
        facts=tuple(fact(frame, side) for side in sides),
        why=why,
        fixes=(fix(wrong, right, chosen),),
        python_said=crash.said,
        about=crash.id,
    )


def called_there(frame: Frame, side: Side) -> str:
    known = name_there(frame, side)
    return code(known) if known else f"the {shape_of(side.operand.shape)}"


def name_there(frame: Frame, side: Side) -> str | None:
    """What the failing line calls a tensor of this shape."""
    text = frame.expression or frame.line
    same = [one.text for one in frame.values if one.shape == side.operand.shape]
    return next((one for one in same if one in text), None)


def fact(frame: Frame, side: Side) -> Fact:
    by = f"{name(side.layer)}, {described(side.layer)}, made at {side.layer.made_at}"
    title = name_there(frame, side)
    return Fact(code(title) if title else "one", f"{shape_of(side.operand.shape)}, from {by}")


def fix(wrong: Side, right: Side, chosen: Given | None) -> Fix:
    written = f": {code(chosen.becomes(str(right.width)))}" if chosen else ""
    return Fix(
        f"Make {name(wrong.layer)} give {right.width}{written}.",
        replaced(chosen.source, chosen.argument, str(right.width)) if chosen else None,
        why_not_tried="how wide a layer is only you can choose",
    )


@RULE.on(Script)
def widths_in_the_source_differ(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, JoinMismatch):
        if not is_of_widths(one):
            continue
        sizes = [tensor.shape.size(one.axis) for tensor in one.tensors]
        names = [wording.text_of(source, node) for node in one.nodes]
        layer = projection_beside_table(one)
        made = f" {wording.describe_layer(layer)} gives the one." if layer is not None else ""
        yield RULE.finding(
            wording.place_of(source, layer.node if layer is not None else one.node),
            f"{names[0]} has {sizes[0]} features and {names[1]} has {sizes[1]}, and they are"
            f" {'added' if one.how == 'sum' else 'joined'} at line"
            f" {wording.place_of(source, one.node).line}.",
            facts=tuple(
                Fact(name, wording.describe_tensor(source, tensor))
                for name, tensor in zip(names, one.tensors, strict=True)
            ),
            why=f"Vectors that are put together must be equally wide.{made}",
            fixes=(
                Fix(
                    "Make one of the two layers as wide as the other.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
