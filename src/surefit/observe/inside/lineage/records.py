"""Expressions of the user's as they are evaluated: each with its value and what it came from."""

import builtins
import gc
import itertools
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable
from types import CodeType, FrameType, MethodType, ModuleType
from typing import Any

from surefit.lineage.producers import Way
from surefit.observe.inside import spool
from surefit.observe.inside.lineage import regions, wrapping
from surefit.observe.inside.lineage.wrapping import (
    Binding,
    Node,
    Target,
    bindings,
    functions,
    nodes,
)

FIRST = 2_000
"""Evaluations of one expression that are kept; of later ones the last LAST and every fiftieth."""
LAST = 500
EVERY = 50
MOST_IN_DETAIL = 20_000
"""Of one expression; of those beyond it only every fiftieth is noted at all."""
MOST_OPERATIONS = 200_000
BYTES = 512 << 20
LARGE = 1 << 20
"""Bytes of a tensor or an array that is only referred to weakly."""
MOST_OF_A_TABLE = 256 << 20
MOST_CONTAINERS = 48
"""Of large tensors, or of tensors with graphs: of these the last ones are held."""
MOST_CALLBACKS = 16
ONLY_CHOOSE = ("sorted", "filter", "min", "max", "sort", "any", "all", "groupby", "argsort")
"""Calls that choose or order by what a function of the user's returns, and give none of it."""
STEPS_BEFORE = 1
"""Noted in full before the step that is asked about: what it carries on was made there."""
MOST_FRAMES = 60
"""Between a function of the user's and the frame of the user's whose call led to it."""

FEW_COLLECTIONS = 10_000
"""Objects between two collections of garbage: records are many, and none of them is any."""

SCALARS = (bool, int, float, complex, str, bytes, type(None))
PASSED_OVER = frozenset(
    {
        type(len),
        type([].append),
        type(lambda: None),
        type,
        ModuleType,
        type(Ellipsis),
        type("".join),
        MethodType,
        super,
        weakref.ref,
    }
)
"""Types whose values nobody asks about; a class with a metaclass is no exception to the rest."""
ROWS = ("LazyRow", "LazyBatch", "BatchEncoding", "BatchFeature")
"""Classes of libraries that hold a row or a batch, and that nobody keeps for long."""
CREATED = frozenset({"call", "operator", "display", "comprehension", "mutation", "operation"})
"""Kinds that make a value or change it; the others pass one on."""
INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

Came = tuple[int, Way, str]


CREATES = "creates"
"""Of an attribute or a subscript that makes a value and does not only read one."""


AUGMENTED = "augmented"
"""Of the new value of `x.total += y`; the same statement changes `x`, too."""


class NotKept:
    """In the place of a value that was not kept, or of one that is unknown."""


GONE = NotKept()


class Record:
    """One evaluation."""

    __slots__ = (
        "came",
        "children",
        "earlier",
        "held",
        "identity",
        "light",
        "node",
        "operation",
        "serial",
        "size",
        "step",
        "times",
    )

    def __init__(self, serial: int, node: int, value: Any, step: int, times: int) -> None:
        self.serial = serial
        self.node = node
        self.step = step
        self.times = times
        self.identity = id(value)
        self.children: tuple[int, ...] = ()
        self.came: tuple[Came, ...] = ()
        self.earlier = 0
        """What the name, the attribute or the parameter was last noted with, if that is another
        value: turns of a loop between may not have been noted."""
        self.light: dict[str, Any] | None = None
        self.operation: Any = None
        """Of what no expression of the user's did: its name and line."""
        self.size = 0
        """Bytes that are counted for it."""
        self.held: Any = GONE

    @property
    def value(self) -> Any:
        """GONE where it is not known any more."""
        held = self.held
        if type(held) is weakref.ref:
            held = held()
            return GONE if held is None else held
        return held


class FrameState:
    """What is under way in one frame."""

    __slots__ = (
        "callbacks",
        "code",
        "counters",
        "held",
        "last",
        "names",
        "pending",
        "returned",
        "sources",
    )

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.pending: list[Record] = []
        self.names: dict[str, int] = {}
        self.sources: dict[int, int] = {}
        """Binding -> serial of the value that it takes."""
        self.counters: dict[int, int] = {}
        self.held: Any = GONE
        """The object of an `x.total += y` that is under way."""
        self.callbacks: dict[int, int] = {}
        """What functions of the user's returned to a library during a call: the last of each."""
        self.last: Record | None = None
        self.returned: Record | None = None


class Records:
    """All evaluations of this process, within a budget."""

    def __init__(self) -> None:
        self.serials = itertools.count(1)
        self.by_serial: dict[int, Record] = {}
        self.newest: dict[int, int] = {}
        """Identity -> serial of the newest expression that made the object or changed it."""
        self.states: dict[int, FrameState] = {}
        self.shared: dict[tuple[int, str], int] = {}
        self.sources: dict[int, int] = {}
        self.began: dict[int, int] = {}
        """Loop -> turns of it that had been left out when it began."""
        self.attributes: dict[tuple[int, str], tuple[int, int]] = {}
        """Identity and name -> serials of the storing, and of what was stored."""
        self.of_node: dict[int, list[int]] = {}
        self.recent: dict[int, deque[int]] = {}
        self.counts: dict[int, int] = {}
        self.operations: deque[int] = deque()
        self.bytes = 0
        self.budget = BYTES
        self.sizes: deque[int] = deque()
        self.passing: deque[Record] = deque()
        """Containers of large tensors, or of tensors with graphs."""
        self.let_go = 0
        """Values that were not kept for want of memory."""
        self.left_out = 0
        self.settings: dict[str, int] = {}
        """Name -> serial of the flag of the command line."""
        self.of_classes: dict[str, int] = {}
        """Name -> serial of what it was bound to in the body of a class."""
        self.wanted: dict[int, Callable[[int], None]] = {}
        """Expressions whose next evaluation is waited for."""
        self.wrapped: Callable[[str], None] = lambda _file: None
        """Called when a module has been wrapped."""
        self.step = 0
        self.everything = False
        self.active = True
        self.total = 0
        self.torch: Any = None
        self.positions: dict[int, tuple[CodeType, list[Any]]] = {}

    # Called by the user's code

    def note(self, number: int, value: Any, frame: FrameType) -> None:
        kind = type(value)
        node = nodes[number]
        state = self.states.get(id(frame))
        if state is None:
            state = self.states[id(frame)] = FrameState(frame.f_code)
        if kind in PASSED_OVER or issubclass(kind, type):
            if node.targets:
                self.unbind(state, node.targets)
            return
        times = self.counts[number] = self.counts.get(number, 0) + 1
        if times > MOST_IN_DETAIL and times % EVERY and not self.everything:
            self.left_out += 1
            if node.targets:
                self.unbind(state, node.targets)
            if node.top:
                state.pending.clear()
                state.last = None
            return
        record = self.add(number, value, times)
        pending, first = state.pending, node.first
        if pending and first <= pending[-1].node < number:
            at = len(pending)
            while at and first <= pending[at - 1].node < number:
                at -= 1
            record.children = tuple({child.node: child.serial for child in pending[at:]}.values())
            del pending[at:]
        self.link(record, node, value, state)
        if node.top:
            pending.clear()
            state.callbacks.clear()
            state.last = record
        else:
            pending.append(record)
        if node.targets:
            for target in node.targets:
                self.bind(state, target, record.serial)
        if node.source_of >= 0:
            state.sources[node.source_of] = self.sources[node.source_of] = record.serial
            state.counters[node.source_of] = -1
            region = bindings[node.source_of].region
            if region is not None:
                self.began[node.source_of] = region.skipped()
        if node.returns:
            self.hand_back(record, frame)
        if self.wanted and number in self.wanted:
            self.wanted[number](record.serial)

    def link(self, record: Record, node: Node, value: Any, state: FrameState) -> None:
        """Where the value of an expression came from, as far as that is known now."""
        if node.kind == "name":
            serial = state.names.get(node.key) if node.local else self.shared.get(node.shared)
            if serial is not None and self.is_value(serial, value):
                record.came = ((serial, Way.BINDING, node.name),)
            elif serial is not None:
                record.earlier = serial
        elif node.kind == "attribute":
            self.of_attribute(record, node, value)
        elif node.kind == "subscript":
            self.of_subscript(record, node, value, state)
        elif node.kind == "call":
            returned, state.returned = state.returned, None
            callbacks, state.callbacks = state.callbacks, {}
            if returned is not None and returned.value is value:
                record.came = ((returned.serial, Way.RETURNED, ""),)
            elif callbacks and node.name.rpartition(".")[2] not in ONLY_CHOOSE:
                record.came = tuple((serial, Way.CALLBACK, "") for serial in callbacks.values())
            if node.mutates:
                self.mutated(record, node)
        if node.kind in CREATED:
            self.created(record, value)
        elif record.came:
            self.changed_since(record, value)

    def changed_since(self, record: Record, value: Any) -> None:
        """What a name was bound to has been changed in place after that."""
        if not isinstance(value, SCALARS):
            newest = self.newest_of(value)
            if newest > record.came[0][0]:
                record.came += ((newest, Way.MUTATED, ""),)

    def created(self, record: Record, value: Any) -> None:
        """It is the newest that made this object; an earlier one is linked to."""
        if isinstance(value, SCALARS):
            return
        before = self.newest_of(value)
        known = {serial for serial, _, _ in record.came}
        if before and before not in known and before not in record.children:
            record.came += ((before, Way.SAME_OBJECT, ""),)
        self.newest[id(value)] = record.serial

    def of_attribute(self, record: Record, node: Node, value: Any) -> None:
        """What was assigned to it; or what a property makes, which is no attribute."""
        of_class = self.of_classes.get(node.name, 0)
        if of_class and self.is_value(of_class, value):
            record.came = ((of_class, Way.ATTRIBUTE, node.name),)
        holder = self.by_serial.get(record.children[-1]) if record.children else None
        if holder is None:
            return
        stored = self.attributes.get((holder.identity, node.name))
        known = stored is not None and self.is_value(stored[0], holder.value)
        if stored is not None and known and self.is_value(stored[1], value):
            record.came = ((stored[1], Way.ATTRIBUTE, node.name),)
            return
        new = not record.came and not isinstance(value, SCALARS)
        if new and not is_stored(holder.value, node.name, value):
            record.operation = CREATES
            self.created(record, value)
        elif stored is not None and known:
            record.earlier = stored[1]

    def of_subscript(self, record: Record, node: Node, value: Any, state: FrameState) -> None:
        """An item of a list or a dict; or what a class makes of an index."""
        returned, state.returned = state.returned, None
        state.callbacks.clear()
        if returned is not None and returned.value is value:
            record.came = ((returned.serial, Way.RETURNED, ""),)
        holder = self.by_serial.get(record.children[0]) if record.children else None
        plain = holder is not None and type(holder.value) in (list, tuple, dict)
        if node.sliced or not (plain or isinstance(getattr(holder, "value", None), dict)):
            record.operation = CREATES
            self.created(record, value)

    def mutated(self, record: Record, node: Node) -> None:
        """`rows.append(row)`: the call is a producer of `rows`."""
        changed = next((number for number, role in node.slots if role == node.mutates), None)
        children = [
            self.by_serial[serial] for serial in record.children if serial in self.by_serial
        ]
        holder = next((child for child in children if child.node == changed), None)
        if holder is None or holder.value is GONE or isinstance(holder.value, SCALARS):
            return
        value = holder.value
        change = self.add(record.node, value, record.times)
        change.operation = "mutation"
        change.children = tuple(child.serial for child in children if child is not holder)
        before = self.newest_of(value) or holder.serial
        change.came = ((before, Way.MUTATED, ""),)
        self.newest[id(value)] = change.serial

    def enter(self, number: int, values: tuple[Any, ...], frame: FrameType) -> None:
        function = functions[number]
        state = self.states[id(frame)] = FrameState(frame.f_code)
        if not function.parameters:
            return
        arguments, direct = self.arguments_of(frame)
        for target, value in zip(function.parameters, values, strict=True):
            times = self.counts[target.node] = self.counts.get(target.node, 0) + 1
            if times > MOST_IN_DETAIL and times % EVERY and not self.everything:
                continue
            record = self.add(target.node, value, times)
            name = target.shared[1]
            record.came = self.argument(arguments, direct, name, value, function, number)
            if not record.came:
                record.earlier = self.shared.get(target.shared, 0)
            self.bind(state, target, record.serial)

    def argument(
        self,
        arguments: list[tuple[str, Record]],
        direct: bool,
        name: str,
        value: Any,
        function: wrapping.WrappedFunction,
        number: int,
    ) -> tuple[Came, ...]:
        """The caller's expression for a parameter; what was found is taken out."""
        if name in (function.starred, function.double_starred):
            return tuple((argument.serial, Way.ARGUMENT, role) for role, argument in arguments)
        scalar = isinstance(value, SCALARS)
        for at, (role, argument) in enumerate(arguments):
            by_name = role == name
            in_order = not scalar or (direct and (role.isdigit() or role == "self"))
            if (by_name or in_order) and argument.value is value:
                del arguments[at]
                return ((argument.serial, Way.ARGUMENT, name),)
        default = self.shared.get((-1, f"{name}={number}"))
        if default is not None and self.is_value(default, value):
            return ((default, Way.DEFAULT, name),)
        return ()

    def arguments_of(self, frame: FrameType) -> tuple[list[tuple[str, Record]], bool]:
        """What the call that led here was given, by role; whether it is the user's own call."""
        caller, state, hops = self.caller(frame)
        if caller is None or state is None:
            return [], False
        number = self.call_under_way(caller)
        if number is None:
            return [], False
        roles = dict(nodes[number].slots)
        return [
            (roles[record.node], record) for record in state.pending if record.node in roles
        ], hops == 0

    def caller(self, frame: FrameType) -> tuple[FrameType | None, FrameState | None, int]:
        back, hops = frame.f_back, 0
        while back is not None and hops < MOST_FRAMES:
            state = self.states.get(id(back))
            if state is not None and state.code is back.f_code:
                return back, state, hops
            back, hops = back.f_back, hops + 1
        return None, None, hops

    def call_under_way(self, frame: FrameType) -> int | None:
        code = frame.f_code
        known = self.positions.get(id(code))
        if known is None or known[0] is not code:
            known = self.positions[id(code)] = code, list(code.co_positions())
        at = frame.f_lasti // 2
        if at >= len(known[1]):
            return None
        _, end_line, _, end_column = known[1][at]
        return wrapping.calls.get(code.co_filename, {}).get((end_line, end_column))

    def hand_back(self, record: Record, frame: FrameType) -> None:
        _, state, hops = self.caller(frame)
        if state is not None:
            state.returned = record
            if hops and len(state.callbacks) < MOST_CALLBACKS:
                state.callbacks[record.node] = record.serial

    def bound(self, number: int, values: tuple[Any, ...], frame: FrameType) -> None:
        """Names have got parts of a value: in a loop, by unpacking, in a `with`."""
        binding = bindings[number]
        state = self.states.get(id(frame))
        inner = binding.kind == "comprehension" and frame.f_code.co_name in INNER
        if state is None or (inner and state.code is not frame.f_code):
            state = self.states[id(frame)] = FrameState(frame.f_code)
        if inner:
            state.pending.clear()
        source = state.sources.get(number) or self.sources.get(number, 0)
        looping = binding.kind in ("loop", "comprehension")
        index = state.counters[number] = state.counters.get(number, -1) + 1
        if binding.region is not None:
            index += binding.region.skipped() - self.began.get(number, 0)
        returned = state.returned if looping else None
        for target, value in zip(binding.targets, values, strict=True):
            times = self.counts[target.node] = self.counts.get(target.node, 0) + 1
            if times > MOST_IN_DETAIL and times % EVERY and not self.everything:
                self.unbind(state, (target,))
                continue
            record = self.add(target.node, value, times)
            path = (str(index), *target.path) if looping else target.path
            if returned is not None and not target.path and returned.value is value:
                record.came = ((returned.serial, Way.RETURNED, ""),)
            elif returned is not None and target.path:
                record.came = ((returned.serial, Way.ITEM, ".".join(target.path)),)
            elif source and source in self.by_serial:
                way = Way.ITEM if path else Way.BINDING
                record.came = ((source, way, ".".join(path)),)
            self.bind(state, target, record.serial)
        if looping:
            state.returned = None
            state.callbacks.clear()

    def hold(self, number: int, holder: Any, frame: FrameType) -> None:
        """An object is about to get an attribute or an item."""
        binding = bindings[number]
        state = self.states.get(id(frame))
        if state is None:
            return
        if binding.augmented:
            state.held = holder
        else:
            self.stored(binding, holder, state)

    def stored(self, binding: Binding, holder: Any, state: FrameState) -> None:
        times = self.counts[binding.node] = self.counts.get(binding.node, 0) + 1
        serial = state.sources.pop(binding.number, 0)
        if times > MOST_IN_DETAIL and times % EVERY and not self.everything:
            return
        record = self.add(binding.node, holder, times)
        before = self.newest_of(holder)
        if serial:
            way = Way.ATTRIBUTE if binding.kind == "attribute" else Way.ITEM
            record.came = ((serial, way, binding.name),)
            if binding.kind == "attribute":
                self.attributes[id(holder), binding.name] = record.serial, serial
        if before:
            record.came += ((before, Way.MUTATED, ""),)
        if not isinstance(holder, SCALARS):
            self.newest[id(holder)] = record.serial

    def assign(self, holder: Any, name: str, serial: int) -> None:
        """An attribute got a value outside of the user's source."""
        record = self.add(-1, holder, 1)
        record.operation = "given", None, None
        self.attributes[id(holder), name] = record.serial, serial

    def augmented(self, number: int, value: Any, frame: FrameType) -> None:
        """`x += y` has run."""
        binding = bindings[number]
        state = self.states.get(id(frame))
        if state is None:
            return
        if binding.kind != "name":
            holder, state.held = state.held, GONE
            if holder is not GONE:
                self.augment(binding, holder, state)
                self.stored(binding, holder, state)
            return
        target = binding.targets[0]
        added = state.sources.pop(number, 0)
        before = state.names.get(target.key) or self.shared.get(target.shared, 0)
        times = self.counts[binding.node] = self.counts.get(binding.node, 0) + 1
        if times > MOST_IN_DETAIL and times % EVERY and not self.everything:
            self.unbind(state, (target,))
            return
        record = self.add(binding.node, value, times)
        came = ((before, Way.OPERAND, target.shared[1]), (added, Way.OPERAND, ""))
        record.came = tuple(link for link in came if link[0])
        self.created(record, value)
        self.bind(state, target, record.serial)

    def stepped(self, steps: int, asked: Collection[int]) -> None:
        """Of a step that is asked about everything is noted."""
        self.step = steps
        self.everything = any(0 < step - STEPS_BEFORE <= steps <= step for step in asked)
        if self.everything and not regions.everything:
            self.forget_left_out(sys._getframe(1))
        regions.note_everything(self.everything)

    def forget_left_out(self, frame: FrameType | None) -> None:
        """A call that was not noted may have the frame of an earlier one that was."""
        while frame is not None:
            if id(frame) in self.states and regions.is_left_out(frame):
                del self.states[id(frame)]
            frame = frame.f_back

    def augment(self, binding: Binding, holder: Any, state: FrameState) -> None:
        """`x.total += y`: what is stored now came from what was stored before, and from `y`."""
        value = member(holder, binding.kind, binding.name)
        if value is GONE:
            return
        known = self.attributes.get((id(holder), binding.name), (0, 0))[1]
        earlier = known or self.newest_of(value)
        added = state.sources.get(binding.number, 0)
        record = self.add(binding.node, value, 1)
        record.operation = AUGMENTED
        came = ((earlier, Way.OPERAND, binding.name), (added, Way.OPERAND, ""))
        record.came = tuple(link for link in came if link[0])
        self.created(record, value)
        state.sources[binding.number] = record.serial

    # Tables

    def add(self, number: int, value: Any, times: int) -> Record:
        record = Record(next(self.serials), number, value, self.step, times)
        self.total += 1
        self.keep(record, value)
        self.by_serial[record.serial] = record
        if number >= 0:
            self.of_node.setdefault(number, []).append(record.serial)
            if times > FIRST and not self.everything:
                self.make_room(number, record)
        return record

    def make_room(self, number: int, record: Record) -> None:
        recent = self.recent.setdefault(number, deque())
        recent.append(record.serial)
        if len(recent) > LAST:
            old = recent.popleft()
            oldest = self.by_serial.get(old)
            if oldest is not None and oldest.times % EVERY:
                self.forget(oldest)

    def forget(self, record: Record) -> None:
        del self.by_serial[record.serial]
        self.bytes -= record.size
        if self.newest.get(record.identity) == record.serial:
            del self.newest[record.identity]

    def keep(self, record: Record, value: Any) -> None:
        """Holds what holds data, within the budget; refers weakly to what is more than that."""
        if isinstance(value, SCALARS):
            record.held = value
            return
        size = self.size_of(record, value)
        if size is not None and holds_tensors(value):
            record.held = value
            self.hold_for_a_while(record)
            return
        if size is not None and size <= LARGE:
            record.held = value
            if record.identity not in self.newest:
                self.bytes += size
                record.size = size
                self.sizes.append(record.serial)
                if self.bytes > self.budget:
                    self.let_some_go()
            return
        try:
            record.held = weakref.ref(value)
        except TypeError:
            record.held = value

    def hold_for_a_while(self, record: Record) -> None:
        """A container cannot be referred to weakly, and keeps graphs of tensors alive."""
        self.passing.append(record)
        if len(self.passing) > MOST_CONTAINERS:
            old = self.passing.popleft()
            if self.newest.get(old.identity) == old.serial:
                del self.newest[old.identity]
            old.held = GONE

    def let_some_go(self) -> None:
        while self.bytes > 0.9 * self.budget and self.sizes:
            serial = self.sizes.popleft()
            old = self.by_serial.get(serial)
            if old is not None:
                self.bytes -= old.size
                old.size = 0
                if self.newest.get(old.identity) == serial:
                    del self.newest[old.identity]
                old.held = GONE
                self.let_go += 1

    def size_of(self, record: Record, value: Any) -> int | None:
        """Bytes; None for what is only referred to weakly: tensors of a graph, other objects."""
        kind = type(value)
        if kind in (list, tuple, dict, set, frozenset, range, slice):
            return sys.getsizeof(value)
        module = kind.__module__
        if module == "numpy":
            return int(getattr(value, "nbytes", 64)) if kind.__name__ != "memmap" else None
        if module == "torch" or module.startswith("torch.nn.parameter"):
            return self.size_of_tensor(record, value)
        if module.startswith("pandas") and kind.__name__ in ("Series", "DataFrame", "Index"):
            return int(getattr(value, "size", 0)) * 8
        if isinstance(value, dict | list | tuple) or kind.__name__ in ROWS:
            return sys.getsizeof(value)
        if module.startswith("datasets.") and kind.__name__ == "Dataset":
            return size_of_table(value)
        return None

    def size_of_tensor(self, record: Record, value: Any) -> int | None:
        torch = self.torch or sys.modules.get("torch")
        if torch is None or not isinstance(value, torch.Tensor):
            return None
        with torch._C.DisableTorchFunction():
            record.light = {
                "kind": type(value).__name__,
                "shape": tuple(int(size) for size in value.shape),
                "dtype": str(value.dtype).removeprefix("torch."),
                "device": str(value.device),
                "requires_grad": bool(value.requires_grad),
                "contiguous": bool(value.is_contiguous())
                if value.layout is torch.strided
                else None,
            }
            if value.grad_fn is not None or value.is_meta:
                return None
            return int(value.numel() * value.element_size())

    def is_value(self, serial: int, value: Any) -> bool:
        record = self.by_serial.get(serial)
        return record is not None and record.value is value

    def newest_of(self, value: Any) -> int:
        """Serial of the newest expression that made this object; 0 where none is known."""
        serial = self.newest.get(id(value), 0)
        return serial if serial and self.is_value(serial, value) else 0

    def bind(self, state: FrameState, target: Target, serial: int) -> None:
        if target.key:
            state.names[target.key] = serial
        if target.in_class:
            self.of_classes[target.shared[1]] = serial
        self.shared[target.shared] = serial

    def unbind(self, state: FrameState, targets: Iterable[Target]) -> None:
        for target in targets:
            state.names.pop(target.key, None)
            self.shared.pop(target.shared, None)

    # Operations on tensors, told by the recorder of operations

    def operation(self, name: str, line: Any, inside: Any, ins: list[Any], out: Any) -> None:
        """Inside a library; what the user's own lines do is noted as their expressions."""
        came = []
        for taken in ins:
            serial = self.newest_of(taken) or self.unknown_tensor(taken).serial
            came.append((serial, Way.OPERATION, ""))
        record = self.add(-1, out, 1)
        record.operation = name, line, inside
        record.came = tuple(came)
        self.newest[id(out)] = record.serial
        self.operations.append(record.serial)
        if len(self.operations) > MOST_OPERATIONS:
            old = self.by_serial.get(self.operations.popleft())
            if old is not None:
                self.forget(old)

    def unknown_tensor(self, tensor: Any) -> Record:
        """A tensor that neither the user nor a recorded operation made."""
        record = self.add(-1, tensor, 1)
        record.operation = "given", None, None
        self.newest[id(tensor)] = record.serial
        return record


def holds_tensors(value: Any) -> bool:
    """A short list, tuple or dict of tensors that are large or have a graph."""
    if type(value) in (list, tuple):
        inside = value[:8]
    elif isinstance(value, dict):
        inside = list(itertools.islice(dict.values(value), 8))
    else:
        return False
    return any(is_heavy(item) for item in inside if type(item).__module__ == "torch")


def is_heavy(value: Any) -> bool:
    torch = sys.modules["torch"]
    if not isinstance(value, torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():
        return value.grad_fn is not None or value.numel() * value.element_size() > LARGE


def member(holder: Any, kind: str, name: str) -> Any:
    """An attribute or an item, read without running anything."""
    if kind == "attribute":
        try:
            return object.__getattribute__(holder, "__dict__").get(name, GONE)
        except AttributeError:
            return GONE
    if type(holder) is dict:
        return holder.get(name, GONE)
    if (
        type(holder) is list
        and name.lstrip("-").isdigit()
        and -len(holder) <= int(name) < len(holder)
    ):
        return holder[int(name)]
    return GONE


def is_stored(holder: Any, name: str, value: Any) -> bool:
    """The object or its class holds the value under that name."""
    try:
        held = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        held = {}
    for table in (
        held,
        *(held.get(name_of_table, {}) for name_of_table in ("_modules", "_parameters", "_buffers")),
    ):
        if table.get(name, GONE) is value:
            return True
    return any(vars(kind).get(name, GONE) is value for kind in type(holder).__mro__)


records: Records | None = None
"""Of this process; None where nobody asks for a lineage."""


def note(number: int, value: Any) -> Any:
    """Gives the value back as it is, whatever happens."""
    if records is not None and records.active:
        try:
            records.note(number, value, sys._getframe(1))
        except Exception as error:  # noqa: BLE001 - the user's program goes on
            spool.could_not("an expression", error)
    return value


def enter(number: int, values: tuple[Any, ...]) -> None:
    if records is not None and records.active:
        try:
            records.enter(number, values, sys._getframe(1))
        except Exception as error:  # noqa: BLE001 - see above
            spool.could_not("arguments of a function", error)


def bound(number: int, values: tuple[Any, ...]) -> bool:
    """True: it stands among the conditions of a comprehension."""
    if records is not None and records.active:
        try:
            records.bound(number, values, sys._getframe(1))
        except Exception as error:  # noqa: BLE001 - see above
            spool.could_not("names that are bound", error)
    return True


def hold(number: int, holder: Any) -> Any:
    if records is not None and records.active:
        try:
            records.hold(number, holder, sys._getframe(1))
        except Exception as error:  # noqa: BLE001 - see above
            spool.could_not("what is stored", error)
    return holder


def augmented(number: int, value: Any) -> None:
    if records is not None and records.active:
        try:
            records.augmented(number, value, sys._getframe(1))
        except Exception as error:  # noqa: BLE001 - see above
            spool.could_not("an assignment in place", error)


def start(fault: dict[str, int] | None = None) -> Records:
    """From now on the user's modules are wrapped as they are compiled."""
    global records
    records = Records()
    regions.install(lambda: records.total if records is not None else 0, fault)
    gc.set_threshold(FEW_COLLECTIONS, *gc.get_threshold()[1:])
    for name, function in (
        (wrapping.NOTE, note),
        (wrapping.ENTER, enter),
        (wrapping.BOUND, bound),
        (wrapping.HOLD, hold),
        (wrapping.AUGMENTED, augmented),
    ):
        setattr(builtins, name, function)
    return records


def put_in(tree: Any, file: str, raw: bytes) -> None:
    """Wraps a module that is about to be compiled, if a lineage was asked for."""
    if records is None:
        return
    from importlib.util import decode_source

    try:
        wrapping.put_in(tree, file, decode_source(raw))
        records.wrapped(file)
    except RecursionError as error:
        spool.could_not(f"expressions of {os.path.basename(file)}", error)


def size_of_table(dataset: Any) -> int | None:
    """Most lie on disk; of those in memory only small ones are held."""
    size = getattr(getattr(dataset, "_data", None), "nbytes", None)
    return min(size, LARGE) if isinstance(size, int) and size <= MOST_OF_A_TABLE else None
