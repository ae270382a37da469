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
class SourceViolation:
    """What all have."""

    node: ast.AST
    birth: ast.AST


@dataclass(frozen=True, slots=True)
class WidthMismatch(SourceViolation):
    """A layer is called with another number of features than it takes."""

    layer: LayerValue
    tensor: TensorValue
    axis: int
    takes: int
    has: int


@dataclass(frozen=True, slots=True)
class JoinMismatch(SourceViolation):
    """Tensors that are joined or added have different sizes on one axis."""

    how: Literal["cat", "stack", "sum"]
    tensors: TensorPair
    nodes: NodePair
    axis: int
    """The one that differs, counted from the last: -1."""


@dataclass(frozen=True, slots=True)
class ProductMismatch(SourceViolation):
    """Two matrices whose inner sizes differ are multiplied."""

    tensors: TensorPair
    nodes: NodePair


@dataclass(frozen=True, slots=True)
class ReshapeMismatch(SourceViolation):
    """`view` or `reshape` asks for another number of elements."""

    node: ast.Call
    tensor: TensorValue
    target: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class NonContiguousView(SourceViolation):
    """`view` of a tensor that is not contiguous."""

    node: ast.Call
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class MaskMismatch(SourceViolation):
    """A mask does not fit the tensor that it is applied to."""

    tensor: TensorValue
    mask: TensorValue
    mask_node: ast.AST


@dataclass(frozen=True, slots=True)
class IndexOutsideTable(SourceViolation):
    """A number is looked up that a table has no row for."""

    layer: LayerValue
    tensor: TensorValue
    id: int


@dataclass(frozen=True, slots=True)
class NotDivisible(SourceViolation):
    """A width cannot be divided among heads or groups."""

    width_name: str
    width: int
    count_name: str
    count: int


@dataclass(frozen=True, slots=True)
class BackwardWithoutGraph(SourceViolation):
    """`backward` is called on a tensor without a graph."""

    node: ast.Call
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class BackwardOfNonScalar(SourceViolation):
    """`backward` is called on several numbers."""

    node: ast.Call
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class GraphFreed(SourceViolation):
    """`backward` goes through a graph that another one has freed."""

    node: ast.Call
    operation: RecordedOperation
    freed_by: ast.AST
    how: Literal["twice", "before", "carried"]
    """`twice` in one iteration, `before` the loop, or `carried` from iteration to iteration."""
    same: bool
    """One loss, two calls."""
    calls: tuple[ast.AST, ...]
    """The calls that led to this `backward`, outermost first."""


@dataclass(frozen=True, slots=True)
class SavedValueOverwritten(SourceViolation):
    """`backward` needs a value that was written to."""

    node: ast.Call
    operation: RecordedOperation
    writer: Literal["step", "write"]
    earlier: bool
    """The graph is of an earlier iteration of the loop."""


@dataclass(frozen=True, slots=True)
class LeafModifiedInPlace(SourceViolation):
    """A leaf that requires a gradient is written to while operations are recorded."""

    target: ast.AST
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class InferenceTensorInTraining(SourceViolation):
    """A tensor that was created in inference mode is given to a trainable layer."""

    layer: LayerValue
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class DeviceMismatch(SourceViolation):
    """An operation takes tensors of two devices."""

    left: TensorValue
    left_node: ast.AST
    moved: str


@dataclass(frozen=True, slots=True)
class MoveDiscarded(SourceViolation):
    """A statement moves a tensor and drops the result."""

    node: ast.Call


@dataclass(frozen=True, slots=True)
class LayerDtypeMismatch(SourceViolation):
    """A layer is given a tensor of another dtype than its weights have."""

    layer: LayerValue
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class StateDictMismatch(SourceViolation):
    """A state dict does not have the names or shapes of the model that it is loaded into."""

    node: ast.Call
    model: Module
    saved: StateDictValue
    tensors: dict[str, Shape]


@dataclass(frozen=True, slots=True)
class CheckpointLoadedWhole(SourceViolation):
    """A dict with a state dict in it is loaded as if it were one."""

    node: ast.Call
    model: Module
    checkpoint: DictValue
    entry: str


@dataclass(frozen=True, slots=True)
class CheckpointKeyMissing(SourceViolation):
    """A checkpoint is asked for an entry that it was saved without."""

    node: ast.Subscript
    checkpoint: DictValue
    key: str


@dataclass(frozen=True, slots=True)
class LoadNeedsUnpickling(SourceViolation):
    """`torch.load` reads tensors alone, and another object was saved."""

    node: ast.Call
    saved_at: ast.AST
    class_name: str


@dataclass(frozen=True, slots=True)
class OptimizerStateMismatch(SourceViolation):
    """An optimizer's state is loaded into one with other parameters."""

    node: ast.Call
    kind: str
    saved: GroupShapes
    has: GroupShapes


@dataclass(frozen=True, slots=True)
class AdapterTargetsMissing(SourceViolation):
    """Adapters are put on layers that a model does not have."""

    targets: tuple[str, ...]
    model: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdatesLostToRounding(SourceViolation):
    """An optimizer holds parameters of a dtype that is too coarse for its steps."""

    kind: str
    dtype: str
    rate: float
    cast: ast.AST
    model: str


@dataclass(frozen=True, slots=True)
class OptimizerWithoutGradients(SourceViolation):
    """An optimizer steps whose layers get no gradient; those that get one no optimizer holds."""

    optimizer: ast.AST
    outside: tuple[LayerValue, ...]


@dataclass(frozen=True, slots=True)
class GradientMissing(SourceViolation):
    """A line computes with the gradients of parameters of which some have none."""

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

    @property
    def tensors(self) -> TensorPair:
        return self.predictions, self.target


@dataclass(frozen=True, slots=True)
class LossShapeMismatch(SourceViolation):
    """A loss compares two tensors entry by entry whose shapes do not fit."""

    inputs: LossInputs


@dataclass(frozen=True, slots=True)
class TargetDtypeMismatch(SourceViolation):
    """The targets of a loss have a dtype that it does not take."""

    inputs: LossInputs
    takes: str


@dataclass(frozen=True, slots=True)
class TargetAxesMismatch(SourceViolation):
    """The targets of a loss have another number of axes than its predictions ask for."""

    inputs: LossInputs
    how: Literal["column", "square", "indices", "one hot", "classes last", "flattened"]
    """`column`: class indices as (rows, 1). `square`: (rows, 1) beside (rows,), compared entry by
    entry. `indices`: (rows,) beside (rows, outputs) of a binary loss. `one hot`: integers in the
    shape of the predictions. `classes last`: predictions (rows, steps, classes). `flattened`: one
    side is, the other is not."""


@dataclass(frozen=True, slots=True)
class TargetOutsideClasses(SourceViolation):
    """A class index is written that the predictions have no column for."""

    inputs: LossInputs
    label: int
    classes: int
