"""Remedies that follow from a conflict: name an axis, cast, give one side the size of the other."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from surefit.doctor.findings import Fix
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code, shape_of
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.operations import DemandBroken
from surefit.laws.operations.conflict_story import SizeOrigin, alone
from surefit.laws.operations.demands import AT_MOST, numbers_in
from surefit.laws.operations.refits import Refit, refits
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import dtype
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument
from surefit.remedies.cast import Cast
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.together import Together
from surefit.source.edits import replaced

CASTS = ("int64", "float32", "bool")
STATE = "check_hidden_size"
VERBS = defaultdict(
    lambda: "Convert it",
    tra="Swap two axes",
    per="Reorder its axes",
    uns="Give it one more axis",
    squ="Take the axis of size 1 away",
)
"""By the first letters of the method."""


def remedies_of(
    broken: DemandBroken, known: Sequence[SizeOrigin], case: Case
) -> Iterator[Remedy | Fix]:
    """At the birth of the odd size first, then in the failing line."""
    fitting = list(settings(broken, case))
    if fitting:
        yield from fitting
        return
    yield from casts_at_birth(broken, case)
    named = [refit_at_use(broken, refit, case) for refit in refits(broken)]
    odd = alone(known)
    if odd is not None:
        yield from given_the_other_size(odd, known)
    yield from (remedy for remedy in named if remedy is not None)
    yield from repeated_in_a_join(broken, case)
    for origin in known if not named else ():
        if origin is not odd:
            yield from given_the_other_size(origin, known)


def casts_at_birth(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """Where the dtype that is refused came up: an expression that made it of the one that is
    taken."""
    operand = broken.operand(broken.conflict.side)
    if broken.conflict.about != "dtype" or operand is None or operand.frame is None:
        return
    for wanted in (name for name in CASTS if name != operand.dtype):
        after = replace(operand.value, dtype=wanted)
        if not broken.met_with({broken.conflict.side.argument: after}):
            continue
        lineage = case.lineage(operand)
        for producer in along(lineage, of=dtype(operand.dtype)):
            before = {inner.value.dtype for _, inner in lineage.inputs(producer)}
            if wanted in before:
                yield Cast(at=producer, to=wanted, value=producer.value)


def refit_at_use(broken: DemandBroken, refit: Refit, case: Case) -> Append | None:
    operand = broken.call.operands[refit.argument]
    use = use_in_line(broken, operand, case)
    if use is None:
        return None
    after = "" if refit.suffix.endswith("()") else f" is {shape_of(refit.shape)}"
    words = f"{VERBS[refit.suffix[1:4]]}: {code(f'{use.text}{refit.suffix}')}{after}."
    return Append(at=use, suffix=refit.suffix, words=words, alike=False, choice=True)


def use_in_line(broken: DemandBroken, operand: Operand, case: Case) -> Expression | None:
    """Where the user's failing expression has the operand."""
    if operand.use is not None:
        return operand.use
    node, source = case.node(broken.use), case.source(broken.use.place)
    text = operand.name.strip("`")
    for part in ast.walk(node) if node is not None and source is not None else ():
        if not isinstance(part, ast.Name | ast.Attribute | ast.Subscript) or source is None:
            continue
        if ast.unparse(part) == text:
            return case.expression(source, part)
    return None


def given_the_other_size(origin: SizeOrigin, known: Sequence[SizeOrigin]) -> Iterator[Remedy]:
    """Where the size was chosen: the width of a layer, or a number that is written."""
    others = [other for other in known if other is not origin]
    if not others or origin.side.axis is None:
        return
    wanted = others[0].side.number
    chosen = list(reversed(origin.layer.chosen)) if origin.layer is not None else []
    if not chosen and origin.literal is not None:
        chosen = [origin.literal]
    for at in chosen:
        words = f"Give {origin.name} the size {wanted}: {code(at.text)} → {wanted} at {at.place}."
        yield ReplaceWith(at=at, text=str(wanted), words=words, choice=True)


def settings(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """Arguments that decide what is demanded."""
    conflict, use = broken.conflict, broken.use
    if AT_MOST in conflict.takes:
        yield from no_more_than_there_are(broken, case)
    if broken.call.operation == "_pack_padded_sequence" and conflict.about == "setting":
        words = "Let it sort the rows itself: `enforce_sorted=False`. They come back in your order."
        yield SetArgument(at=use, name="enforce_sorted", value="False", words=words)
    if broken.call.operation == "interpolate" and conflict.about == "setting":
        yield from another_mode(broken, case)
    if conflict.takes.startswith("the kernel reaches"):
        yield from more_padding(broken, case)
    if broken.call.operation == STATE:
        yield from without_a_state(broken, case)
    if broken.call.operation in ("split", "split_with_sizes"):
        yield from the_size_that_is_left(broken, case)
    if broken.call.operation == "pad":
        yield from fewer_pairs(broken, case)


def no_more_than_there_are(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """A number that counts places of an axis: the size of that axis is the most."""
    side, other = broken.conflict.side, broken.conflict.other
    operand, sized = broken.operand(side), broken.operand(other)
    if other is None or other.axis is None or operand is None or sized is None:
        return
    written = number_at(broken, case)
    if written is not None and written.place != broken.use.place:
        words = f"If {other.number} is meant: {code(written.text)} → {other.number}"
        words = f"{words} at {written.place}."
        yield ReplaceWith(at=written, text=str(other.number), words=words, choice=True)
    use, of = use_in_line(broken, operand, case), use_in_line(broken, sized, case)
    if use is not None and of is not None:
        text = f"min({use.text}, {of.text}.shape[{other.axis - len(sized.shape)}])"
        words = f"Take as many as there are: {code(text)}."
        yield ReplaceWith(at=use, text=text, words=words, choice=True)


def number_at(broken: DemandBroken, case: Case) -> Producer | None:
    """Where a number that is too large is written."""
    operand = broken.operand(broken.conflict.side)
    if AT_MOST not in broken.conflict.takes or not operand or operand.frame is None:
        return None
    number = operand.value.scalar
    of_number = [
        producer
        for producer in case.lineage(operand).all
        if producer.kind is ProducerKind.LITERAL and producer.value.scalar == number
    ]
    return of_number[0] if len(of_number) == 1 and type(number) is int else None


def another_mode(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    mode = case.argument(broken.use, "mode", 3)
    now = broken.conflict.side.has.strip("'")
    for name in re.findall(r"'([\w-]+)'", broken.conflict.takes):
        if now in name:
            words = f'For so many axes it is `mode="{name}"`.'
            yield ReplaceWith(at=mode, text=f'"{name}"', words=words)


def more_padding(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """So much that the kernel fits, at the layer's constructor or in the call."""
    side, other = broken.conflict.side, broken.conflict.other
    layer = case.frames[-1].layer
    at = case.constructor(layer) if layer is not None else broken.use
    padding = (numbers_in(broken.call.given, "padding") or (0,))[0]
    if at is None or other is None:
        return
    needed = max(padding, -(-(other.number - side.number) // 2))
    words = f"Pad the input by {needed} on each side, so that the kernel fits: `padding={needed}`."
    yield SetArgument(at=at, name="padding", value=str(needed), words=words, choice=True)


def without_a_state(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """A state of zeros is what the layer starts with where it is given none."""
    state = broken.call.given.get("hx")
    node, source = case.node(broken.use), case.source(broken.use.place)
    match node:
        case ast.Call(func=function, args=[first, _], keywords=[]) if source is not None:
            if state is not None and state.least == state.greatest == 0:
                text = f"{source.segment(function)}({source.segment(first)})"
                words = (
                    "Leave the state out: it is all zeros, which is what the layer starts with,"
                    f" in the right shape: {code(text)}."
                )
                yield Change(to=replaced(source, node, text), words=words)


def the_size_that_is_left(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """Another part of the list that has just the size that is left for this one."""
    node, source = case.node(broken.use), case.source(broken.use.place)
    written = (
        source.argument(node, "split_size", 1) if source and isinstance(node, ast.Call) else None
    )
    numbers = numbers_in(broken.call.given, "split_size")
    if not isinstance(written, ast.List | ast.Tuple) or source is None or numbers is None:
        return
    for at, part in enumerate(written.elts):
        left = broken.conflict.side.number - (sum(numbers) - numbers[at])
        others = [
            other for number, other in zip(numbers, written.elts, strict=True) if number == left
        ]
        text = source.segment(others[0]) if others else str(left)
        if left > 0:
            use = case.expression(source, part)
            words = f"Make part {at + 1} of the split {left} wide: {code(use.text)} → {code(text)}."
            yield ReplaceWith(at=use, text=text, words=words, choice=True)


def fewer_pairs(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """Pairs of zeros for the last axes are left out, as many as there are too many."""
    node, source = case.node(broken.use), case.source(broken.use.place)
    written = source.argument(node, "pad", 1) if source and isinstance(node, ast.Call) else None
    numbers = numbers_in(broken.call.given, "pad")
    other = broken.conflict.other
    if not isinstance(written, ast.Tuple | ast.List) or source is None or not other or not numbers:
        return
    more = other.number - 2 * broken.conflict.side.number
    if more > 0 and not any(numbers[:more]) and len(written.elts) == len(numbers):
        text = ", ".join(source.segment(part) for part in written.elts[more:])
        words = f"Leave out the {more} zeros for axes that there are not: `({text})`."
        use = case.expression(source, written)
        yield ReplaceWith(at=use, text=f"({text})", words=words)


def repeated_in_a_join(broken: DemandBroken, case: Case) -> Iterator[Remedy]:
    """`cat` of a vector for each row and a sequence: the vector at each position, joined along the
    last axis."""
    side, other = broken.conflict.side, broken.conflict.other
    if (
        broken.call.operation not in ("cat", "concat")
        or broken.conflict.about != "axes"
        or not other
    ):
        return
    few, many = (broken.operand(each) for each in sorted((side, other), key=lambda s: s.number))
    if few is None or many is None or len(many.shape) != len(few.shape) + 1 or len(few.shape) < 2:
        return
    at, like = use_in_line(broken, few, case), use_in_line(broken, many, case)
    node = case.node(like)
    if (
        few.shape[0] != many.shape[0]
        or at is None
        or like is None
        or not isinstance(node, ast.Name)
    ):
        return
    sizes = ", ".join(["-1", f"{like.text}.size(1)", *["-1"] * (len(few.shape) - 1)])
    suffix = f".unsqueeze(1).expand({sizes})"
    words = f"Repeat {few.name} at each position of {many.name}, and join along the last axis."
    yield Together(
        parts=(
            Append(at=at, suffix=suffix, words="", alike=False),
            SetArgument(at=broken.use, name="dim", value="-1", words=""),
        ),
        words=words,
        choice=True,
    )
