"""Sequences that came back from a packed RNN as long as the longest row of their batch."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Operation, Script, Value
from surefit.doctor.recording import Recording
from surefit.evidence.origins import names_in
from surefit.evidence.value_stories import story_of_value, taken
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

UNPACK, PACK = "pad_packed_sequence", "pack_padded_sequence"
MOST_STEPS = 4
VIEWS = ("transpose", "permute", "swapaxes", "movedim")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tensors that a failing call takes together, in one frame."""

    frame: int
    short: Value
    long: Value


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A sequence that was padded to the longest row of the batch, and what is longer."""

    pair: Pair
    unpacked: Operation
    rows: int
    longest: int
    whole: int
    """Steps that went into the packing."""
    source: Source
    call: ast.Call
    """Of `pad_packed_sequence`."""


def trimmed_in(crash: Crash, seen: Recording) -> Trimmed | None:
    """Told by a second run, which is made only where the source unpacks without a length."""
    if not any(True for _ in unpackings(seen)):
        return None
    for pair in pairs(crash):
        story = story_of_value(seen, crash, pair.frame, pair.short.text)
        for operation in story:
            if operation.name == f"_{UNPACK}":
                found = explained(pair, operation, story, seen)
                if found is not None:
                    return found
    return None


def unpackings(seen: Recording) -> Iterator[ast.Call]:
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            if source and called(call) == UNPACK and not source.argument(call, "total_length", 3):
                yield call


def pairs(crash: Crash) -> Iterator[Pair]:
    """Of the innermost frame that has tensors: both ways round."""
    for number, frame in reversed(list(enumerate(crash.frames))):
        found = tensors(frame)
        if len(found) > 1:
            for short in found:
                for long in found:
                    if differ(short, long):
                        yield Pair(number, short, long)
            return
        if frame.own:
            return


def tensors(frame: Frame) -> list[Value]:
    """In the failing part of a line; of a loss, what it is given."""
    named = names_in(frame.expression or frame.line)
    loss = [one for one in frame.values if one.text in ("input", "target") and one.shape]
    if len(loss) > 1 and "target" in frame.arguments:
        return loss
    return [one for one in frame.values if one.text in named and one.shape]


def differ(short: Value, long: Value) -> bool:
    return short.identity != long.identity and set(short.shape or ()) != set(long.shape or ())


def explained(
    pair: Pair, operation: Operation, story: list[Operation], seen: Recording
) -> Trimmed | None:
    """The longer one has as many steps as went into the packing."""
    source = seen.source(operation.place)
    line = operation.place.line if operation.place else None
    calls = (
        [one for one in source.calls_in(line) if called(one) == UNPACK] if source and line else []
    )
    if source is None or len(calls) != 1:
        return None
    time = 1 if is_true(source.argument(calls[0], "batch_first", 1)) else 0
    rows, longest = operation.shape[1 - time], operation.shape[time]
    whole = packed_length(operation, story, rows, seen)
    if whole is None or longest >= whole:
        return None
    short, long = pair.short.shape or (), pair.long.shape or ()
    fits = whole in long or long[:1] == (rows * whole,)
    trimmed = longest in short or short[:1] == (rows * longest,)
    return (
        Trimmed(pair, operation, rows, longest, whole, source, calls[0])
        if fits and trimmed
        else None
    )


def packed_length(
    operation: Operation, story: list[Operation], rows: int, seen: Recording
) -> int | None:
    """Steps of what went into the packing."""
    packing = packing_of(operation, story)
    source = seen.source(packing.place) if packing else None
    given = (
        next((one for one in taken(packing, story) if len(one.shape) > 1), None)
        if packing
        else None
    )
    line = packing.place.line if packing and packing.place else None
    calls = [one for one in source.calls_in(line) if called(one) == PACK] if source and line else []
    if source is None or given is None or len(calls) != 1:
        return None
    time = 1 if is_true(source.argument(calls[0], "batch_first", 2)) else 0
    return given.shape[time] if given.shape[1 - time] == rows else None


def packing_of(operation: Operation, story: list[Operation]) -> Operation | None:
    here = [operation]
    for _ in range(8 * MOST_STEPS):
        if not here:
            return None
        one = here.pop(0)
        if one.name == f"_{PACK}":
            return one
        here += [each for each in taken(one, story) if each.name not in ("parameter", "zeros")]
    return None


def is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def whole_length(source: Source, call: ast.Call) -> str | None:
    """How the function can say the length that it packs: `words.size(1)`."""
    scope = source.scope_of(call)
    packs = [
        one
        for one in ast.walk(scope)
        if isinstance(one, ast.Call) and called(one) == PACK and one.args
    ]
    if len(packs) != 1:
        return None
    time = 1 if is_true(source.argument(packs[0], "batch_first", 2)) else 0
    text = still_whole(source, packs[0].args[0])
    return f"{text}.size({time})" if text else None


def still_whole(source: Source, packed: ast.expr) -> str | None:
    """What still has the length when the sequence is unpacked: a name that is bound just once, or
    a view of one. Where what is packed has none, what it was made from."""
    for _ in range(MOST_STEPS):
        match packed:
            case ast.Name() if is_bound_once(source, packed):
                return packed.id
            case ast.Name():
                made = definition(source, packed)
                if made is None:
                    return None
                packed = made
            case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=attr)) if attr in VIEWS:
                return source.segment(packed) if is_bound_once(source, name) else None
            case ast.Call(args=[inner, *_]):
                packed = inner
            case _:
                return None
    return None


def is_bound_once(source: Source, name: ast.Name) -> bool:
    return len(source.bound_by(name)) == 1
