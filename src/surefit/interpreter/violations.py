"""What certainly goes wrong when a script is run: every violation that reading its source yields.

`node` is the expression at which it happens. `birth` is the expression at which the wrong property
came into being: the number that is written, the constructor, the cast, the call that cut a graph;
`node` itself where that is not known.
"""

import ast
from dataclasses import dataclass
from typing import Literal

from surefit.interpreter.shapes import Shape, Size
from surefit.interpreter.values import (
    DictValue,
    GroupShapes,
    LayerValue,
    Module,
    RecordedOperation,
    StateDictValue,
    TensorValue,
)

TensorPair = tuple[TensorValue, TensorValue]
NodePair = tuple[ast.AST, ast.AST]


@dataclass(frozen=True, slots=True)
class WidthMismatch:
    """A layer is called with another number of features than it takes."""

    node: ast.AST
    birth: ast.AST
    layer: LayerValue
    tensor: TensorValue
    axis: int
    takes: int
    has: int


@dataclass(frozen=True, slots=True)
class JoinMismatch:
    """Tensors that are joined or added have different sizes on one axis."""

    node: ast.AST
    birth: ast.AST
    how: Literal["cat", "stack", "sum"]
    tensors: TensorPair
    nodes: NodePair
    axis: int
    """The one that differs, counted from the last: -1."""


@dataclass(frozen=True, slots=True)
class ProductMismatch:
    """Two matrices whose inner sizes differ are multiplied."""

    node: ast.AST
    birth: ast.AST
    tensors: TensorPair
    nodes: NodePair


@dataclass(frozen=True, slots=True)
class ReshapeMismatch:
    """`view` or `reshape` asks for another number of elements."""

    node: ast.Call
    birth: ast.AST
    tensor: TensorValue
    target: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class NonContiguousView:
    """`view` of a tensor that is not contiguous."""

    node: ast.Call
    birth: ast.AST
    tensor: TensorValue
    cause: ast.AST


@dataclass(frozen=True, slots=True)
class MaskMismatch:
    """A mask does not fit the tensor that it is applied to."""

    node: ast.AST
    birth: ast.AST
    tensor: TensorValue
    mask: TensorValue
    mask_node: ast.AST


@dataclass(frozen=True, slots=True)
class IndexOutsideTable:
    """A number is looked up that a table has no row for."""

    node: ast.AST
    birth: ast.AST
    layer: LayerValue
    tensor: TensorValue
    id: int


@dataclass(frozen=True, slots=True)
class NotDivisible:
    """A width cannot be divided among heads or groups."""

    node: ast.AST
    birth: ast.AST
    maker: str
    width_name: str
    width: int
    count_name: str
    count: int


@dataclass(frozen=True, slots=True)
class BackwardWithoutGraph:
    """`backward` is called on a tensor without a graph."""

    node: ast.Call
    birth: ast.AST
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class BackwardOfNonScalar:
    """`backward` is called on several numbers."""

    node: ast.Call
    birth: ast.AST
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class GraphFreed:
    """`backward` goes through a graph that another one has freed."""

    node: ast.Call
    birth: ast.AST
    operation: RecordedOperation
    freed_by: ast.AST
    how: Literal["twice", "before", "carried"]
    """`twice` in one iteration, `before` the loop, or `carried` from iteration to iteration."""
    same: bool
    """One loss, two calls."""
    calls: tuple[ast.AST, ...]
    """The calls that led to this `backward`, outermost first."""


@dataclass(frozen=True, slots=True)
class SavedValueOverwritten:
    """`backward` needs a value that was written to."""

    node: ast.Call
    birth: ast.AST
    operation: RecordedOperation
    written: ast.AST
    writer: Literal["step", "write"]
    earlier: bool
    """The graph is of an earlier iteration of the loop."""


@dataclass(frozen=True, slots=True)
class LeafModifiedInPlace:
    """A leaf that requires a gradient is written to while operations are recorded."""

    node: ast.AST
    birth: ast.AST
    target: ast.AST
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class InferenceTensorInTraining:
    """A tensor that was created in inference mode is given to a trainable layer."""

    node: ast.AST
    birth: ast.AST
    layer: LayerValue
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class DeviceMismatch:
    """An operation takes tensors of two devices."""

    node: ast.AST
    birth: ast.AST
    left: TensorValue
    left_node: ast.AST
    moved: str


@dataclass(frozen=True, slots=True)
class MoveDiscarded:
    """A statement moves a tensor and drops the result."""

    node: ast.Call
    birth: ast.AST
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class LayerDtypeMismatch:
    """A layer is given a tensor of another dtype than its weights have."""

    node: ast.AST
    birth: ast.AST
    layer: LayerValue
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class StateDictMismatch:
    """A state dict does not have the names or shapes of the model that it is loaded into."""

    node: ast.Call
    birth: ast.AST
    model: Module
    saved: StateDictValue
    tensors: dict[str, Shape]


@dataclass(frozen=True, slots=True)
class CheckpointLoadedWhole:
    """A dict with a state dict in it is loaded as if it were one."""

    node: ast.Call
    birth: ast.AST
    model: Module
    checkpoint: DictValue
    entry: str


@dataclass(frozen=True, slots=True)
class CheckpointKeyMissing:
    """A checkpoint is asked for an entry that it was saved without."""

    node: ast.Subscript
    birth: ast.AST
    checkpoint: DictValue
    key: str


@dataclass(frozen=True, slots=True)
class LoadNeedsUnpickling:
    """`torch.load` reads tensors alone, and another object was saved."""

    node: ast.Call
    birth: ast.AST
    saved_at: ast.AST
    class_name: str


@dataclass(frozen=True, slots=True)
class OptimizerStateMismatch:
    """An optimizer's state is loaded into one with other parameters."""

    node: ast.Call
    birth: ast.AST
    optimizer: ast.AST
    kind: str
    saved: GroupShapes
    has: GroupShapes


@dataclass(frozen=True, slots=True)
class AdapterTargetsMissing:
    """Adapters are put on layers that a model does not have."""

    node: ast.AST
    birth: ast.AST
    config: ast.AST
    targets: tuple[str, ...]
    model: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdatesLostToRounding:
    """An optimizer holds parameters of a dtype that is too coarse for its steps."""

    node: ast.AST
    birth: ast.AST
    kind: str
    dtype: str
    rate: float
    cast: ast.AST
    model: str


@dataclass(frozen=True, slots=True)
class OptimizerWithoutGradients:
    """An optimizer steps whose layers get no gradient; those that get one no optimizer holds."""

    node: ast.AST
    birth: ast.AST
    optimizer: ast.AST
    outside: tuple[LayerValue, ...]


@dataclass(frozen=True, slots=True)
class GradientMissing:
    """A line computes with the gradients of parameters of which some have none."""

    node: ast.AST
    birth: ast.AST
    layers: tuple[LayerValue, ...]


@dataclass(frozen=True, slots=True)
class LossInputs:
    """What a loss is called with."""

    function: str
    """The function of `torch.nn.functional` that computes the same."""
    predictions: TensorValue
    predictions_node: ast.AST
    target: TensorValue
    target_node: ast.AST
    layer: LayerValue | None = None

    @property
    def name(self) -> str:
        """As the script has it: `CrossEntropyLoss`, `cross_entropy`."""
        return self.layer.kind if self.layer else self.function

    @property
    def tensors(self) -> TensorPair:
        return self.predictions, self.target

    @property
    def nodes(self) -> NodePair:
        return self.predictions_node, self.target_node


@dataclass(frozen=True, slots=True)
class LossShapeMismatch:
    """A loss compares two tensors entry by entry whose shapes do not fit."""

    node: ast.AST
    birth: ast.AST
    inputs: LossInputs


@dataclass(frozen=True, slots=True)
class TargetDtypeMismatch:
    """The targets of a loss have a dtype that it does not take."""

    node: ast.AST
    birth: ast.AST
    inputs: LossInputs
    takes: str


@dataclass(frozen=True, slots=True)
class TargetAxesMismatch:
    """The targets of a loss have another number of axes than its predictions ask for."""

    node: ast.AST
    birth: ast.AST
    inputs: LossInputs
    how: Literal["column", "square", "indices", "one hot", "classes last", "flattened"]
    """`column`: class indices as (rows, 1). `square`: (rows, 1) beside (rows,), compared entry by
    entry. `indices`: (rows,) beside (rows, outputs) of a binary loss. `one hot`: integers in the
    shape of the predictions. `classes last`: predictions (rows, steps, classes). `flattened`: one
    side is, the other is not."""


@dataclass(frozen=True, slots=True)
class TargetOutsideClasses:
    """A class index is written that the predictions have no column for."""

    node: ast.AST
    birth: ast.AST
    inputs: LossInputs
    label: int
    classes: int


SourceViolation = (
    WidthMismatch
    | JoinMismatch
    | ProductMismatch
    | ReshapeMismatch
    | NonContiguousView
    | MaskMismatch
    | IndexOutsideTable
    | NotDivisible
    | BackwardWithoutGraph
    | BackwardOfNonScalar
    | GraphFreed
    | SavedValueOverwritten
    | LeafModifiedInPlace
    | InferenceTensorInTraining
    | DeviceMismatch
    | MoveDiscarded
    | LayerDtypeMismatch
    | StateDictMismatch
    | CheckpointLoadedWhole
    | CheckpointKeyMissing
    | LoadNeedsUnpickling
    | OptimizerStateMismatch
    | AdapterTargetsMissing
    | UpdatesLostToRounding
    | OptimizerWithoutGradients
    | GradientMissing
    | LossShapeMismatch
    | TargetDtypeMismatch
    | TargetAxesMismatch
    | TargetOutsideClasses
)
