"""What models and losses are given in training and in evaluation, in a few figures."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureFigures:
    """Of one feature or channel of an input, over the rows looked at."""

    mean: float
    spread: float
    """Standard deviation of its elements."""
    row_spread: float
    """Standard deviation of the means of rows."""
    least: float
    greatest: float
    zeros: float
    """Share of elements that are exactly 0."""
    negative: float
    """Share of elements below 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFigures:
    """Of ids, over the rows looked at."""

    first: dict[str, int]
    """First tokens of rows, padding left out -> rows; the most frequent ones."""
    last: dict[str, int]
    rows_with: dict[str, int]
    """Rows that have a token anywhere: of those that begin or end rows in some phase."""
    masked: dict[str, int]
    """Ids at positions that a mask leaves out -> rows; the most frequent ones."""
    runs: dict[str, int]
    """Ids that end a row several times over, where no mask was given -> rows."""
    padded_left: int
    """Rows whose mask leaves out their beginning."""
    padded_right: int
    positions: bool
    """The model was given positions, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseInput:
    """One argument of a model, or one side of a loss, from one line in one phase."""

    taker: str
    """Class of the model, or name of the loss function."""
    model: int
    """Number of the model; 0 for a loss."""
    name: str
    """Of the argument."""
    trained: bool
    """A backward pass came to what was computed."""
    grad: bool
    """Gradients were on."""
    stack: tuple[Place, ...]
    """The user's lines, innermost first."""
    call: CallSite | None
    """Of the model, where the user's own line calls it."""
    position: int
    """Of the argument, where it has one."""
    library: str
    """The function of a library that evaluates, where one does."""
    step: int
    """Optimizer steps before the first call."""
    calls: int
    looked: int
    rows: int
    """Looked at."""
    dtype: str
    shape: tuple[int, ...]
    """Of the first batch."""
    axis: str
    """`feature` or `channel`: what figures are taken of."""
    features: tuple[FeatureFigures, ...] = ()
    chosen: tuple[int, ...] = ()
    """Numbers of these features among all."""
    tokens: TokenFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseInputs(Measure):
    """Of one process."""

    steps: int
    inputs: tuple[PhaseInput, ...]
