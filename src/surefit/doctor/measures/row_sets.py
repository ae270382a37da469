"""What rows a model was trained on and evaluated on, by their content."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSeen:
    """A loader that rows came from."""

    place: Place | None
    """Where it was created."""
    dataset: int
    """The same number: the same dataset. 0 where none was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRows:
    """Rows that one model was trained on."""

    model: int
    rows: int
    """Looked at, one that came again counted again."""
    distinct: int
    width: int
    continuous: bool
    """Their numbers are such that rows are not equal by chance."""
    pairs: int
    """Of rows of one batch."""
    equal_pairs: int
    loaders: tuple[LoaderSeen, ...] = ()
    place: Place | None = None
    """Of the call of the model."""
    batches: int = 0
    different_batches: int = 0
    """Batches with other rows than the one before."""
    made_at: Place | None = None
    """Where the model was created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshRows:
    """Rows that were evaluated for the first time, at one optimizer step."""

    step: int
    rows: int
    trained: int
    """Of them: equal or nearly equal to rows that the model was trained on before."""
    renewed: int
    """Times that weights had been set other than by an optimizer until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedRows:
    """Rows that one model was evaluated on from one place."""

    model: int
    stack: tuple[Place, ...]
    """The user's lines at the call of the model, innermost first."""
    library: str
    """The function of a library that evaluates, where one does."""
    calls: int
    evaluating: int
    """Calls with the model in evaluation mode."""
    cycles: int
    """Optimizer steps before which there was such a call."""
    rows: int
    """Distinct ones."""
    equal: int
    """Of them: trained on before."""
    rearranged: int
    """The same elements in another order, as a flipped picture has them."""
    near_looked: int = 0
    near: int = 0
    """Rows whose nearest training rows are much nearer than the next ones."""
    copies: int = 0
    """How many such training rows there are, in the median."""
    near_distance: float = 0.0
    next_distance: float = 0.0
    loader: LoaderSeen | None = None
    step: int = 0
    """Optimizer steps before the first call of which rows were held against those trained on."""
    trained_batch: bool = False
    """The very rows of a training batch, in the same order."""
    rounds: tuple[FreshRows, ...] = ()
    """Several where each fold of a cross validation has rows of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSets(Measure):
    """Of one process."""

    steps: int
    trained: tuple[TrainedRows, ...]
    evaluated: tuple[EvaluatedRows, ...]
