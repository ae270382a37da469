"""From a value back to the expressions that it came from, over the records of a run."""

import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from surefit.lineage.producers import Input, Way
from surefit.observe.inside.autopsy.values import attributes, is_module, mapping
from surefit.observe.inside.lineage import regions
from surefit.observe.inside.lineage.contents import ContentIndex, rows_of
from surefit.observe.inside.lineage.records import (
    AUGMENTED,
    CREATES,
    GONE,
    SCALARS,
    Record,
    Records,
)
from surefit.observe.inside.lineage.wrapping import Node, nodes

MOST_ELEMENTS = 8
"""Of a comprehension or a batch that are followed."""
DEEPEST = 12
PASSING = ("name", "parameter", "attribute", "subscript")


class Tracing:
    """Finds the inputs of records, when they are asked for."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._contents: ContentIndex | None = None
        self.modules: dict[int, int] | None = None
        self.containers: dict[int, tuple[Any, Any]] = {}
        """Identity of a value in the frames of a crash -> what holds it, and under which key."""

    @property
    def contents(self) -> ContentIndex:
        if self._contents is None:
            self._contents = ContentIndex(self.records)
        return self._contents

    def node(self, record: Record) -> Node | None:
        return nodes[record.node] if record.node >= 0 else None

    def kind(self, record: Record) -> str:
        if record.operation == "mutation":
            return "mutation"
        if record.operation in (CREATES, AUGMENTED):
            return "operator"
        return nodes[record.node].kind if record.node >= 0 else "operation"

    def inputs(self, record: Record) -> list[Input]:
        node = self.node(record)
        if node is None:
            return self.of_operation(record)
        kind = self.kind(record)
        links = [
            Input(serial=serial, way=way, name=name)
            for serial, way, name in record.came
            if way is not Way.ITEM or kind == "mutation"
        ]
        if kind in PASSING:
            links += self.of_passing(record, node, kind)
            return links or self.children(record, node, kind)
        children = self.children(record, node, kind)
        returned = any(way is Way.RETURNED for _, way, _ in record.came)
        if returned and self.is_function(record):
            children = as_control(children)
        if record.operation == CREATES and node.kind == "subscript" and not returned:
            beyond = self.beyond(record, node)
            children = [*beyond, *as_control(children)] if beyond else children
        if kind == "comprehension":
            elements = self.elements(record, node)
            children = [*elements, *(as_control(children) if elements else children)]
        return unique([*links, *children])

    def beyond(self, record: Record, node: Node) -> list[Input]:
        """Of an item of a row that a library gives: what has its content, or stands beside that."""
        holder = self.records.by_serial.get(record.children[0]) if record.children else None
        is_row = holder is not None and mapping(holder.value) is not None
        if holder is None or not is_row or not self.is_from_library(holder):
            return []
        content = self.contents.newest(record.value, record.serial)
        if content:
            return [Input(serial=content, way=Way.CONTENT)]
        return self.sibling(holder.value, node.name or self.key_of(record, node), record.serial)

    def is_from_library(self, record: Record) -> bool:
        """A name or a parameter of what no expression of the user's made, or only an equal one."""
        for _ in range(DEEPEST):
            if self.kind(record) not in PASSING:
                return False
            before = self.inputs(record)
            if not before or before[0].way in (Way.CONTENT, Way.ROW):
                return True
            record = self.records.by_serial.get(before[0].serial, record)
        return False

    def is_function(self, record: Record) -> bool:
        """A call of a function, or of a method; a constructor returns nothing of its own."""
        return self.kind(record) in ("call", "operator")

    def children(self, record: Record, node: Node, kind: str) -> list[Input]:
        roles = dict(node.slots)
        names = self.names_of_parameters(record, node) if kind == "call" else []
        links = []
        for serial in record.children:
            child = self.records.by_serial.get(serial)
            if child is None:
                continue
            role = roles.get(child.node, "")
            if role.isdigit() and int(role) < len(names):
                role = names[int(role)]
            chooses = role in ("test", "key") or (node.kind == "subscript" and role != "object")
            way = Way.CONTROL if chooses else way_of(kind, role)
            links.append(Input(serial=serial, way=way, name=role))
        return links

    def of_passing(self, record: Record, node: Node, kind: str) -> list[Input]:
        """Of a name, a parameter, an attribute, an item: what is not known from the time it ran."""
        value = record.value
        known = [link for link in record.came if link[1] is not Way.ITEM]
        if known:
            return []
        for serial, _, path in (link for link in record.came if link[1] is Way.ITEM):
            item = self.item(serial, path.split("."), value)
            if item is not None:
                return [item]
        if kind == "subscript" and record.children:
            key = node.name or self.key_of(record, node)
            item = self.item(record.children[0], [key], value)
            if item is not None:
                return [item]
        if kind == "attribute" and record.children:
            argument = self.constructor_argument(record.children[-1], node.name, value)
            if argument is not None:
                return [argument]
        located = self.locate(value, record.serial)
        if not located and kind == "subscript" and record.children:
            holder = self.records.by_serial.get(record.children[0])
            key = node.name or self.key_of(record, node)
            if holder is not None and mapping(holder.value) is not None:
                located = self.sibling(holder.value, key, record.serial)
        items = [
            Input(serial=serial, way=way, name=path)
            for serial, way, path in record.came
            if way is Way.ITEM
        ]
        return located or items or self.earlier(record, node)

    def earlier(self, record: Record, node: Node) -> list[Input]:
        """Of what a loop carries on, where not every turn was noted."""
        if record.earlier not in self.records.by_serial or not regions.has_gaps():
            return []
        return [Input(serial=record.earlier, way=Way.EARLIER, name=node.name)]

    def key_of(self, record: Record, node: Node) -> str:
        numbers = [number for number, role in node.slots if role == "key"]
        for serial in record.children:
            child = self.records.by_serial.get(serial)
            if child is not None and child.node in numbers and type(child.value) in (int, str):
                return str(child.value)
        return ""

    def locate(self, value: Any, before: int) -> list[Input]:
        """By identity; else by content; else row by row."""
        if value is GONE or value is None or isinstance(value, int | float):
            return []
        serial = self.same(value, before)
        if serial:
            record = self.records.by_serial[serial]
            if record.node >= 0 or record.came or record.operation[0] != "given":
                return [Input(serial=serial, way=Way.SAME_OBJECT)]
        serial = self.contents.newest(value, before)
        if serial:
            return [Input(serial=serial, way=Way.CONTENT)]
        holder = self.holder(value)
        if holder is not None:
            return [Input(serial=holder, way=Way.ATTRIBUTE)]
        members = self.by_members(value, before)
        if members:
            return [Input(serial=members, way=Way.CONTENT)]
        return self.by_rows(value, before) or self.by_sibling(value, before)

    def by_members(self, value: Any, before: int) -> int:
        """Of a row as a dict: the display that holds an equal value under the same key."""
        for key, inside in (mapping(value) or {}).items():
            serial = self.contents.newest_row(inside, before)
            for holder in self.holders_of(serial) if serial else ():
                roles = dict(nodes[holder.node].slots)
                children = (self.records.by_serial.get(child) for child in holder.children)
                if str(key) in [roles.get(child.node) for child in children if child is not None]:
                    return holder.serial
        return 0

    def by_sibling(self, value: Any, before: int) -> list[Input]:
        container = self.containers.get(id(value))
        return self.sibling(*container, before) if container is not None else []

    def same(self, value: Any, before: int) -> int:
        """The newest that made this very object, before another expression."""
        if isinstance(value, SCALARS):
            return 0
        serial = self.records.newest_of(value)
        met = set()
        while serial >= before and serial not in met:
            met.add(serial)
            record = self.records.by_serial.get(serial)
            ways = (Way.SAME_OBJECT, Way.MUTATED)
            earlier = [link[0] for link in record.came if link[1] in ways] if record else []
            serial = next((number for number in earlier if self.records.is_value(number, value)), 0)
        return serial if serial < before else 0

    def by_rows(self, value: Any, before: int) -> list[Input]:
        links: dict[int, Input] = {}
        for at, row in enumerate(rows_of(value)):
            serial = self.same(row, before) if not hasattr(row, "base") else 0
            serial = serial or self.contents.newest_row(row, before)
            serial = serial or self.by_members(row, before)
            if not serial:
                serial, _ = self.contents.in_rows(row, before)
            if serial and serial not in links:
                links[serial] = Input(serial=serial, way=Way.ROW, name=str(at))
            if len(links) == MOST_ELEMENTS:
                break
        return list(links.values())

    def item(self, serial: int, path: list[str], value: Any) -> Input | None:
        """The expression that was put under these keys into a container, one inside another."""
        current, name = serial, ""
        for key in path:
            step = self.one_item(current, key, value if key == path[-1] else GONE)
            if step is None:
                return None
            current, name = step, key
        record = self.records.by_serial.get(current)
        if record is None or (record.value is not value and not same_number(record.value, value)):
            return None
        return Input(serial=current, way=Way.ITEM, name=name)

    def one_item(self, serial: int, key: str, value: Any) -> int | None:
        for record in self.back(serial):
            item = self.item_of(record, key, value)
            if item is not None:
                return item
        return None

    def back(self, serial: int) -> Iterator[Record]:
        """A container as it is passed on: its name, its parameter, what a function returned."""
        waiting, met = [serial], set[int]()
        while waiting and len(met) < DEEPEST * 4:
            current = waiting.pop(0)
            if current in met:
                continue
            met.add(current)
            record = self.records.by_serial.get(current)
            if record is None:
                continue
            yield record
            waiting += [before for before, way, _ in record.came if way is not Way.ITEM]
            kind = self.kind(record)
            if kind == "call":
                waiting += record.children if self.is_through(record) else ()
            elif kind in PASSING:
                links = self.of_passing(record, nodes[record.node], kind)
                waiting += [link.serial for link in links if link.way is not Way.EARLIER]

    def is_through(self, record: Record) -> bool:
        """`list(x)`, `enumerate(x)`, `zip(x, y)`, `x.items()`: items go through as they are."""
        word = nodes[record.node].name.rpartition(".")[2]
        return word in ("list", "tuple", "iter", "reversed", "sorted", "dict", "copy", "set")

    def item_of(self, record: Record, key: str, value: Any) -> int | None:
        kind, node = self.kind(record), self.node(record)
        if node is None:
            return None
        if kind == "mutation":
            for serial, way, name in record.came:
                if way is Way.ITEM and (name == key or self.records.is_value(serial, value)):
                    return serial
            return next((child for child in record.children if self.has(child, value)), None)
        if kind == "call":
            return self.item_of_call(record, node, key, value)
        if kind not in ("display", "comprehension", "parameter"):
            return None
        if kind == "parameter":
            named = [serial for serial, way, name in record.came if name == key]
            return named[0] if named and named[0] != record.serial else None
        roles = dict(node.slots)
        children = [
            self.records.by_serial[serial]
            for serial in record.children
            if serial in self.records.by_serial
        ]
        if kind == "display":
            exact = self.by_key(children, roles, key, record.value)
            if exact is not None:
                return exact
            return next((child.serial for child in children if self.has(child.serial, value)), None)
        elements = self.element_serials(record, node)
        complete = not node.filtered and self.is_complete(record, elements)
        if complete and key.isdigit() and int(key) < len(elements):
            return elements[int(key)]
        return next((element for element in reversed(elements) if self.has(element, value)), None)

    def item_of_call(self, record: Record, node: Node, key: str, value: Any) -> int | None:
        """`zip(a, b)` and `enumerate(a)` by position; `dict(labels=x)` by name."""
        roles = dict(node.slots)
        children = [
            self.records.by_serial[serial]
            for serial in record.children
            if serial in self.records.by_serial
        ]
        word = node.name.rpartition(".")[2]
        if word in ("zip", "enumerate") and value is not GONE:
            for child in children:
                for held in self.back(child.serial):
                    item = self.item_of(held, "", value)
                    if item is not None:
                        return item
        if word == "dict":
            return next((child.serial for child in children if roles.get(child.node) == key), None)
        return None

    def by_key(
        self, children: list[Record], roles: dict[int, str], key: str, container: Any
    ) -> int | None:
        if key.startswith("-") and type(container) in (list, tuple):
            key = str(len(container) + int(key)) if key[1:].isdigit() else key
        return next((child.serial for child in children if roles.get(child.node) == key), None)

    def has(self, serial: int, value: Any) -> bool:
        return value is not GONE and self.records.is_value(serial, value)

    def elements(self, record: Record, node: Node) -> list[Input]:
        serials = self.element_serials(record, node)
        return [Input(serial=serial, way=Way.ITEM) for serial in self.telling(serials)]

    def number(self, serial: int) -> int:
        record = self.records.by_serial.get(serial)
        return record.node if record is not None else -1

    def value(self, serial: int) -> Any:
        record = self.records.by_serial.get(serial)
        return record.value if record is not None else GONE

    def element_serials(self, record: Record, node: Node) -> list[int]:
        """What a comprehension put in, in order."""
        iterated = [child for child in record.children if self.number(child) not in node.elements]
        began = max(iterated, default=0)
        number = node.elements[-1] if node.elements else -1
        every = self.records.of_node.get(number, [])
        return [
            serial
            for serial in every
            if began < serial < record.serial and serial in self.records.by_serial
        ]

    def is_complete(self, record: Record, elements: list[int]) -> bool:
        """No element of a comprehension was left out."""
        if type(record.value) in (list, dict):
            return len(record.value) == len(elements)
        return not regions.has_gaps()

    def constructor_argument(self, serial: int, name: str, value: Any) -> Input | None:
        """An attribute that the constructor of an object was given."""
        holder = self.records.by_serial.get(serial)
        maker = self.maker(holder) if holder is not None else None
        if maker is None:
            return None
        for role, child in self.arguments(maker).items():
            record = self.records.by_serial[child]
            if role == name and (record.value is value or same_number(record.value, value)):
                return Input(serial=child, way=Way.ATTRIBUTE, name=name)
        return None

    def maker(self, holder: Record) -> Record | None:
        """The call that constructed an object."""
        serial = self.same(holder.value, sys.maxsize) if holder.value is not GONE else 0
        met: set[int] = set()
        while serial and serial not in met:
            met.add(serial)
            record = self.records.by_serial.get(serial)
            if record is None:
                return None
            if self.kind(record) == "call" and record.operation is None:
                return record
            ways = (Way.SAME_OBJECT, Way.MUTATED)
            serial = next((before for before, way, _ in record.came if way in ways), 0)
        return None

    def arguments(self, call: Record) -> dict[str, int]:
        """Arguments of a call by the names of the parameters that they go to."""
        children = self.children(call, nodes[call.node], "call")
        unnamed = ("", "self", "func", "*", "**")
        return {link.name: link.serial for link in children if link.name not in unnamed}

    def names_of_parameters(self, call: Record, node: Node) -> list[str]:
        """Of a constructor."""
        kind = type(call.value)
        constructs = node.name.rpartition(".")[2] == kind.__name__
        return parameter_names(kind) if constructs and call.value is not GONE else []

    def holder(self, value: Any) -> int | None:
        """Of a parameter or a buffer: the call that made the module which holds it."""
        if self.modules is None:
            self.modules = {}
            for record in list(self.records.by_serial.values()):
                if record.node >= 0 and is_module(record.value):
                    self.index_module(record.value)
        return self.modules.get(id(value))

    def index_module(self, module: Any) -> None:
        assert self.modules is not None
        waiting, met = [module], set()
        serial = 0
        while waiting:
            inner = waiting.pop()
            if id(inner) in met:
                continue
            met.add(id(inner))
            maker = self.records.newest_of(inner)
            serial = maker or serial
            held = attributes(inner)
            for table in ("_parameters", "_buffers"):
                for tensor in list(held.get(table, {}).values()):
                    if tensor is not None and serial and (maker or id(tensor) not in self.modules):
                        self.modules[id(tensor)] = serial
            waiting += [
                module for module in held.get("_modules", {}).values() if module is not None
            ]

    def of_operation(self, record: Record) -> list[Input]:
        links = [Input(serial=serial, way=way, name=name) for serial, way, name in record.came]
        if links:
            return links
        serial = record.serial
        value = record.value
        if value is GONE:
            return []
        content = self.contents.newest(value, serial)
        if content:
            return [Input(serial=content, way=Way.CONTENT)]
        holder = self.holder(value)
        if holder is not None:
            return [Input(serial=holder, way=Way.ATTRIBUTE)]
        return self.by_rows(value, serial) or self.by_sibling(value, serial)

    def sibling(self, holder: Any, key: Any, before: int) -> list[Input]:
        """What stands beside a value that is known by its content, under a key: `labels` beside
        the `input_ids` of a row."""
        links: dict[int, Input] = {}
        for other, value in members_of(holder):
            if other == key:
                continue
            for row in [value, *rows_of(value)]:
                serial = self.contents.newest_row(row, before)
                beside = self.beside(serial, str(other), str(key)) if serial else None
                if beside is not None:
                    links[beside] = Input(serial=beside, way=Way.SIBLING, name=str(key))
            if links:
                break
        return [links[serial] for serial in self.telling(list(links))]

    def telling(self, serials: list[int]) -> list[int]:
        """A few of many: the first, the last, and those with the least and greatest number."""
        chosen = [*serials[: MOST_ELEMENTS // 2], *serials[-MOST_ELEMENTS // 2 :]]
        numbers = [serial for serial in serials if type(self.value(serial)) in (int, float)]
        if numbers:
            chosen += [min(numbers, key=self.value), max(numbers, key=self.value)]
        return list(dict.fromkeys(chosen))

    def beside(self, serial: int, other: str, key: str) -> int | None:
        """In the display or call that holds an expression under one key: that under another."""
        for holder in self.holders_of(serial):
            node = nodes[holder.node]
            roles = dict(node.slots)
            children = [
                self.records.by_serial[serial]
                for serial in holder.children
                if serial in self.records.by_serial
            ]
            by_role = {roles.get(child.node, ""): child.serial for child in children}
            if key in by_role and other in by_role:
                return by_role[key]
        return None

    def holders_of(self, serial: int) -> Iterator[Record]:
        """Displays and calls that an expression, or the name that it was bound to, is part of."""
        if self._parents is None:
            self._parents = {}
            for record in self.records.by_serial.values():
                if record.node >= 0 and self.kind(record) in (
                    "display",
                    "call",
                    "name",
                    "parameter",
                    "mutation",
                ):
                    for child in (*record.children, *(link[0] for link in record.came)):
                        self._parents.setdefault(child, []).append(record.serial)
        waiting, met = [serial], set[int]()
        while waiting and len(met) < 200:
            current = waiting.pop(0)
            if current in met:
                continue
            met.add(current)
            for parent in self._parents.get(current, ()):
                record = self.records.by_serial[parent]
                if self.kind(record) in ("display", "call"):
                    yield record
                if self.kind(record) != "call" or any(
                    way is Way.RETURNED for _, way, _ in record.came
                ):
                    waiting.append(parent)

    _parents: dict[int, list[int]] | None = None


def way_of(kind: str, role: str) -> Way:
    if kind == "call":
        return Way.OPERAND if role in ("func", "self", "") else Way.ARGUMENT
    if kind in ("display", "mutation"):
        return Way.ITEM
    return Way.OPERAND


def as_control(links: list[Input]) -> list[Input]:
    return [replace(link, way=Way.CONTROL) for link in links]


def same_number(first: Any, second: Any) -> bool:
    plain = (bool, int, float, str)
    return type(first) in plain and type(first) is type(second) and bool(first == second)


def members_of(holder: Any) -> Iterator[tuple[Any, Any]]:
    inside = mapping(holder)
    if inside is not None:
        yield from inside.items()
    elif type(holder) in (list, tuple):
        yield from enumerate(holder)


def parameter_names(kind: type) -> list[str]:
    try:
        names = list(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        return []
    return names


def unique(links: list[Input]) -> list[Input]:
    return list({link.serial: link for link in reversed(links)}.values())[::-1]


def file_read(record: Record, records: Records) -> bool:
    """A call that was given the name of a file that exists."""
    for serial in record.children:
        child = records.by_serial.get(serial)
        value = child.value if child is not None else None
        if type(value) is str or type(value).__module__.startswith("pathlib"):
            try:
                if os.path.isfile(value):  # type: ignore[arg-type]
                    return True
            except (OSError, ValueError):
                continue
    return False
