"""Lineages as a second run would tell them, made by hand for tests of rules."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Question, Value
from surefit.lineage.producers import (
    LINEAGE,
    ROWS,
    Input,
    Producer,
    ProducerGraph,
    ProducerKind,
    ValueRoot,
    Way,
)
from surefit.source.reading import Source

Step = tuple[str, Value] | tuple[str, Value, Way, str]
"""An expression as it is written and what it evaluated to; then how the expression before it in the
list got it, and under which name; of the first, how the frame did."""

KINDS: dict[type[ast.expr], ProducerKind] = {
    ast.Call: ProducerKind.CALL,
    ast.Constant: ProducerKind.LITERAL,
    ast.Name: ProducerKind.NAME,
    ast.Attribute: ProducerKind.ATTRIBUTE,
    ast.Subscript: ProducerKind.SUBSCRIPT,
    ast.List: ProducerKind.DISPLAY,
    ast.Dict: ProducerKind.DISPLAY,
    ast.Tuple: ProducerKind.DISPLAY,
    ast.ListComp: ProducerKind.COMPREHENSION,
}


def lineage_answer(
    crash: Crash,
    source: Source,
    chains: Mapping[tuple[int, str], Sequence[Step]]
    | Mapping[tuple[int | str, str], Sequence[Step]],
) -> Answer:
    """`chains`: number of a frame and text of a value there -> its expressions, newest first; in
    place of a frame ROWS or DATASET. No chain: nothing is known of a value."""
    producers: list[Producer] = []
    roots: list[ValueRoot] = []
    serial = 10_000
    for (number, text), steps in chains.items():
        frame = crash.frames[number] if isinstance(number, int) else None
        newest = steps[0] if steps else ()
        way, name = (Way.SAME_OBJECT, "") if number != ROWS else (Way.ITEM, text)
        way, name = (newest[2], newest[3]) if len(newest) > 2 else (way, name)
        first = Input(serial=serial, way=way, name=name)
        roots.append(
            ValueRoot(
                function=frame.function if frame else str(number),
                file=Path(frame.place.file).name if frame else "",
                line=(frame.place.line or 0) if frame else 0,
                text=text,
                inputs=(first,) if steps else (),
            )
        )
        for position, step in enumerate(steps):
            following = steps[position + 1] if position + 1 < len(steps) else None
            way, name = (
                (following[2], following[3])
                if following and len(following) > 2
                else (Way.OPERAND, "")
            )
            inputs = (Input(serial=serial - 1, way=way, name=name),) if following else ()
            producers.append(producer(source, serial, step[0], step[1], inputs))
            serial -= 1
        serial -= 1
    graph = ProducerGraph(producers=tuple(producers), roots=tuple(roots), records=len(producers))
    return Answer(Question(LINEAGE, crash.id, {}), asdict(graph))


def producer(
    source: Source, serial: int, text: str, value: Value, inputs: tuple[Input, ...]
) -> Producer:
    node = next(node for node in source.every(ast.expr) if source.segment(node) == text)
    return Producer(
        serial=serial,
        place=Place(source.file, node.lineno, node.end_lineno),
        span=source.span(node),
        text=text,
        kind=KINDS.get(type(node), ProducerKind.OPERATOR),
        value=value,
        inputs=inputs,
        name=source.segment(node.func) if isinstance(node, ast.Call) else "",
    )
