"""A packed sequence came back as long as the longest row of its batch, and targets are longer.

## What happens
`pad_packed_sequence` pads to the longest row that was packed, not to the length that the rows had
before. Where targets or masks have a fixed length, sizes agree only as long as some row of the
batch fills that length.

## Why it matters
It fails at the first batch without a row of full length, which may be in the second epoch. Cutting
the targets to fit hides it, and loses targets where the lengths differ for another reason.

## What to do
Give the length: `pad_packed_sequence(..., total_length=words.size(1))`. The positions after the end
of a row are zeros, as they were before; the loss ignores them by their targets.

## How it is recognised
Two tensors that fail together have different numbers of steps. A second run shows that one of the
two came out of an unpacking with as many steps as its longest row, and that as many steps as the
other has went into the packing.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.doctor.words import shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.lineage.ways import operation, shape, taken
from surefit.remedies.arguments import SetArgument, call_at
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

SYMPTOM = Symptom(
    r"Expected target size \[\d+, \d+\], got \[\d+, \d+\]|must be the same as input size",
    "whether `pad_packed_sequence` gave back fewer steps than the targets have",
)
RULE = Rule("SF233", "sequence-trimmed-to-the-batch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
UNPACK, PACK = "pad_packed_sequence", "pack_padded_sequence"
VIEWS = ("transpose", "permute", "swapaxes", "movedim")


@dataclass(frozen=True, slots=True)
class Trimmed:
    """An unpacking, and what went into the packing."""

    call: Expression
    unpacked: tuple[int, ...]
    rows: int
    longest: int
    whole: int


@RULE.on(UnequalSides)
def unpacking_returned_fewer_steps(broken: UnequalSides, case: Case) -> Finding | None:
    if broken.size >= broken.expected or not list(unpackings(case)):
        return None
    trimmed = trimmed_in(case.lineage(broken.side), case)
    if trimmed is None:
        return None
    sizes = trimmed.longest, trimmed.whole  # those of the steps, or of all steps of all rows
    flat = trimmed.rows * trimmed.longest, trimmed.rows * trimmed.whole
    if (broken.size, broken.expected) not in (sizes, flat):
        return None
    return case.finding(
        trimmed.call.place,
        f"`pad_packed_sequence` returns {trimmed.longest} steps, as many as the longest row of this"
        f" batch has, and {broken.other.name} has {trimmed.whole}.",
        facts=(
            Fact(f"{broken.side.name} as it is used", shape_of(broken.side.shape)),
            Fact(f"{broken.other.name} as it is used", shape_of(broken.other.shape)),
            Fact("unpacked", f"{trimmed.call.place}  {shape_of(trimmed.unpacked)}"),
            Fact("packed before", f"{trimmed.rows} rows of {trimmed.whole} steps"),
        ),
        why=f"Without `total_length` it pads to the longest row that was packed; a batch with a row"
        f" of {trimmed.whole} steps works.",
        remedies=(remedy(trimmed, broken, case),),
    )


def unpackings(case: Case) -> Iterator[Expression]:
    """Calls of the user's without a length."""
    for source in case.recording.sources():
        for call in source.calls_named(UNPACK):
            if source.argument(call, "total_length", 3) is None:
                yield case.expression(source, call)


def trimmed_in(lineage: Lineage, case: Case) -> Trimmed | None:
    nearest = lineage.nearest()
    unpacked = next((at for at in nearest if operation(at) == f"_{UNPACK}"), None)
    packed = next((at for at in nearest if operation(at) == f"_{PACK}"), None)
    if unpacked is None or packed is None:
        return None
    after = [at for at in lineage.all if at.own and at.serial > unpacked.serial]
    if not after:
        return None
    line, file = after[-1].place.line, after[-1].place.file
    calls = [call for call in unpackings(case) if call.place.file == file]
    here = [call for call in calls if call.place.line == line] or calls
    given = [at for at in taken(lineage, packed) if len(shape(at)) > 1]
    if len(here) != 1 or not given:
        return None
    return measured(here[0], unpacked, given[0], case)


def measured(call: Expression, unpacked: Producer, given: Producer, case: Case) -> Trimmed | None:
    source, node = call_at(case, call)
    if source is None or node is None:
        return None
    time = steps_axis(source, node, 1)
    rows, longest = shape(unpacked)[1 - time], shape(unpacked)[time]
    before = shape(given)
    whole = before[1] if before[0] == rows else before[0]
    if rows not in before[:2] or longest >= whole:
        return None
    return Trimmed(call, shape(unpacked), rows, longest, whole)


def steps_axis(source: Source, call: ast.Call, position: int) -> int:
    option = source.argument(call, "batch_first", position)
    return 1 if isinstance(option, ast.Constant) and option.value is True else 0


def remedy(trimmed: Trimmed, broken: UnequalSides, case: Case) -> Remedy | Fix:
    length = whole_length(trimmed.call, case)
    if length is None:
        return Fix(f"Give the length: `total_length=`, here {trimmed.whole}.")
    return SetArgument(
        at=trimmed.call,
        name="total_length",
        value=length,
        words=f"Give the length: `total_length={length}`, here {trimmed.whole}.",
        must=broken.holds(case),
    )


def whole_length(call: Expression, case: Case) -> str | None:
    """How the function can say the length that it packs: `words.size(1)`."""
    node, source = case.node(call), case.source(call.place)
    if source is None or node is None:
        return None
    inside = [known for known in ast.walk(source.scope_of(node)) if isinstance(known, ast.Call)]
    packs = [known for known in inside if called(known) == PACK and known.args]
    text = still_whole(source, packs[0].args[0]) if len(packs) == 1 else None
    return f"{text}.size({steps_axis(source, packs[0], 2)})" if text else None


def still_whole(source: Source, packed: ast.expr | None) -> str | None:
    """What still has the length when the sequence is unpacked: a name that is bound just once, or
    a view of one. Where what is packed has none, what it was computed from."""
    match packed:
        case ast.Name() if len(source.bound_by(packed)) == 1:
            return packed.id
        case ast.Name():
            return still_whole(source, definition(source, packed))
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=attr)) if attr in VIEWS:
            return source.segment(packed) if len(source.bound_by(name)) == 1 else None
        case ast.Call(args=[inner, *_]):
            return still_whole(source, inner)
    return None
