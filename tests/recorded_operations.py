"""Operations on tensors as the lineage that a second run tells, for tests of rules."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Observation,
    Operation,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.lineage.producers import (
    LINEAGE,
    Input,
    Producer,
    ProducerGraph,
    ProducerKind,
    ValueRoot,
    Way,
)
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

Stories = Mapping[tuple[int, str], Sequence[Operation]]
"""Number of a frame and text of a value there -> the operations behind it, newest first."""


def found_by(
    rule: Rule, text: str, crash: Crash, *answers: Observation, stories: Stories | None = None
) -> list[Finding]:
    """What a rule says of the contracts that a crash violates."""
    source = Source("train.py", text)
    crash = replace(crash, frames=tuple(spanned(frame, source) for frame in crash.frames))
    lineage = lineage_of_operations(crash, source, stories or {})
    recording = Recording([Script("train.py", text), crash, *answers, lineage])
    broken: list[str] = []
    findings = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def spanned(frame: Frame, source: Source) -> Frame:
    """With the span of its failing expression."""
    if not frame.own or frame.span is not None:
        return frame
    nodes = [node for node in source.every(ast.expr) if node.lineno == frame.place.line]
    same = [node for node in nodes if source.segment(node) == frame.expression]
    return replace(frame, span=source.span(same[0])) if same else frame


def lineage_of_operations(crash: Crash, source: Source, stories: Stories) -> Answer:
    producers: dict[int, Producer] = {}
    roots = []
    numbers = {
        value.text: value.scalar
        for frame in crash.frames
        for value in frame.values
        if type(value.scalar) is int
    }
    fresh = count(-1, -1)
    for (number, text), story in stories.items():
        frame = crash.frames[number]
        for operation in story:
            for producer in of_operation(source, operation, numbers, fresh):
                producers[producer.serial] = producer
        first = (Input(serial=story[0].serial, way=Way.SAME_OBJECT),) if story else ()
        roots.append(
            ValueRoot(
                function=frame.function,
                file=Path(frame.place.file).name,
                line=frame.place.line or 0,
                text=text,
                inputs=first,
            )
        )
    graph = ProducerGraph(producers=tuple(producers.values()), roots=tuple(roots))
    return Answer(Question(LINEAGE, crash.id, {}), asdict(graph))


def of_operation(
    source: Source, operation: Operation, numbers: Mapping[str, object], fresh: Iterator[int]
) -> Iterator[Producer]:
    """The call on the user's line that does it, and its arguments; of a library's, itself."""
    line = operation.place.line if operation.place else None
    calls = [call for call in source.calls_in(line or 0) if called(call) == operation.name]
    call = calls[0] if calls and operation.own else None
    taken = [Input(serial=serial, way=Way.OPERATION) for serial in operation.takes]
    arguments = list(of_sizes(source, call, operation.shape, numbers, fresh)) if call else []
    arguments += [literal(next(fresh), number) for number in operation.numbers]
    yield from arguments
    given = [
        Input(serial=known.serial, way=Way.ARGUMENT, name=str(known.serial)) for known in arguments
    ]
    kind = "Parameter" if operation.name == "parameter" else "Tensor"
    yield Producer(
        serial=operation.serial,
        place=operation.place or Place("torch/functional.py", 1),
        span=source.span(call) if call else None,
        text=source.segment(call) if call else operation.name,
        kind=ProducerKind.CALL if call else ProducerKind.OPERATION,
        value=Value(operation.name, kind, operation.serial, shape=operation.shape),
        inputs=(*taken, *given),
        own=operation.own,
        name=operation.name,
    )


def literal(serial: int, number: float) -> Producer:
    return Producer(
        serial=serial,
        place=Place("train.py", 1),
        span=None,
        text=str(int(number)),
        kind=ProducerKind.LITERAL,
        value=Value("", "int", scalar=int(number)),
    )


def of_sizes(
    source: Source,
    call: ast.Call,
    shape: tuple[int, ...],
    numbers: Mapping[str, object],
    fresh: Iterator[int],
) -> Iterator[Producer]:
    """Of a name that no frame knows, the size at its position."""
    nodes: list[ast.expr] = []
    for argument in call.args:
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        bound = definition(source, inner) if isinstance(inner, ast.Name) else inner
        nodes += bound.elts if isinstance(bound, ast.Tuple) else [inner]
    for position, node in enumerate(nodes):
        size = shape[position] if position < len(shape) else None
        known = numbers.get(ast.unparse(node), size)
        scalar = node.value if isinstance(node, ast.Constant) else known
        yield Producer(
            serial=next(fresh),
            place=Place(source.file, node.lineno),
            span=source.span(node),
            text=source.segment(node),
            kind=ProducerKind.LITERAL if isinstance(node, ast.Constant) else ProducerKind.NAME,
            value=Value(ast.unparse(node), "int", scalar=scalar if type(scalar) is int else None),
        )
