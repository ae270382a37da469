"""What surely goes wrong when a script that was run in thought is run."""

import ast
from dataclasses import dataclass
from typing import Any

from surefit.evidence.imagined.shapes import Shape, Size
from surefit.evidence.imagined.values import Known, Layer, Mapped, Part, StateDict, Tensor


@dataclass(frozen=True, slots=True)
class WidthMisfit:
    """A layer is called with another number of features than it takes."""

    node: ast.AST
    layer: Layer
    tensor: Tensor
    axis: int
    takes: int
    has: int


@dataclass(frozen=True, slots=True)
class JoinMisfit:
    """Tensors that are joined or added have different sizes on one axis."""

    node: ast.AST
    how: str
    """`cat`, `stack` or `sum`."""
    tensors: tuple[Tensor, Tensor]
    nodes: tuple[ast.AST, ast.AST]
    axis: int
    """The one that differs, counted from the last: -1."""


@dataclass(frozen=True, slots=True)
class ProductMisfit:
    """Two matrices whose inner sizes differ are multiplied."""

    node: ast.AST
    tensors: tuple[Tensor, Tensor]
    nodes: tuple[ast.AST, ast.AST]


@dataclass(frozen=True, slots=True)
class ReshapeMisfit:
    """`view` or `reshape` asks for another number of elements."""

    node: ast.Call
    tensor: Tensor
    target: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class ViewOfGaps:
    """`view` of a tensor whose elements do not lie one behind the other."""

    node: ast.Call
    tensor: Tensor
    cause: ast.AST


@dataclass(frozen=True, slots=True)
class MaskMisfit:
    """A mask does not fit what it is laid over."""

    node: ast.AST
    tensor: Tensor
    mask: Tensor
    mask_node: ast.AST


@dataclass(frozen=True, slots=True)
class LossMisfit:
    """A loss compares tensors of different widths."""

    node: ast.AST
    name: str
    tensors: tuple[Tensor, Tensor]
    nodes: tuple[ast.AST, ast.AST]


@dataclass(frozen=True, slots=True)
class OutsideTable:
    """A number is looked up that a table has no row for."""

    node: ast.AST
    layer: Layer
    tensor: Tensor
    id: int


@dataclass(frozen=True, slots=True)
class Indivisible:
    """A width cannot be divided among heads or groups."""

    node: ast.AST
    maker: str
    width_name: str
    width: Known
    count_name: str
    count: Known


@dataclass(frozen=True, slots=True)
class NoGraph:
    """`backward` is called on a tensor without a graph."""

    node: ast.Call
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class NoScalar:
    """`backward` is called on several numbers."""

    node: ast.Call
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Freed:
    """`backward` goes through a graph that another has freed."""

    node: ast.Call
    part: Part
    freed_by: ast.AST
    how: str
    """`twice` in one round, `before` the loop, or `carried` from round to round."""
    same: bool
    """One loss, two calls."""
    calls: tuple[ast.AST, ...]
    """The calls that led to this `backward`, outermost first."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """`backward` needs a value that was written to."""

    node: ast.Call
    part: Part
    written: ast.AST
    by: str
    """`step` or `write`."""
    earlier: bool
    """The graph is of an earlier round of the loop."""


@dataclass(frozen=True, slots=True)
class LeafWritten:
    """A leaf that wants a gradient is written to while operations are recorded."""

    node: ast.AST
    target: ast.AST
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class InferenceUsed:
    """A tensor that was made in inference mode is given to a trainable layer."""

    node: ast.AST
    layer: Layer
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class TwoDevices:
    """An operation takes tensors of two devices."""

    node: ast.AST
    left: Tensor
    left_node: ast.AST
    moved: str


@dataclass(frozen=True, slots=True)
class Discarded:
    """A statement moves a tensor and drops the result."""

    node: ast.Call
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class DtypeMisfit:
    """A layer is given numbers of another type than its weights have."""

    node: ast.AST
    layer: Layer
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class StateMisfit:
    """A state dict does not have the names or shapes of the model that it is loaded into."""

    node: ast.Call
    model: Any
    saved: StateDict
    tensors: dict[str, Shape]


@dataclass(frozen=True, slots=True)
class WholeCheckpoint:
    """A dict with a state dict in it is loaded as if it were one."""

    node: ast.Call
    model: Any
    mapped: Mapped
    entry: str


@dataclass(frozen=True, slots=True)
class KeyMissing:
    """A checkpoint is asked for an entry that it was saved without."""

    node: ast.Subscript
    mapped: Mapped
    key: str


@dataclass(frozen=True, slots=True)
class Unpickled:
    """`torch.load` reads tensors alone, and another object was saved."""

    node: ast.Call
    saved_at: ast.AST
    what: str


@dataclass(frozen=True, slots=True)
class OptimizerMisfit:
    """An optimizer's state is loaded into one with other parameters."""

    node: ast.Call
    optimizer: ast.AST
    kind: str
    saved: tuple[tuple[Shape, ...], ...]
    has: tuple[tuple[Shape, ...], ...]


@dataclass(frozen=True, slots=True)
class TargetsMissing:
    """Adapters are put on layers that a model does not have."""

    node: ast.AST
    config: ast.AST
    targets: tuple[str, ...]
    model: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rounded:
    """An optimizer holds parameters of a type that is too coarse for its steps."""

    node: ast.AST
    kind: str
    dtype: str
    rate: Known
    cast: ast.AST
    model: str


@dataclass(frozen=True, slots=True)
class IdleOptimizer:
    """An optimizer steps whose layers get no gradient; those that get one no optimizer holds."""

    node: ast.AST
    optimizer: ast.AST
    outside: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class NoGradient:
    """A line computes with the gradients of parameters of which some have none."""

    node: ast.AST
    loop: ast.AST | None
    layers: tuple[Any, ...]


Mishap = (
    WidthMisfit
    | JoinMisfit
    | ProductMisfit
    | ReshapeMisfit
    | ViewOfGaps
    | MaskMisfit
    | LossMisfit
    | OutsideTable
    | Indivisible
    | NoGraph
    | NoScalar
    | Freed
    | Overwritten
    | LeafWritten
    | InferenceUsed
    | TwoDevices
    | Discarded
    | DtypeMisfit
    | StateMisfit
    | WholeCheckpoint
    | KeyMissing
    | Unpickled
    | OptimizerMisfit
    | TargetsMissing
    | Rounded
    | NoGradient
    | IdleOptimizer
)
