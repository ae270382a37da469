"""How the rows of loaders were used, in what order, and how random numbers were drawn."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOrder:
    """Class labels of training rows, in the order in which they came."""

    place: Place | None
    """Of the loss, where no loader gave them."""
    rows: int
    batches: int
    single: int
    """Batches of several rows that have one class only."""
    classes: int
    runs: tuple[int, ...]
    """The class of each run of equal labels, the first of them."""
    changes: int
    """From one row to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWeight:
    """What a sampler gives to each row of a class."""

    label: int
    rows: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCoverage:
    """Which rows of a dataset were trained on, by the numbers that a sampler drew."""

    planned: int
    """Rows that the sampler draws from."""
    used: int
    """Of these, rows that were trained on."""
    fresh: tuple[int, ...]
    """In each way through, the first of them: rows that came for the first time."""
    alike: int = 0
    """Rows looked at that are equal, to the bit, to a row of another number."""
    stored_apart: int = 0
    """Of these, rows that differ in the array which the dataset stores them in."""
    looked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCopies:
    """What the workers of a loader gave that reads a stream."""

    groups: int
    """Times that each worker gave a batch."""
    equal_groups: int
    """Of these, times that all gave the same one."""
    distinct: int
    """Rows of the first way through, each counted once."""
    each: int
    """How often every single one of them came, where that is the same number for all; else 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderUse:
    """A loader that training took batches from."""

    place: Place | None
    stack: tuple[Place, ...]
    """The user's lines when it was created, innermost first."""
    taken_at: Place | None
    """The user's line that takes its batches."""
    rows: int | None
    """Of its dataset."""
    batch_size: int | None
    sampler: str
    """Class that draws the rows."""
    own_sampler: bool
    """The user's own class draws rows or batches."""
    shuffles: bool
    drops: bool
    streams: bool
    workers: int
    trained: int
    """Batches that a backward pass followed."""
    iterations: tuple[int, ...]
    """Training batches of each way through the loader, the first of them."""
    finished: int
    """Ways through that came to the end of the rows."""
    alike: int
    """Ways through, after the first, whose first batch has the same rows in the same order."""
    repeated: int
    """Training batches with the rows of the one before, each taken by a new iterator."""
    asked_after_the_end: int
    weights: int | None = None
    """Of a sampler that draws by weight."""
    class_weights: tuple[ClassWeight, ...] = ()
    """Where all rows of a class have the same weight, and not all classes."""
    labels_held: str = ""
    """Attribute of the dataset with a class label for each row, where a sampler draws by weight."""
    samples: int | None = None
    """Rows that it draws."""
    replicas: int | None = None
    """Of a sampler that shards rows."""
    epochs_set: int = 0
    """Different values that `set_epoch` gave it."""
    generator: str = ""
    """Attribute of the dataset that draws random numbers in its `__getitem__`."""
    batches: tuple[int, ...] = ()
    """What the first training batches hold, as one number each."""
    labels: LabelOrder | None = None
    coverage: RowCoverage | None = None
    copies: StreamCopies | None = None
    """Of a stream with several workers."""
    replayed: int = 0
    """Training batches, equal to the first ones and in their order, that came from no loader after
    this one had ended."""
    other_rows: int | None = None
    """Where a sampler draws the rows of another dataset: how many that has."""
    read_at: Place | None = None
    """The user's own code that reads a row or a stream of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSite:
    """A line that seeds random numbers."""

    function: str
    place: Place
    calls: int
    steps: int
    """Optimizer steps before which it was called."""
    first_step: int
    same: bool
    """Every time with the same number."""
    value: str
    drawn: int
    """Times that random numbers had been drawn since the call before."""
    trained: int
    """Calls that a forward pass with gradients followed, before the next one."""
    in_worker: bool = False
    """Called while a worker of a loader was at work; not while it imported the script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowUse(Measure):
    """Of one process."""

    steps: int
    loaders: tuple[LoaderUse, ...]
    seeds: tuple[SeedSite, ...]
    labels: LabelOrder | None = None
    """Where rows come from no loader: the targets of losses."""
    data_parallel: bool = False
    """The model is one that averages gradients over processes."""
