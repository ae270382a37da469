"""What a name of a script stands for while it is run in thought."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from surefit.evidence.imagined.shapes import ANY, Shape, Size


class Unknown:
    """Nothing is known."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
ABSENT = Unknown()
"""A name or an attribute that is not there."""


@dataclass(frozen=True, slots=True)
class Known:
    """A number, a text, None: the value itself, and where it is written."""

    value: Any
    node: ast.expr | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number that the source does not tell."""

    size: Size = None
    """The same number as a size of some tensors."""


@dataclass(eq=False, slots=True)
class Listed:
    """A list or a tuple; `items` is None where its members are not known."""

    kind: str
    state: dict[str, Any]
    node: ast.AST | None = None

    @property
    def items(self) -> tuple[Any, ...] | None:
        return self.state["items"]  # type: ignore[no-any-return]


def listed(kind: str, items: Any, node: ast.AST | None = None) -> Listed:
    return Listed(kind, {"items": None if items is None else tuple(items)}, node)


@dataclass(eq=False, slots=True)
class Mapped:
    """A dict; `items` is None where its entries are not known."""

    state: dict[str, Any]
    node: ast.AST | None = None
    loaded: ast.AST | None = None
    """The call of `torch.load` that gave it."""

    @property
    def items(self) -> dict[Any, Any] | None:
        return self.state["items"]  # type: ignore[no-any-return]


@dataclass(eq=False, slots=True)
class Part:
    """A recorded operation that keeps tensors for `backward`."""

    node: ast.AST
    moment: tuple[tuple[int, int], ...]
    calls: tuple[ast.AST, ...] = ()
    """The calls that led to it, outermost first, and the operation itself."""
    layer: "Layer | None" = None
    version: int = 0
    """Of the layer's weights, where they are kept."""
    keeps_weights: bool = False
    kept: "Tensor | None" = None
    """The tensor that it keeps, where that is one of the script's own."""
    kept_version: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Why a tensor has no graph: `value`, `recording`, `frozen`, `checkpoint`."""

    how: str
    node: ast.AST
    at: ast.AST
    """The expression that would have been recorded."""


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor, as far as it is known."""

    shape: Shape = ANY
    dtype: str | None = None
    graph: bool | None = None
    """Whether `backward` can go through it."""
    parts: frozenset[Part] = frozenset()
    unsure: bool = False
    """There can be more parts than are known."""
    made: ast.AST | None = None
    leaf: bool = False
    """It wants a gradient itself."""
    cut: Cut | None = None
    low: int | None = None
    high: int | None = None
    """Bounds of whole numbers that surely stand in it."""
    counts: bool = False
    """The numbers count up by one: positions."""
    everywhere: bool = False
    """The numbers stand in every part of it: they were drawn, or fill rows up."""
    padding: ast.AST | None = None
    """The number that rows are filled up with, where that is `low` or `high`."""
    unreduced: ast.AST | None = None
    """The loss with `reduction="none"` that nothing has reduced."""
    device: Any = None
    """`cpu`, or the `Device` that it was moved to."""
    inference: ast.AST | None = None
    by: Any = None
    """The layer that gave it its last size."""
    strides: tuple[Any, ...] | None = None
    """Steps in memory, where they are certain; see `memory`."""
    cause: ast.AST | None = None
    """The slice or transposition by which its elements do not lie one behind the other."""
    state: dict[str, Any] = field(default_factory=lambda: {"version": 0, "graph": None})


@dataclass(frozen=True, slots=True)
class Device:
    """Another one than the CPU, at least on a machine that has one."""

    text: str


@dataclass(eq=False, slots=True)
class Layer:
    """A layer of `torch.nn`, with what it was made with."""

    kind: str
    given: dict[str, Any]
    node: ast.AST
    children: "dict[str, Any]" = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        value = self.given.get(name)
        is_number = isinstance(value, Known) and type(value.value) is int
        return value.value if is_number else None  # type: ignore[union-attr]


def new_layer(
    kind: str,
    given: dict[str, Any],
    node: ast.AST,
    dtype: str | None = None,
    device: str | None = None,
) -> Layer:
    state = {"trainable": True, "version": 0, "gradient": False, "dtype": dtype}
    return Layer(kind, given, node, {}, {**state, "device": device, "escaped": False})


@dataclass(eq=False, slots=True)
class Class:
    """A class of the file."""

    node: ast.ClassDef
    scope: "Scope"
    bases: tuple[Any, ...] = ()


@dataclass(eq=False, slots=True)
class Instance:
    """An object of a class of the file; `state` holds its attributes."""

    of: Class
    node: ast.AST
    state: dict[str, Any] = field(default_factory=dict)
    escaped: dict[str, Any] = field(default_factory=lambda: {"escaped": False})


@dataclass(eq=False, slots=True)
class Function:
    """A function of the file."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: "Scope"
    owner: Class | None = None


@dataclass(eq=False, slots=True)
class Bound:
    """A method, and what it is called on."""

    to: Any
    name: str
    function: Function | None = None


@dataclass(frozen=True, slots=True)
class External:
    """Something imported: `torch.nn.Linear`."""

    name: str


@dataclass(eq=False, slots=True)
class Made:
    """What a call of something imported gave: `torch.amp.GradScaler()`."""

    name: str
    given: dict[str, Any]
    node: ast.AST
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Parameters:
    """What `model.parameters()` gives: layers, and tensors that are parameters themselves."""

    of: tuple[Any, ...] | None
    model: Any = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Each:
    """The variable of a loop over parameters: every one of them in turn."""

    of: Parameters
    grad: bool = False


@dataclass(eq=False, slots=True)
class StateDict:
    """Names and shapes of a model's tensors; None where they are not all known."""

    tensors: dict[str, Shape] | None
    model: Any
    node: ast.AST
    loaded: ast.AST | None = None


@dataclass(eq=False, slots=True)
class OptimizerState:
    """What an optimizer's `state_dict()` gives: for each group, the shapes of its parameters."""

    groups: tuple[tuple[Shape, ...], ...] | None
    node: ast.AST


@dataclass(eq=False, slots=True)
class Optimizer:
    """An optimizer of `torch.optim`; of its groups the parameters."""

    kind: str
    node: ast.AST
    groups: tuple[Any, ...] | None
    given: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Loader:
    """A `DataLoader`."""

    dataset: Any
    collate: Any
    node: ast.AST


class Scope:
    """The names of a module, a class or a running function."""

    def __init__(self, outer: "Scope | None", is_class: bool = False) -> None:
        self.names: dict[str, Any] = {}
        self.outer = outer
        self.is_class = is_class
        self.shared: set[str] = set()

    def find(self, name: str) -> Any:
        here: Scope | None = self
        while here is not None:
            if name in here.names and not (here.is_class and here is not self):
                return here.names[name]
            here = here.outer
        return ABSENT

    @property
    def root(self) -> "Scope":
        return self if self.outer is None else self.outer.root


def whole(value: Any) -> int | None:
    """The whole number that a value is."""
    if isinstance(value, Known) and type(value.value) is int:
        return value.value
    return None


def members(value: Any) -> tuple[Any, ...] | None:
    """Of a list or tuple, known."""
    return value.items if isinstance(value, Listed) else None


def as_size(value: Any) -> Size:
    return value.size if isinstance(value, Whole) else whole(value)


def shape_given(values: tuple[Any, ...] | list[Any]) -> tuple[Size, ...] | None:
    """`(4, 10)` and `((4, 10),)` alike."""
    if len(values) == 1:
        inner = members(values[0])
        if inner is not None:
            return shape_given(inner) if len(inner) != 1 else (as_size(inner[0]),)
        if isinstance(values[0], Listed):
            return None
    for one in values:
        if not isinstance(one, Known | Whole | Unknown):
            return None
    if len(values) == 1 and not isinstance(values[0], Known | Whole):
        return None
    return tuple(as_size(one) for one in values)


def inside(value: Any) -> Iterator[Any]:
    """Values that a list, a dict or an object holds."""
    if isinstance(value, Listed):
        yield from value.items or ()
    elif isinstance(value, Mapped):
        yield from (value.items or {}).values()
    elif isinstance(value, Instance):
        yield from value.state.values()
    elif isinstance(value, Layer):
        yield from value.children.values()
