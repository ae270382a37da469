"""What was found in text rows: counts, lengths, duplicates, and what a limit on tokens costs."""

from dataclasses import dataclass

from surefit.doctor.findings import Place


@dataclass(frozen=True, slots=True)
class Lengths:
    """Over rows. The percentiles are lengths that occur: so many rows are no longer."""

    shortest: int
    median: int
    percentile_95: int
    longest: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of what the model is given, of the last answer, and of both together."""

    input: Lengths
    target: Lengths
    row: Lengths


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows of `first` to `last` tokens, both included."""

    first: int
    last: int | None
    """None for all that are longer than the bins before."""

    rows: int
    over_limit: int
    """How many of these rows are longer than the limit."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What the answers are, over rows."""

    distinct: int
    most_frequent: str
    rows_with_it: int
    share: float
    baseline_f1: float
    """The mean token F1 of a model that answers every row with it."""

    in_input: int
    """Rows whose target stands word for word in their input."""

    in_white_space: int
    """Rows whose target begins or ends with white space."""


@dataclass(frozen=True, slots=True)
class SpecialNames:
    """Names of special tokens, such as `<eos>`, in the text of rows."""

    rows: int
    become_tokens: bool
    """Whether the template lets them become these tokens; otherwise they stay text."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows, and the similarity of their inputs, between 0 and 1."""

    one: Place
    other: Place
    similarity: float


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Rows that have a twin: the same answer to the same, or nearly the same, input."""

    groups: int
    exact: int
    """Rows with a twin that is the same character for character."""

    near: int
    """Rows with other twins only."""

    exact_pair: Pair | None
    near_pair: Pair | None
    held_out: int
    leaks: int
    """How many of so many held-out rows would have a twin among the training rows if rows were
    drawn at random without regard to twins."""

    contradictory: int
    """Rows whose input occurs with another target, too."""

    contradictory_pair: Pair | None


@dataclass(frozen=True, slots=True)
class LimitCost:
    """What a limit on the tokens of a row costs."""

    limit: int
    rows_over: int
    tokens_over: int
    """Tokens beyond the limit, of rows that can be cut to it; a cut costs these or a few more."""

    unusable: int
    """Rows that would not fit without any of their input."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What the limit that was asked for does."""

    tokens: int
    rows_cut: int
    tokens_lost: int
    """Of prompts; with conversations also of the oldest answers."""

    supervised_lost: int
    """How many of these the loss would have seen."""

    unusable: int


@dataclass(frozen=True, slots=True)
class Padding:
    """The share of places in batches of one epoch that hold padding."""

    batch_size: int
    shuffled: float
    bucketed: float


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is in the rows of one source, as one tokenizer and template see them."""

    source: str
    kind: str
    notes: tuple[str, ...]
    rows: int
    """All rows of the source."""

    bad_rows: int
    """Rows that could not be read or made into tokens, or that do not fit into the limit."""

    measured: int
    """Rows that could be read and made into tokens, too long or not; targets and lengths are
    those of these rows."""

    characters: Sizes
    """Without the template."""

    tokens: Sizes
    """Before any cut, with the template and EOS."""

    histogram: tuple[Bin, ...]
    tokens_in_all: int
    """Within the limit: what a model is trained on."""

    tokens_in_loss: int
    limit: Limit
    limits: tuple[LimitCost, ...]
    targets: Targets
    special_names: SpecialNames
    duplicates: Duplicates
    padding: Padding


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a row as the model sees it, special tokens by their names."""

    text: str
    supervised: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A row as the model sees it, and why it is shown."""

    title: str
    place: Place
    tokens: int
    tokens_whole: int
    """Before the limit cut it."""

    tokens_in_loss: int
    parts: tuple[Part, ...]
