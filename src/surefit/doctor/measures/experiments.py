"""What a fork of the training process tried with the live model and the live batch."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True)
class Reach:
    """Which positions a position of attention sees."""

    before: int
    """Positions back, at most."""
    after: int
    """Positions ahead, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSeen:
    """The first operation that lets an influence through: its inputs keep it apart, its output does
    not."""

    name: str
    """`softmax`, `view`, `lstm`."""
    place: Place | None
    """The user's line."""
    module: str
    """Path of the innermost module that runs it; empty for the model itself."""
    kind: str
    """Class of that module."""
    created_at: Place | None
    """The user's line that created that module."""
    inputs: tuple[tuple[int, ...], ...]
    """Shapes of its tensors."""
    axes: tuple[tuple[int, ...], ...]
    """Of each: axes along which the influence is kept apart; empty where it has none."""
    output: tuple[int, ...]
    numbers: bool
    """Its output has fractions: no integers, no truth values."""
    arguments: dict[str, str]
    """Plain ones: `dim`, `batch_first`, and numbers without a name as `0`, `1`."""
    pairs: bool = False
    """An input holds a value for each pair of rows or positions."""
    reach: Reach | None = None
    """Of attention between positions, where weights or a mask tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedChange:
    """One experiment."""

    why_not: str = ""
    """It was not made."""
    on: str = ""
    """`7 of 60 rows`, `12 of 20 positions`."""
    size: int = 0
    """Rows or positions along the axis."""
    changed: float = 0.0
    """Largest change of what must stay as it is, over the largest value; 0: it stays."""
    output: tuple[int, ...] = ()
    """Shape of the output that changed."""
    judged: int = 0
    """Outputs that have such an axis."""
    operation: OperationSeen | None = None
    hidden: bool = False
    """Of padding: what must be seen is not, and what is seen must not be."""
    argument: str = ""
    """The input that was changed."""
    beside: bool = False
    """Of padding: the row was given beside a longer one, and what is picked of it is zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutputs:
    """Outputs of a model for rows with different inputs."""

    rows: int = 0
    """That were compared; 0 where they could not be."""
    equal: bool = False
    """All rows have the same output."""
    output: tuple[int, ...] = ()
    operation: OperationSeen | None = None
    """The user's first operation that is given different rows and gives back equal ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimented(Measure):
    """Of one call of a model."""

    model: str
    """Its class."""
    place: Place | None
    """The user's line that called it."""
    training: bool
    step: int
    why_not: str = ""
    """Nothing was tried: no fork here, or it was ended."""
    assumed: bool = False
    """Nothing but the shape of the labels says which axis holds the rows."""
    repeats: bool = True
    """The same input gives the same output: else rows, padding and future are not tried."""
    rows: TriedChange = TriedChange()
    outputs: RowOutputs = RowOutputs()
    order: TriedChange = TriedChange()
    """Rows in another order: outputs must follow."""
    padding: TriedChange = TriedChange()
    future: TriedChange = TriedChange()
    pass_rows: int = 0
    """Rows of the forward pass whose operations were looked at; 0: none was."""
    operations: tuple[OperationSeen, ...] = ()
    """Of that pass: operations in the user's own lines that laws judge by sizes alone."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateCall:
    """A call of `generate` from one line."""

    place: Place | None
    model: str
    calls: int
    rows: int
    padded: int
    """Rows with padding at their end."""
    step: int
    tokens: int = 0
    """Padding tokens at the end of the row that has most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Measure):
    """Prompts that decoder-only models were given to continue."""

    lines: tuple[GenerateCall, ...]
