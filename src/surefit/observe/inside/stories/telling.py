"""The story of one tensor, told from the operations that a recorder has noted."""

import ast
import heapq
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from types import FrameType
from typing import Any, cast

from surefit.doctor.findings import Place
from surefit.doctor.observations import Json, Layer, Operation
from surefit.observe.inside.autopsy.layers import layer_of, walk
from surefit.observe.inside.autopsy.values import attributes, is_module
from surefit.observe.inside.own_code import is_own
from surefit.observe.inside.stories.recorder import Made, Recorder

MOST_TOLD = 60
"""Operations in one story, newest first; clamps that hold values back are told beyond that."""
MOST_BEFORE_A_FAILURE = 400
"""Operations in the story of one that failed, over all that it was given."""
MOST_LAYERS = 300
MOST_BESIDE = 200
MOST_FOLLOWED = 20_000


def story(recorder: Recorder, tensor: Any, of_loss: bool, beside: bool = False) -> dict[str, Json]:
    """Of a loss only what a gradient passes through, and the single numbers beside that; if asked,
    also the other tensors that these operations took, and what those were made from."""
    serial = recorder.serial_of(tensor)
    made = list(told(recorder.made, serial, is_of_gradient if of_loss else lambda _: True))
    if beside:
        made += taken_beside(recorder.made, made)
    said: dict[str, Json] = {"operations": [cast(Json, asdict(operation(one))) for one in made]}
    return said | ways(recorder.made, serial) if of_loss else said


def story_of_failure(
    recorder: Recorder, failed: Made, frames: Sequence[FrameType]
) -> dict[str, Json]:
    """The operation that failed, then those that made what it was given, newest first; and the
    layers of the largest module that the frames know."""
    every = back({**recorder.made, failed.serial: failed}, failed.serial)
    told = list(islice(every, MOST_BEFORE_A_FAILURE))
    held = holders(recorder, {one.serial for one in told}, frames)
    operations = [replace(operation(one), layer=held.get(one.serial)) for one in told]
    layers = [layer_of(module, root) for module, root in leaves(frames)]
    return {
        "operations": [cast(Json, asdict(one)) for one in operations],
        "layers": [cast(Json, asdict(one)) for one in layers],
    }


def holders(recorder: Recorder, serials: set[int], frames: Sequence[FrameType]) -> dict[int, Layer]:
    """Serials of parameters -> the modules that hold them, as seen from the largest of these."""
    found: dict[int, Layer] = {}
    for root in roots(frames):
        for _, module in walk(root):
            for one in list(attributes(module).get("_parameters", {}).values()):
                serial = recorder.known(one) if one is not None else 0
                if serial in serials and (serial not in found or is_table(module, found[serial])):
                    found[serial] = layer_of(module, root)
    return found


def is_table(module: Any, known: Layer) -> bool:
    """Of two that share a weight, the table of embeddings and not the head."""
    return type(module).__name__ == "Embedding" and known.kind != "Embedding"


def roots(frames: Sequence[FrameType]) -> list[Any]:
    """Modules that the frames know, those with most inside first."""
    every = (value for frame in frames for value in list(frame.f_locals.values()))
    modules = {id(one): one for one in every if is_module(one)}
    return sorted(modules.values(), key=lambda one: -sum(1 for _ in walk(one)))


def leaves(frames: Sequence[FrameType]) -> list[tuple[Any, Any]]:
    """Modules without others inside, below the largest that the frames know, each with that."""
    for root in roots(frames)[:1]:
        below = [inside for _, inside in walk(root) if not attributes(inside).get("_modules")]
        return [(inside, root) for inside in below[:MOST_LAYERS]]
    return []


def is_of_gradient(one: Made) -> bool:
    return one.grad or one.result is not None


def back(made: dict[int, Made], serial: int) -> Iterator[Made]:
    """An operation and those that its result was made from, newest first."""
    waiting, met = [-serial], {serial}
    while waiting and len(met) < MOST_FOLLOWED:
        one = made.get(-heapq.heappop(waiting))
        if one is None:
            continue
        yield one
        for taken in one.takes:
            if taken not in met:
                met.add(taken)
                heapq.heappush(waiting, -taken)


def told(made: dict[int, Made], serial: int, wanted: Callable[[Made], bool]) -> Iterator[Made]:
    for number, one in enumerate(filter(wanted, back(made, serial))):
        if number < MOST_TOLD or (one.clamped and one.clamped.saturated):
            yield one


def taken_beside(made: dict[int, Made], told: Sequence[Made]) -> list[Made]:
    """Two operations deep: what was taken, and what that was made from."""
    known = {one.serial for one in told}
    found: list[Made] = []
    waiting = list(told)
    for _ in range(2):
        taken = dict.fromkeys(serial for one in waiting for serial in one.takes)
        waiting = [made[serial] for serial in taken if serial in made and serial not in known]
        known |= {one.serial for one in waiting}
        found += waiting
    return found[:MOST_BESIDE]


def ways(made: dict[int, Made], serial: int) -> dict[str, Json]:
    """How many parameters a gradient could reach from here, and how many of them without passing
    a clamp that holds back every element. What was not recorded counts as a way."""
    reached, past = parameters_behind(made, serial, None), parameters_behind(made, serial, closed)
    return {"parameters": len(reached), "past_clamps": len(past)}


def closed(one: Made) -> bool:
    return one.clamped is not None and one.clamped.saturated == one.clamped.elements


def parameters_behind(
    made: dict[int, Made], serial: int, stop: Callable[[Made], bool] | None
) -> set[int]:
    found: set[int] = set()
    waiting, met = [serial], {serial}
    while waiting:
        one = made.get(waiting.pop())
        if one is None:
            found.add(0)
            continue
        if not one.grad or (stop and stop(one)):
            continue
        if one.leaf or one.unseen:
            found.add(one.serial)
        fresh = [taken for taken in one.takes if taken not in met]
        met.update(fresh)
        waiting += fresh
    return found


def operation(one: Made) -> Operation:
    place = one.line.place if one.line else None
    inside = one.inside.place if one.inside else None
    held = one.clamped
    return Operation(
        one.serial,
        one.name,
        place,
        inside,
        own=inside is not None and is_own(inside.file),
        shape=one.shape,
        dtype=one.dtype,
        contiguous=one.contiguous,
        takes=one.takes,
        numbers=held.bounds if held else one.numbers,
        names=names(place),
        elements=held.elements if held else 0,
        saturated=held.saturated if held else 0,
        least=held.least if held else None,
        greatest=held.greatest if held else None,
        result=one.result,
        grad=one.grad,
        device=one.device,
    )


def names(place: Place | None) -> tuple[str, ...]:
    """What the statement at a line assigns to."""
    if place is None or place.line is None:
        return ()
    try:
        tree = ast.parse("".join(linecache.getlines(place.file)))
    except (SyntaxError, ValueError):
        return ()
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    return tuple(
        ast.unparse(target)
        for node in found[-1:]
        for one in node.targets
        for target in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])
    )
