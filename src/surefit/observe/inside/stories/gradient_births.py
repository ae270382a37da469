"""Where a gradient became NaN or zero, and what cut parameters from the loss, in a second run.

Every operation is noted with the user's lines that it came from, and every function of a graph with
its operation. Hooks on the functions of a backward pass hold what came in against what went out.
"""

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from sys import _getframe
from types import FrameType
from typing import Any

from surefit.doctor.gradient_births import ForwardValue, TakenOperand
from surefit.doctor.graph_stories import Stood
from surefit.doctor.observations import Json
from surefit.observe.inside.autopsy.graphs import is_leaf, nodes_below
from surefit.observe.inside.autopsy.questions import value_in
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.own_code import own_frame
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.stories.lost_graphs import TO_NUMBERS, lines
from surefit.observe.inside.stories.recorder import (
    GIVEN,
    PARAMETER,
    READING,
    changes_its_input,
    name_of,
    operation_mode,
    tensors_in,
)
from surefit.observe.inside.training import readable, roots

OF_GRADIENT, OF_CUTS, OF_VALUE = "birth-of-gradient", "cuts-of-loss", "birth-of-value"
KINDS = (OF_GRADIENT, OF_CUTS, OF_VALUE)
MARK = "surefit-operation"
MOST_KEPT = 100_000
ONLY_THE_SHAPE = (
    *("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"),
    *("randint_like", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"),
)
"""Operations that take the shape of a tensor and none of its values."""
MEANT_INFINITE = ("masked_fill", "masked_fill_", "full", "full_like", "fill_", "new_full", "tensor")
"""Operations that are given an infinity on purpose, for a mask."""


@dataclass(frozen=True, slots=True)
class NotedOperation:
    """One operation, or a tensor that no operation made."""

    serial: int
    name: str
    stack: tuple[Stood, ...]
    takes: tuple[int, ...] = ()
    grad: bool = False
    enabled: bool = True
    nan: int = 0
    infinite: int = 0
    elements: int = 0
    shape: tuple[int, ...] = ()
    holder: str = ""
    bounds: tuple[float, float] | None = None
    operands: tuple[TakenOperand, ...] = ()
    """Of an operation whose result is not finite."""

    def told(self) -> dict[str, Json]:
        least, greatest = self.bounds or (None, None)
        bad = self.nan + self.infinite
        return asdict(
            ForwardValue(
                self.name,
                self.stack,
                self.holder,
                self.shape,
                bad,
                self.elements,
                least,
                greatest,
                self.operands,
            )
        )


@dataclass(frozen=True, slots=True)
class Birth:
    """A function of a graph, and what is behind it."""

    function: str
    operation: NotedOperation | None
    behind: frozenset[int]
    """Ids of the parameters."""


class Births:
    """Operations since the last step, and what the hooks of a backward pass saw."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.serials = itertools.count(1)
        self.noted: dict[int, NotedOperation] = {}
        self.known: dict[int, tuple[Any, int]] = {}
        self.parameters: dict[int, Any] = {}
        """By the number of what was noted of them, also before a step changed them."""
        self.read: list[NotedOperation] = []
        """Operations that gave plain numbers."""
        self.passes = 0
        self.wanted = ""
        """`nan` or `zero`."""
        self.values = False
        """Results are searched for NaN."""
        self.enabled = True
        """Graphs are being recorded by the operation that runs."""
        self.births: list[Birth] = []
        self.reached = 0
        self.handles: list[Any] = []
        self.resting = False
        """The steps that are asked about have not come."""
        self.gradient: dict[str, Json] | None = None
        """The first birth of a bad gradient since the last finite loss."""

    # operations

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = name_of(func)
        if name in READING:
            return
        with readable.looking():
            ins = list(tensors_in((args, kwargs))) if name not in ONLY_THE_SHAPE else []
            outs = [ins[0]] if changes_its_input(name) and ins else list(tensors_in(result))
            if outs and changes_its_input(name) and self.is_parameter(outs[0]):
                self.known.pop(id(outs[0]), None)  # it stays a parameter, with other values
                return
            if name in TO_NUMBERS and ins:
                self.read = [*self.read[-63:], self.operation(name, ins, ins[0], args)]
            for out in outs:
                if changes_its_input(name) or not any(out is tensor for tensor in ins):
                    self.keep(out, self.operation(name, ins, out, args))

    def operation(self, name: str, ins: list[Any], out: Any, args: Any = ()) -> NotedOperation:
        stack, _ = lines(_getframe(3))
        nan, infinite = self.bad_numbers(out)
        bounds, holder = None, ""
        operands = operands_in(args) if nan or infinite else ()
        if (nan or infinite) and ins:
            bounds = bounds_of(ins[0])
            bad = [tensor for tensor in ins if any(self.bad_numbers(tensor))]
            holder = next(filter(None, (name_in_frame(tensor) for tensor in bad)), "")
        return NotedOperation(
            next(self.serials),
            name,
            stack,
            tuple(self.serial_of(tensor, stack) for tensor in ins),
            bool(out.requires_grad),
            self.enabled,
            nan,
            infinite,
            int(out.numel()),
            tuple(int(size) for size in out.shape),
            holder,
            bounds,
            operands,
        )

    def keep(self, tensor: Any, operation: NotedOperation) -> None:
        self.noted[operation.serial] = operation
        self.known[id(tensor)] = weakref.ref(tensor), operation.serial
        if len(self.noted) > MOST_KEPT:
            for old in list(itertools.islice(self.noted, MOST_KEPT // 2)):
                del self.noted[old]
                self.parameters.pop(old, None)
        if tensor.grad_fn is not None:
            tensor.grad_fn.metadata.setdefault(MARK, operation.serial)

    def serial_of(self, tensor: Any, stack: tuple[Stood, ...]) -> int:
        alive, serial = self.known.get(id(tensor), (None, 0))
        if alive is not None and alive() is tensor and serial in self.noted:
            return serial
        is_parameter = self.is_parameter(tensor)
        nan, infinite = self.bad_numbers(tensor)
        given = NotedOperation(
            next(self.serials),
            PARAMETER if is_parameter else GIVEN,
            stack,
            tuple(self.serial_of(leaf, stack) for leaf in leaves_of(tensor)),
            bool(tensor.requires_grad),
            True,
            nan,
            infinite,
            int(tensor.numel()),
            tuple(int(size) for size in tensor.shape),
            "" if is_parameter else name_in_frame(tensor),
        )
        self.keep(tensor, given)
        if is_parameter:
            self.parameters[given.serial] = weakref.ref(tensor)
        return given.serial

    def stepped(self) -> None:
        """What no operation made can have other values now."""
        for key, (alive, serial) in list(self.known.items()):
            known = self.noted.get(serial)
            if alive() is None or known is None or known.name in (PARAMETER, GIVEN):
                del self.known[key]

    def is_parameter(self, tensor: Any) -> bool:
        return isinstance(tensor, self.torch.nn.Parameter)

    def bad_numbers(self, tensor: Any) -> tuple[int, int]:
        """NaN and infinite elements."""
        plain = readable.plain(tensor) if self.values else None
        if plain is None or not plain.is_floating_point() or plain.layout is not self.torch.strided:
            return 0, 0
        return int(self.torch.isnan(plain).sum()), int(self.torch.isinf(plain).sum())

    # backward passes

    def begin(self, loss: Any) -> None:
        self.births, self.reached = [], 0
        nodes = list(nodes_below([getattr(loss, "grad_fn", None)]))
        self.reached = sum(map(is_leaf, nodes))
        for node in nodes:
            if not is_leaf(node):
                self.handles.append(node.register_hook(self.hook_of(node)))

    def hook_of(self, node: Any) -> Callable[[Any, Any], None]:
        name, behind = node.name(), weakref.proxy(self)
        serial = node.metadata.get(MARK)
        below = [following for following, _ in node.next_functions]

        def passed(inputs: Any, outputs: Any) -> None:
            with readable.looking():
                if behind.is_born(inputs, outputs):
                    below_it = [known for known in nodes_below(below) if is_leaf(known)]
                    leaves = frozenset(id(known.variable) for known in below_it)
                    operation = behind.noted.get(serial) if serial is not None else None
                    behind.births.append(Birth(name, operation, leaves))

        return guarded("where a gradient became bad")(passed)

    def is_born(self, inputs: Any, outputs: Any) -> bool:
        """Good gradients came in (`outputs` is torch's word for these), and bad ones go out."""
        came = [tensor for tensor in outputs if is_tensor(tensor)]
        goes = [tensor for tensor in inputs if is_tensor(tensor)]
        if not came or not goes:
            return False
        if self.wanted == "zero":
            return any(map(any_nonzero, came)) and not any(map(any_nonzero, goes))
        return all(map(self.is_finite, came)) and not all(map(self.is_finite, goes))

    def is_finite(self, tensor: Any) -> bool:
        values = tensor._values() if tensor.is_sparse else tensor
        return bool(self.torch.isfinite(values).all())

    def end(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.passes += 1

    def birth(
        self, step: int, loss: Any, names: Iterable[str] | None = None
    ) -> dict[str, Json] | None:
        """Names: only where one of these parameters is behind it."""
        births = self.births
        if names is not None:
            wanted = set(names)
            ids = {id(known.tensor) for known in roots.look().values() if known.name in wanted}
            births = [born for born in births if born.behind and born.behind <= ids]
        if not births:
            return None
        born = births[0]
        if self.wanted == "zero":
            born = max(births, key=lambda known: len(known.behind))
        operation = born.operation or self.operation_above()
        origin = self.first_bad(operation) if operation and self.values else None
        met = self.where_met(operation) if operation and origin and not origin.grad else None
        number = readable.plain(loss) if loss is not None else None
        return {
            "function": born.function,
            "step": step,
            "passes": self.passes - 1,
            "operation": operation.told() if operation else None,
            "source": origin.told() if origin else None,
            "met": met.told() if met else None,
            "behind": len(born.behind),
            "reached": self.reached,
            "loss": float(number) if number is not None and number.numel() == 1 else None,
        }

    def operation_above(self) -> NotedOperation | None:
        """Of a function inside an operation of several, some other birth that is known."""
        return next((known.operation for known in self.births if known.operation), None)

    def first_bad(self, operation: NotedOperation) -> NotedOperation | None:
        """The earliest value with NaN that the operation depends on; else with an infinity that
        nobody meant."""
        every = list(self.back(operation.serial))
        for is_bad in (lambda known: known.nan > 0, is_infinite):
            born = [
                known
                for known in every
                if is_bad(known)
                and not any(is_bad(self.noted[took]) for took in known.takes if took in self.noted)
            ]
            if born:
                return self.infinite_before(min(born, key=serial_number))
        return None

    def infinite_before(self, born: NotedOperation) -> NotedOperation:
        """The operation that gave the infinity which became NaN there, where nobody meant it."""
        every = [known for known in self.back(born.serial) if known.infinite]
        first = [
            known
            for known in every
            if not any(self.noted[took].infinite for took in known.takes if took in self.noted)
        ]
        earliest = min(first, key=serial_number, default=born)
        return earliest if is_infinite(earliest) else born

    def where_met(self, operation: NotedOperation) -> NotedOperation | None:
        """Where a bad value without a graph first went into the graph."""
        every = [known for known in self.back(operation.serial) if known.grad and known.takes]
        bad = [known for known in every if known.nan or is_infinite(known)]
        return min(bad, key=serial_number, default=None)

    def back(self, serial: int) -> Iterator[NotedOperation]:
        waiting, met = [serial], {serial}
        for number in waiting:
            known = self.noted.get(number)
            if known is None:
                continue
            yield known
            fresh = [took for took in known.takes if took not in met]
            met.update(fresh)
            waiting += fresh

    # values that a crash refuses

    def keep_birth(self, said: dict[str, Json] | None, loss: Any) -> None:
        """After a backward pass: a finite loss says that the weights are still good."""
        if self.gradient is not None and self.is_finite(loss.detach()):
            self.gradient = None
        self.gradient = self.gradient or said

    def value_birth(
        self, frames: Sequence[FrameType], about: dict[str, Any]
    ) -> dict[str, Json] | None:
        """Of the tensor that a frame of the crash names; where that is none, of the newest value
        that is not finite."""
        refused = self.refused(frames, about)
        origin = self.first_bad(refused) if refused is not None else None
        if origin is None or origin.name in (PARAMETER, GIVEN):
            late = self.gradient or self.in_this_pass(int(about.get("step", 0)))
            if late is not None or origin is None:
                return {"source": None, "gradient": late} if late is not None else None
        met = self.where_met(refused) if refused is not None and not origin.grad else None
        return {"source": origin.told(), "met": met.told() if met else None, "gradient": None}

    def in_this_pass(self, step: int) -> dict[str, Json] | None:
        """Of a backward pass that has raised."""
        self.end()
        return self.birth(step, None)

    def refused(self, frames: Sequence[FrameType], about: dict[str, Any]) -> NotedOperation | None:
        tensor = value_in(frames, about) if about.get("text") else None
        if is_tensor(tensor) and any(self.bad_numbers(tensor)):
            return self.noted.get(self.serial_of(tensor, ()))
        every = sorted([*self.noted.values(), *self.read], key=serial_number, reverse=True)
        if not about.get("known"):
            every = every[:1]  # what was refused has no name: it was computed just now
        bad = [known for known in every if known.nan] or list(filter(is_infinite, every))
        return bad[0] if bad else None

    # cuts

    def cut(self, loss: Any, names: Iterable[str]) -> dict[str, Json]:
        """The operation that cuts most of the named parameters from the loss."""
        wanted = set(names)
        names_of = {
            id(known.tensor): known.name for known in roots.look().values() if known.name in wanted
        }
        serials = {
            serial: names_of[id(parameter())]
            for serial, parameter in self.parameters.items()
            if id(parameter()) in names_of
        }
        root = self.known.get(id(loss))
        every = list(self.back(root[1])) if root is not None else []
        on_the_way = [known for known in every if self.is_cut(known)]
        found = [(known, serials.keys() & self.behind(known)) for known in on_the_way]
        found = [(known, behind) for known, behind in found if behind]
        if not found and any(known.name == GIVEN for known in every):
            read = [(known, serials.keys() & self.behind(known)) for known in self.read]
            found = [(known, behind) for known, behind in read if behind]
        if not found:
            return {"operation": None, "beside": len(serials)}
        most = max(len(behind) for _, behind in found)
        # Of operations that cut as many, the first that lost the graph: the earliest.
        alike = [(known, behind) for known, behind in found if len(behind) == most]
        chosen, behind = min(alike, key=lambda pair: pair[0].serial)
        return {
            "operation": chosen.told(),
            "enabled": chosen.enabled,
            "names": sorted({serials[serial] for serial in behind}),
            "beside": len(serials) - most,
        }

    def is_cut(self, known: NotedOperation) -> bool:
        taken = [self.noted[took] for took in known.takes if took in self.noted]
        return not known.grad and any(before.grad for before in taken)

    def behind(self, known: NotedOperation) -> set[int]:
        every = itertools.chain.from_iterable(self.back(took) for took in known.takes)
        return {before.serial for before in every if before.name == PARAMETER}


def leaves_of(tensor: Any) -> list[Any]:
    """What the graph of a tensor leads to whose operation was not seen: a recurrent layer, say."""
    if tensor.grad_fn is None:
        return []
    return [node.variable for node in nodes_below([tensor.grad_fn]) if is_leaf(node)]


def serial_number(known: NotedOperation) -> int:
    return known.serial


def is_infinite(known: NotedOperation) -> bool:
    return known.infinite > 0 and known.name not in MEANT_INFINITE


def any_nonzero(tensor: Any) -> bool:
    values = tensor._values() if tensor.is_sparse else tensor
    return bool(values.any())


def bounds_of(tensor: Any) -> tuple[float, float] | None:
    plain = readable.plain(tensor)
    if plain is None or not plain.numel() or not plain.is_floating_point():
        return None
    return float(plain.min()), float(plain.max())


def operands_in(args: Any) -> tuple[TakenOperand, ...]:
    """What an operation was given by position, a list of tensors taken apart."""
    every = [*args] if isinstance(args, tuple | list) else [args]
    every = [part for value in every for part in (value if isinstance(value, list) else [value])]
    return tuple(
        operand_of(value) if is_tensor(value) else TakenOperand((), value, value, int(value == 0))
        for value in every
        if is_tensor(value) or type(value) in (int, float)
    )


def operand_of(tensor: Any) -> TakenOperand:
    shape, plain = tuple(int(size) for size in tensor.shape), readable.plain(tensor)
    if plain is None or not plain.is_floating_point():
        return TakenOperand(shape)
    good = plain[plain.isfinite()]
    if not good.numel():
        return TakenOperand(shape)
    return TakenOperand(shape, float(good.min()), float(good.max()), int((good == 0).sum()))


def name_in_frame(tensor: Any) -> str:
    """What the innermost line of the user's calls it."""
    frame = own_frame(depth=2)
    names = frame.f_locals.items() if frame is not None else ()
    return next((name for name, value in list(names) if value is tensor), "")


def noting_mode(torch: Any, births: Births) -> Any:
    note = guarded("where values became bad")(births.note)

    def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if births.resting:
            return func(*args, **kwargs)
        births.enabled = bool(torch.is_grad_enabled())
        result = func(*args, **kwargs)
        note(func, args, kwargs, result)
        return result

    return operation_mode(torch, run)
