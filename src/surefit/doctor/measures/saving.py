"""What was saved, kept and loaded, as far as it can tell whether that was meant."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """A state dict, a list of parameters or a module that shares its tensors with the model that is
    trained, and that was used after these had changed."""

    how: str
    """`loaded`, `saved`; or `kept`, under a name that says it is the best."""
    model: str
    taken_at: Place | None
    """Line of `state_dict()`; unknown where it is only `kept`."""
    taken_step: int
    """Optimizer steps before that."""
    used_at: Place | None
    used_step: int
    tensors: int
    changed: int
    """Of these, those whose values were overwritten in between."""
    itself: bool = True
    """Loaded into the model that it was taken of."""
    name: str = ""
    """As the user's code has it: `best_state`, `self.state_dict`."""
    function: str = ""
    """Where the name stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSeen:
    """`load_state_dict` that came back, once for each line."""

    place: Place | None
    model: str
    step: int
    times: int
    strict: bool
    given: int
    """Entries that it was given."""
    matched: int
    """Of these, those that the model has."""
    missing: int
    """Entries of the model that were not given."""
    first_given: tuple[str, ...] = ()
    """Of those that the model does not have."""
    first_missing: tuple[str, ...] = ()
    drop: str = ""
    add: str = ""
    """With one prefix taken off the given names, or put before them, `would_match` have the name
    and the shape of an entry of the model."""
    would_match: int = 0
    own: bool = False
    """All that it was given were the tensors of the model itself, unchanged."""
    file: str = ""
    """That the entries were read from, where `torch.load` gave them."""
    read_at: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TieSeen:
    """Parameters that were one tensor, and no longer are."""

    model: str
    names: tuple[str, ...]
    place: Place | None
    """Of the load that parted them."""
    step: int
    in_file: bool
    """They were one in what was loaded, and never in this model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveSeen:
    """A line that saves or keeps a state, and plain numbers in the variables of its function."""

    place: Place
    step: int
    what: str
    """`state_dict`, `save` or `deepcopy`."""
    numbers: dict[str, float]
    evaluation: int
    """Evaluations before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSeen:
    """Losses between two training steps that were computed without gradients."""

    step: int
    loss: float
    """Mean of the calls."""
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSeen:
    """The checkpoint that a Trainer calls the best."""

    metric: str
    greater: bool
    greater_given: bool
    """The direction was written down by the user, and not concluded from the metric's name."""
    arguments_at: Place | None
    series: tuple[tuple[int, float, float | None], ...]
    """Step, metric, evaluation loss."""
    losses: tuple[tuple[int, float], ...]
    """Step, training loss, as logged."""
    loads: bool
    """The best is loaded at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingSeen(Measure):
    """All that one process kept, saved and loaded."""

    state_dicts: int = 0
    saves: int = 0
    loads: tuple[LoadSeen, ...] = ()
    live: tuple[LiveState, ...] = ()
    ties: tuple[TieSeen, ...] = ()
    best_looks: int = 0
    """Looks at variables that are called the best and hold tensors."""
    tied: int = 0
    """Groups of parameters that are one tensor, at the last look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bests(Measure):
    """How the best state is chosen."""

    saves: tuple[SaveSeen, ...] = ()
    evaluations: tuple[EvaluationSeen, ...] = ()
    trainers: tuple[BestSeen, ...] = ()
    turns: int = 0
    """Evaluations after which training went on."""
    stepped_at: tuple[Place, ...] = ()
    """Lines of the user's functions that were running at a step of an optimizer."""
