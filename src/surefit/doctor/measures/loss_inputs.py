"""What losses were given during training: predictions, targets, and tokens against tokens."""

from dataclasses import dataclass, field

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure

SHIFTS = (-1, 0, 1, 2)
"""Positions that targets are compared with inputs at: 1 is the next token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSite:
    """Calls of one loss function from one line, with gradients."""

    name: str
    place: Place | None
    calls: int
    looked: int
    """Calls that were looked at; counts below are over these."""
    reduction: str = "mean"
    shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    target_dtype: str = ""
    classes: int = 0
    """Of a loss over classes."""
    produced_by: str = ""
    """The operation that every call's predictions came out of, views aside: `softmax`, `sigmoid`;
    empty where it was another one, or not always the same."""
    axis: int | None = None
    """That a softmax went over, where nothing came between it and the loss."""
    least: float | None = None
    greatest: float | None = None
    """Of the predictions; of the targets below, ignored ones left out."""
    target_least: float | None = None
    target_greatest: float | None = None
    elements: int = 0
    """Targets; `beyond` are those outside of what `produced_by` can reach, or of [0, 1] for a
    binary cross entropy."""
    beyond: int = 0
    labels: int = 0
    """Class indices; `ignored` are those that the loss passes over."""
    ignored: int = 0
    empty: int = 0
    """Calls in which every class index was ignored."""
    ignore_index: int = -100
    loaded: int = 0
    """Calls whose targets are a tensor that a loader gave."""
    square_products: int = 0
    """Calls with as many classes as rows, whose logits are what one part of a model computed times
    what another did."""
    over_rows: int = 0
    """Those of them whose two factors were divided by norms over the rows, not the features."""
    swapped: int = 0
    """Calls whose targets were in a graph while the predictions were not."""
    smoothing: float = 0.0
    weights: int = 0
    """Entries of `weight` or `pos_weight`; `zero_weights` are those of exactly zero."""
    zero_weights: int = 0
    class_weights: tuple[float, ...] = ()
    """Of a few classes; of a single `pos_weight`, 1 and that."""
    class_rows: tuple[int, ...] = ()
    """Targets of each of these classes."""
    nothing_weighs: int = 0
    """Calls in which every target that counts has weight zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSite:
    """Targets of one line that are as many as the tokens that the model was given."""

    name: str
    """The loss function, or `gather` of log-probabilities."""
    place: Place | None
    model: str
    """Class of the model."""
    looked: int
    rows: int = 0
    width: int = 0
    """Tokens of a row, and targets of a row, at the last call looked at."""
    targets: int = 0
    reduction: str = "mean"
    matches: tuple[int, ...] = (0,) * len(SHIFTS)
    """Scored targets that equal the token so many positions on, for each of `SHIFTS`; `compared`
    are those for which there is such a token."""
    compared: tuple[int, ...] = (0,) * len(SHIFTS)
    scored: int = 0
    """Targets that the loss depends on."""
    unscored: int = 0
    """The rest: ignored, masked or sliced away."""
    constant: int | None = None
    """The token, where every scored target is one and the same; `others` are unscored targets of
    other kinds that are no padding."""
    others: int = 0
    first_scored: tuple[int, int] | None = None
    """Least and greatest position of the first scored token of a row, in the row of the inputs."""
    begins_alike: bool = True
    """All rows begin with the same token."""
    lengths: dict[str, int] = field(default_factory=dict)
    """Lengths of prompts that the user's frames know by a name."""
    padded: int = 0
    """Positions of padding, by the mask or by the model's own padding index; `padded_scored` are
    those whose target counts."""
    padded_scored: int = 0
    padded_target: int | None = None
    """What the targets there are, where that is one number which no other target is."""
    pad: int | None = None
    rows_looked: int = 0
    beginnings: int = 0
    """Rows whose first tokens are scored and whose last ones, at least two, are not."""
    ends: int = 0
    """Rows that end with the end token; `ends_scored` are those in which it is a target."""
    ends_scored: int = 0
    end: int | None = None
    end_is_pad: bool = False
    causal: bool = False
    """The model is a causal one by its class or its only recurrent layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossMeasure(Measure):
    """At losses of one process."""

    sites: tuple[LossSite, ...] = ()
    tokens: tuple[TokenSite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collated:
    """Labels of rows before and after one collator."""

    kind: str
    made_at: Place | None
    looked: int
    rows: int
    width: int
    """Labels of a row in the batch."""
    equal_lengths: bool
    """Every row had as many labels as the batch is wide."""
    labels: int
    """In the rows; `supervised` are those other than -100,
    `supervised_after` those of the batch."""
    supervised: int
    supervised_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollatedLabels(Measure):
    """At collators of transformers, in one process."""

    collators: tuple[Collated, ...] = ()
