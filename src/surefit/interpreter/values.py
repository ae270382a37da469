"""What a name of a script stands for while its source is evaluated: a closed set of value types."""

import ast
from dataclasses import dataclass, field
from typing import Literal

from surefit.interpreter.shapes import ANY, Shape, Size


class AbstractValue:
    """One of the types below."""

    __slots__ = ()


class Unknown(AbstractValue):
    """Nothing is known."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
ABSENT = Unknown()
"""A name or an attribute that does not exist."""


@dataclass(frozen=True, slots=True)
class Constant(AbstractValue):
    """A number, a text, None: the value itself, and where it is written."""

    value: object
    node: ast.AST | None = field(default=None, compare=False)


def integer_of(value: AbstractValue | None) -> int | None:
    """The integer that a value is."""
    number = value.value if isinstance(value, Constant) else None
    return number if isinstance(number, int) and type(number) is int else None


@dataclass(frozen=True, slots=True)
class Integer(AbstractValue):
    """An integer that the source does not give."""

    size: Size = None
    """The same integer as a size of some tensors."""


@dataclass(frozen=True, slots=True)
class Real(AbstractValue):
    """A float that the source does not give, and the expression that it is."""

    node: ast.AST | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DeviceValue(AbstractValue):
    """A device; another one than the CPU at least on a machine that has one."""

    text: str


CPU = DeviceValue("cpu")


@dataclass(eq=False, slots=True)
class SequenceValue(AbstractValue):
    """A list or a tuple; `items` is None where its members are not known."""

    kind: str
    items: tuple[AbstractValue, ...] | None
    node: ast.AST | None = None


@dataclass(eq=False, slots=True)
class DictValue(AbstractValue):
    """A dict; `items` is None where its entries are not known."""

    items: dict[object, AbstractValue] | None
    node: ast.AST | None = None
    loaded: ast.AST | None = None
    """The call of `torch.load` that returned it."""


@dataclass(frozen=True, slots=True)
class SliceValue(AbstractValue):
    """`1:-1` between brackets."""

    lower: AbstractValue
    upper: AbstractValue
    step: AbstractValue


Moment = tuple[tuple[int, int], ...]
"""The iterations that are running: loop and iteration, outermost first."""


@dataclass(eq=False, slots=True)
class RecordedOperation:
    """An operation of a graph that keeps tensors for `backward`."""

    node: ast.AST
    moment: Moment
    calls: tuple[ast.AST, ...] = ()
    """The calls that led to it, outermost first, and the operation itself."""
    layer: "LayerValue | None" = None
    version: int = 0
    """Of the layer's weights, where they are kept."""
    keeps_weights: bool = False
    result: "TensorValue | None" = None
    """The tensor that it keeps, where that is one of the script's own."""


@dataclass(frozen=True, slots=True)
class GraphCut:
    """Why a tensor has no graph."""

    how: Literal["value", "recording", "frozen", "checkpoint"]
    node: ast.AST
    at: ast.AST
    """The expression that would have been recorded."""


@dataclass(eq=False, slots=True)
class TensorValue(AbstractValue):
    """A tensor, as far as it is known. Fields that `replace` must not copy are not in `init`."""

    shape: Shape = ANY
    dtype: str | None = None
    graph: bool | None = None
    """Whether `backward` can go through it."""
    operations: frozenset[RecordedOperation] = frozenset()
    unsure: bool = False
    """There can be more operations than are known."""
    node: ast.AST | None = None
    """The expression that gave it."""
    dtype_at: ast.AST | None = None
    """The expression that gave it its dtype: a constructor, a cast."""
    leaf: bool = False
    """It requires a gradient itself."""
    cut: GraphCut | None = None
    low: int | None = None
    high: int | None = None
    """Bounds of integers that certainly occur in it."""
    counts: bool = False
    """The numbers count up by one: positions."""
    everywhere: bool = False
    """The numbers occur in every part of it: they were drawn, or pad rows."""
    padding: ast.AST | None = None
    """The number that rows are padded with, where that is `low` or `high`."""
    one_hot: ast.AST | None = None
    """The call of `one_hot` that gave it."""
    flattened: ast.AST | None = None
    """The call that joined its rows with another axis."""
    unreduced: ast.AST | None = None
    """The loss with `reduction="none"` that nothing has reduced."""
    device: DeviceValue | None = None
    inference: ast.AST | None = None
    source_layer: "LayerValue | None" = None
    """The layer that gave it its last size."""
    strides: tuple[int, ...] | None = None
    """In memory, where they are certain; see `memory_layout`."""
    cause: ast.AST | None = None
    """The slice or transposition by which it is not contiguous."""
    version: int = field(default=0, init=False)
    """How often it was written in place."""
    written_at: ast.AST | None = field(default=None, init=False)
    modified: bool = field(default=False, init=False)
    """Something unknown may have been written into it."""
    grad_switched: bool = field(default=False, init=False)
    registered: Literal["parameter", "buffer", "not saved"] | None = field(default=None, init=False)
    rows_alike: bool = field(default=False, init=False)
    is_array: bool = field(default=False, init=False)
    """An array of numpy."""
    view_of: "TensorValue | None" = field(default=None, init=False)
    weight_of: "LayerValue | None" = field(default=None, init=False)


@dataclass(frozen=True, slots=True)
class ShapeValue(AbstractValue):
    """`x.shape`."""

    tensor: TensorValue


@dataclass(eq=False, slots=True)
class LayerValue(AbstractValue):
    """A layer of `torch.nn`, with the arguments of its constructor."""

    kind: str
    arguments: dict[str, AbstractValue]
    node: ast.AST
    dtype: str | None = None
    device: DeviceValue | None = None
    children: dict[str, AbstractValue] = field(default_factory=dict)
    trainable: bool | None = True
    gradient: bool | None = False
    version: int = 0
    """How often an optimizer has written its weights."""
    escaped: bool = False
    written_at: ast.AST | None = None
    cast_at: ast.AST | None = None
    frozen_by: ast.AST | None = None

    def number(self, name: str) -> int | None:
        return integer_of(self.arguments.get(name))


@dataclass(eq=False, slots=True)
class ClassValue(AbstractValue):
    """A class of the file."""

    node: ast.ClassDef
    scope: "Scope"
    bases: tuple[AbstractValue, ...] = ()


@dataclass(eq=False, slots=True)
class InstanceValue(AbstractValue):
    """An object of a class of the file."""

    of: ClassValue
    node: ast.AST
    attributes: dict[str, AbstractValue] = field(default_factory=dict)
    escaped: bool = False
    training: bool | None = True
    """Of a model: whether `train` or `eval` was called last."""


@dataclass(eq=False, slots=True)
class FunctionValue(AbstractValue):
    """A function of the file."""

    node: ast.FunctionDef | ast.Lambda
    scope: "Scope"
    owner: ClassValue | None = None


@dataclass(eq=False, slots=True)
class BoundMethod(AbstractValue):
    """A method, and what it is called on."""

    receiver: AbstractValue
    name: str
    function: FunctionValue | None = None


@dataclass(frozen=True, slots=True)
class ImportedName(AbstractValue):
    """Something imported or built in: `torch.nn.Linear`, `len`."""

    name: str


@dataclass(eq=False, slots=True)
class LibraryObject(AbstractValue):
    """What a call of something imported returned: `torch.amp.GradScaler()`."""

    name: str
    arguments: dict[str, AbstractValue]
    node: ast.AST
    of: tuple[AbstractValue, ...] = ()
    """What it iterates over or holds."""


@dataclass(eq=False, slots=True)
class ParameterSet(AbstractValue):
    """What `model.parameters()` gives: layers, and tensors that are parameters themselves."""

    of: tuple[LayerValue | TensorValue, ...] | None
    model: "InstanceValue | LayerValue | None" = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class EachParameter(AbstractValue):
    """The variable of a loop over parameters: every one of them in turn."""

    of: ParameterSet
    grad: bool = False


@dataclass(eq=False, slots=True)
class StateDictValue(AbstractValue):
    """Names and shapes of a model's tensors; None where they are not all known."""

    tensors: dict[str, Shape] | None
    node: ast.AST


TensorPair = tuple[TensorValue, TensorValue]
NodePair = tuple[ast.AST, ast.AST]
GroupShapes = tuple[tuple[Shape, ...], ...]


@dataclass(eq=False, slots=True)
class OptimizerStateValue(AbstractValue):
    """What an optimizer's `state_dict()` gives: for each group, the shapes of its parameters."""

    groups: GroupShapes | None
    node: ast.AST


@dataclass(eq=False, slots=True)
class OptimizerValue(AbstractValue):
    """An optimizer of `torch.optim`; of its groups the parameters."""

    kind: str
    node: ast.AST
    groups: tuple[ParameterSet, ...] | None
    rate: AbstractValue


@dataclass(eq=False, slots=True)
class LoaderValue(AbstractValue):
    """A `DataLoader`."""

    dataset: AbstractValue
    collate: AbstractValue | None
    node: ast.AST


Module = LayerValue | InstanceValue


class Scope:
    """The names of a module, a class or a running function."""

    def __init__(self, outer: "Scope | None", is_class: bool = False) -> None:
        self.names: dict[str, AbstractValue] = {}
        self.outer = outer
        self.is_class = is_class
        self.shared: set[str] = set()

    def find(self, name: str) -> AbstractValue:
        here: Scope | None = self
        while here is not None:
            if name in here.names and not (here.is_class and here is not self):
                return here.names[name]
            here = here.outer
        return ABSENT

    @property
    def root(self) -> "Scope":
        return self if self.outer is None else self.outer.root


NEVER_NONE = (
    *(TensorValue, LayerValue, InstanceValue, SequenceValue, DictValue, FunctionValue, ClassValue),
    *(LoaderValue, OptimizerValue, OptimizerStateValue, StateDictValue, ParameterSet),
    *(LibraryObject, Integer, Real),
)
