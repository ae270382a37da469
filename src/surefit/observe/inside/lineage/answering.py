"""The answer to a question about lineage: producers that the values of a crash lead back to."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from types import FrameType
from typing import Any

from surefit.doctor.findings import COMMAND_LINE, Place
from surefit.doctor.observations import Crash, Json, Value
from surefit.lineage.producers import (
    DATASET,
    ROWS,
    Input,
    Producer,
    ProducerGraph,
    ProducerKind,
    ValueRoot,
    Way,
)
from surefit.observe.inside.autopsy import expressions, guards
from surefit.observe.inside.autopsy.collators import datasets_in, rows_in
from surefit.observe.inside.autopsy.values import LOOKED_AT, describe, mapping, untouched
from surefit.observe.inside.lineage.contents import flat
from surefit.observe.inside.lineage.records import GONE, SCALARS, Record, Records
from surefit.observe.inside.lineage.settings import SETTING, setting_read
from surefit.observe.inside.lineage.tracing import MOST_ELEMENTS, Tracing, file_read
from surefit.observe.inside.lineage.wrapping import Node, nodes
from surefit.observe.inside.own_code import is_own, own
from surefit.source.spans import Span

MOST_PRODUCERS = 4_000
MOST_OF_A_NODE = 60
"""Evaluations of one expression among them."""
MOST_ROOTS = 600
MOST_MEMBERS = 40


def of_crash(records: Records, crash: Crash, frames: Sequence[FrameType]) -> dict[str, Json]:
    """Of every value in the user's frames, and in the library's frames below the innermost."""
    with paused(records), untouched():
        tracing = Tracing(records)
        roots = list(roots_of(tracing, crash, frames))[:MOST_ROOTS]
        return as_json(graph(tracing, roots))


def of_value(records: Records, serial: int, text: str) -> dict[str, Json]:
    """Of the value of one expression."""
    with paused(records), untouched():
        tracing = Tracing(records)
        record = records.by_serial[serial]
        node = nodes[record.node]
        root = ValueRoot(
            function=node.function,
            file=os.path.basename(node.file),
            line=node.line,
            text=text,
            inputs=(Input(serial=serial, way=Way.SAME_OBJECT),),
        )
        return as_json(graph(tracing, [root]))


def of_target(records: Records, target: Any, loss: str) -> dict[str, Json]:
    """Of what a loss function is given as its target, by the user or inside a library."""
    with paused(records), untouched():
        tracing = Tracing(records)
        for frame in frames_above():
            tracing.containers.update(containers_in(frame))
        inputs = tuple(source_of(tracing, target, None))
        root = ValueRoot(function=loss, file="", line=0, text="target", inputs=inputs)
        return as_json(graph(tracing, [root] if inputs else []))


def frames_above() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def expressions_at(file: str, line: int, text: str) -> list[int]:
    """Numbers of the expressions at a line that are written so, or are assigned to that name."""
    wanted = "".join(text.split()).replace('"', "'")
    return [
        node.number
        for node in nodes
        if node.file.endswith(os.sep + file.lstrip(os.sep))
        and node.line <= line <= node.end_line
        and (
            "".join(node.text.split()).replace('"', "'") == wanted
            or any(target.shared[1] == text for target in node.targets)
        )
    ]


class paused:  # noqa: N801 - reads as what it does
    """Nothing is noted inside."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __enter__(self) -> None:
        self.records.active = False

    def __exit__(self, *_: object) -> None:
        self.records.active = True


def roots_of(tracing: Tracing, crash: Crash, frames: Sequence[FrameType]) -> Iterator[ValueRoot]:
    last_own = max((at for at, frame in enumerate(frames) if own(frame.f_code)), default=0)
    pairs = list(zip(frames, crash.frames, strict=False))
    for frame in frames:
        tracing.containers.update(containers_in(frame))
    handed = arguments_under_way(tracing.records, frames[last_own]) if frames else {}
    yield from roots_of_rows(tracing, frames)
    for at, (frame, shown) in reversed(list(enumerate(pairs))):
        mine = own(frame.f_code)
        if not mine and at < last_own:
            continue
        for text, inputs in values_of(
            tracing, frame, shown.span, mine, at == len(pairs) - 1, handed
        ):
            if inputs:
                yield ValueRoot(
                    function=shown.function,
                    file=os.path.basename(shown.place.file),
                    line=shown.place.line or 0,
                    text=text,
                    inputs=tuple(inputs),
                )


def roots_of_rows(tracing: Tracing, frames: Sequence[FrameType]) -> Iterator[ValueRoot]:
    """Each column of the rows that a collator was given, and the dataset that they are from."""
    rows, _ = rows_in(frames)
    columns: dict[str, list[Input]] = {}
    for row in rows[:MOST_ELEMENTS]:
        inside = mapping(row)
        if inside is None:
            inside = dict(enumerate(row)) if type(row) in (list, tuple) else {"row": row}
        for key, value in list(inside.items())[:MOST_MEMBERS]:
            from_row = column_of(tracing, row, key, value)
            columns.setdefault(str(key), []).extend(replace(one, name=str(key)) for one in from_row)
    for key, inputs in columns.items():
        if inputs:
            yield ValueRoot(function=ROWS, file="", line=0, text=key, inputs=tuple(inputs))
    for dataset in datasets_in(frames):
        located = tracing.locate(dataset, sys.maxsize) or newest_that_is(tracing, dataset)
        if located:
            yield ValueRoot(function=DATASET, file="", line=0, text="", inputs=tuple(located))
            return


def newest_that_is(tracing: Tracing, value: Any) -> list[Input]:
    """An expression that only passes it on, of what a library created: `split["train"]`."""
    for record in reversed(list(tracing.records.by_serial.values())):
        if record.value is value and record.node >= 0:
            return [Input(serial=record.serial, way=Way.SAME_OBJECT)]
    return []


def column_of(tracing: Tracing, row: Any, key: Any, value: Any) -> list[Input]:
    """By what the user put into the row; otherwise by content, or by what stands beside it."""
    serial = tracing.same(row, sys.maxsize)
    item = tracing.one_item(serial, str(key), value) if serial else None
    if item is not None:
        return [Input(serial=item, way=Way.ITEM)]
    located = [] if isinstance(value, SCALARS) else tracing.locate(value, sys.maxsize)
    return located or tracing.sibling(row, key, sys.maxsize)


def containers_in(frame: FrameType) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Values that a dict or a tuple of the frame holds beside others."""
    for held in list(frame.f_locals.values()):
        inside = mapping(held)
        if inside is None and type(held) in (list, tuple) and len(held) <= MOST_MEMBERS:
            inside = dict(enumerate(held))
        if inside is not None and len(inside) > 1:
            for key, member in inside.items():
                if not isinstance(member, SCALARS):
                    yield id(member), (held, key)


def arguments_under_way(records: Records, frame: FrameType) -> dict[int, Input]:
    """Identity of what the user's innermost call gives to a library -> the argument."""
    state = records.states.get(id(frame))
    number = records.call_under_way(frame)
    if state is None or state.code is not frame.f_code or number is None:
        return {}
    roles = dict(nodes[number].slots)
    return {
        record.identity: Input(serial=record.serial, way=Way.ARGUMENT, name=roles[record.node])
        for record in state.pending
        if roles.get(record.node, "func") not in ("func", "self")
        and not isinstance(record.value, SCALARS)
    }


def values_of(
    tracing: Tracing,
    frame: FrameType,
    span: Span | None,
    mine: bool,
    innermost: bool,
    handed: dict[int, Input],
) -> Iterator[tuple[str, list[Input]]]:
    met: set[str] = set()
    if mine:
        for text, serial in under_way(tracing.records, frame):
            met.add(text)
            yield text, as_it_is_now(tracing.records, serial)
    for text, value, holder in values_in(frame, span, mine or innermost):
        if text not in met:
            met.add(text)
            argument = handed.get(id(value)) if not mine else None
            yield text, [argument] if argument else source_of(tracing, value, holder)


def as_it_is_now(records: Records, serial: int) -> list[Input]:
    """What an expression gave, and what has changed that in place since."""
    links = [Input(serial=serial, way=Way.SAME_OBJECT)]
    newest = records.newest_of(records.by_serial[serial].value)
    return [*links, Input(serial=newest, way=Way.MUTATED)] if newest > serial else links


def under_way(records: Records, frame: FrameType) -> Iterator[tuple[str, int]]:
    """Expressions of the statement that failed, and names by what they were bound to."""
    state = records.states.get(id(frame))
    if state is None or state.code is not frame.f_code:
        return
    for record in reversed(state.pending):
        yield from texts_below(records, record)
    for key, serial in state.names.items():
        name = key.partition("@")[0]
        if records.is_value(serial, frame.f_locals.get(name, GONE)):
            yield name, serial


def texts_below(records: Records, record: Record, depth: int = 6) -> Iterator[tuple[str, int]]:
    yield nodes[record.node].text, record.serial
    for serial in record.children if depth else ():
        child = records.by_serial.get(serial)
        if child is not None and child.node >= 0:
            yield from texts_below(records, child, depth - 1)


def values_in(
    frame: FrameType, span: Span | None, every: bool
) -> Iterator[tuple[str, Any, tuple[Any, Any] | None]]:
    """Texts and values; with each the container that holds it and its key, where it is a member."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
    count += bool(code.co_flags & 8)
    names = frame.f_locals if every else code.co_varnames[:count]
    line = span.line if span is not None else frame.f_lineno
    failed = expressions.failed_at(frame, frame.f_lasti, line)
    tests = guards.checks_at(failed.statement, failed.function, frame) if every else []
    for node in (failed.expression if span is not None else None, *(test.node for test in tests)):
        if node is not None:
            for text, value in expressions.parts(node, frame):
                yield text, value, None
    for name in list(names):
        value = frame.f_locals.get(name, GONE)
        if value is GONE or name.startswith("__") or expressions.is_code(value):
            continue
        yield name, value, None
        inside = mapping(value)
        for key, member in list((inside or {}).items())[:MOST_MEMBERS]:
            if type(key) is str:
                yield f"{name}[{key!r}]".replace("'", '"'), member, (value, key)
        if type(value) in (list, tuple):
            for at, member in enumerate(value[:MOST_MEMBERS]):
                yield f"{name}[{at}]", member, (value, at)


def source_of(tracing: Tracing, value: Any, holder: tuple[Any, Any] | None) -> list[Input]:
    located = tracing.locate(value, sys.maxsize)
    if not located and holder is not None:
        located = tracing.sibling(*holder, sys.maxsize)
    return located


def graph(tracing: Tracing, roots: list[ValueRoot]) -> ProducerGraph:
    """The nearest to the roots first, up to a bound."""
    records = tracing.records
    waiting = [link.serial for root in roots for link in root.inputs]
    met: dict[int, Producer] = {}
    often: dict[int, int] = {}
    ended = ""
    for serial in waiting:
        record = records.by_serial.get(serial)
        if serial in met or record is None:
            continue
        if len(met) >= MOST_PRODUCERS:
            ended = f"more than {MOST_PRODUCERS:,} expressions are involved"
            break
        often[record.node] = often.get(record.node, 0) + 1
        if record.node >= 0 and often[record.node] > MOST_OF_A_NODE:
            continue
        produced = producer(tracing, record)
        met[serial] = produced
        waiting += [link.serial for link in produced.inputs]
    if not ended and (records.let_go or records.left_out):
        ended = (
            f"{records.let_go:,} values and {records.left_out:,} evaluations were not kept, "
            "for want of memory and time"
        )
    return ProducerGraph(
        producers=tuple(met.values()), roots=tuple(roots), records=records.total, ended=ended
    )


def producer(tracing: Tracing, record: Record) -> Producer:
    node = tracing.node(record)
    inputs = tuple(
        link for link in tracing.inputs(record) if link.serial in tracing.records.by_serial
    )
    if node is None:
        return of_operation(tracing, record, inputs)
    kind = ProducerKind(tracing.kind(record))
    name = node.name
    if kind is ProducerKind.CALL and file_read(record, tracing.records):
        kind = ProducerKind.FILE
    elif setting := setting_read(record, node, tracing.records):
        kind, name = ProducerKind.SETTING, setting
    return Producer(
        serial=record.serial,
        place=Place(node.file, node.line, node.end_line if node.end_line != node.line else None),
        span=span_of(node),
        text=node.text,
        kind=kind,
        value=value_of(record, node.text),
        inputs=inputs,
        function=node.function,
        times=tracing.records.counts.get(node.number, 1),
        step=record.step,
        name=name,
        ended=why_ended(tracing, record),
    )


def why_ended(tracing: Tracing, record: Record) -> str:
    """What it came from was noted, and let go since."""
    known = (*record.children, *(serial for serial, _, _ in record.came))
    missing = sum(serial not in tracing.records.by_serial for serial in known)
    if not missing:
        return ""
    return f"{missing:,} of the expressions that it came from were not kept"


def of_setting(tracing: Tracing, record: Record, name: str, inputs: tuple[Input, ...]) -> Producer:
    """A flag stands where it is declared."""
    declared = tracing.records.by_serial.get(inputs[0].serial) if inputs else None
    node = tracing.node(declared) if declared is not None else None
    return Producer(
        serial=record.serial,
        place=Place(node.file, node.line) if node is not None else COMMAND_LINE,
        span=span_of(node) if node is not None else None,
        text=node.text if node is not None else name,
        kind=ProducerKind.SETTING,
        value=value_of(record, name),
        inputs=inputs,
        function=node.function if node is not None else "",
        own=node is not None,
        name=name,
    )


def of_operation(tracing: Tracing, record: Record, inputs: tuple[Input, ...]) -> Producer:
    name, line, inside = record.operation
    if name == SETTING:
        return of_setting(tracing, record, line, inputs)
    at = inside or line
    place = at.place if at is not None else Place("")
    return Producer(
        serial=record.serial,
        place=place,
        span=None,
        text=name,
        kind=ProducerKind.OPERATION,
        value=value_of(record, name),
        inputs=inputs,
        function=at.code.co_qualname if at is not None else "",
        step=record.step,
        own=at is not None and is_own(place.file),
        name=name,
    )


def value_of(record: Record, text: str) -> Value:
    value = record.value
    if value is not GONE:
        try:
            return with_range(describe(value, text), value)
        except Exception:  # noqa: BLE001 - what it was when it was noted is known
            pass
    light = record.light or {}
    return Value(text=text, **{"kind": "", **light})


def with_range(described: Value, value: Any) -> Value:
    """Least and greatest of a list, a range or a column of numbers, too."""
    if type(value) is range:
        numbers: Any = (value[0], value[-1]) if len(value) else ()
    elif type(value) in (list, tuple):
        numbers = flat(value)
    elif type(value).__name__ == "Series":
        numbers = value.tolist() if value.dtype.kind in "iuf" and len(value) <= LOOKED_AT else ()
    else:
        return described
    plain = [number for number in numbers or () if type(number) in (bool, int, float)]
    if not plain or len(plain) != len(numbers):
        return described
    finite = [float(number) for number in plain if number == number and abs(number) != float("inf")]
    return replace(
        described,
        least=min(finite, default=None),
        greatest=max(finite, default=None),
        not_finite=len(plain) - len(finite),
    )


def span_of(node: Node) -> Span:
    return Span(node.line, node.column, node.end_line, node.end_column)


def as_json(shown: ProducerGraph) -> dict[str, Json]:
    """Without what is as it is by default: there are thousands of them."""
    return {
        "producers": [
            {
                **sparse(producer),
                "value": sparse_value(producer.value),
                "inputs": inputs_as_json(producer.inputs),
            }
            for producer in shown.producers
        ],
        "roots": [{**asdict(root), "inputs": inputs_as_json(root.inputs)} for root in shown.roots],
        "records": shown.records,
        "ended": shown.ended,
    }


def inputs_as_json(inputs: tuple[Input, ...]) -> list[Json]:
    return [{"serial": link.serial, "way": str(link.way), "name": link.name} for link in inputs]


def sparse(producer: Producer) -> dict[str, Json]:
    span = asdict(producer.span) if producer.span is not None else None
    plain = ("serial", "text", "function", "times", "step", "own", "name", "ended")
    return {
        **{name: getattr(producer, name) for name in plain},
        "kind": str(producer.kind),
        "place": asdict(producer.place),
        "span": span,
    }


def sparse_value(value: Value) -> dict[str, Json]:
    content_of: dict[str, Json] = {}
    for described in fields(value):
        content = getattr(value, described.name)
        if (
            content is None
            or content == described.default
            or content == {}
            or (described.name == "nones" and not content)
        ):
            continue
        if described.name == "members":
            content = {key: sparse_value(member) for key, member in content.items()}
        elif described.name in ("layer", "made_at"):
            content = asdict(content)
        content_of[described.name] = content
    return content_of
