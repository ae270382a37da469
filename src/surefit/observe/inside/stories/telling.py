"""The story of one tensor, told from the operations that a recorder has noted."""

import ast
import heapq
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, cast

from surefit.doctor.findings import Place
from surefit.doctor.observations import Json, Operation
from surefit.observe.inside.own_code import is_own
from surefit.observe.inside.stories.recorder import Made, Recorder

MOST_TOLD = 60
"""Operations in one story, newest first; clamps that hold values back are told beyond that."""
MOST_BESIDE = 200
MOST_FOLLOWED = 20_000


def story(recorder: Recorder, loss: Any, beside: bool = False) -> dict[str, Json]:
    """What a gradient passes through, and the single numbers beside that; if asked, also the other
    tensors that these operations took, and what those were made from."""
    serial = recorder.serial_of(loss)
    made = list(told(recorder.made, serial))
    if beside:
        made += taken_beside(recorder.made, made)
    operations = [cast(Json, asdict(operation(one))) for one in made]
    return {"operations": operations} | ways(recorder.made, serial)


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


def told(made: dict[int, Made], serial: int) -> Iterator[Made]:
    for number, one in enumerate(filter(is_of_gradient, back(made, serial))):
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
