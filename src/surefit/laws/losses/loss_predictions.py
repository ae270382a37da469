"""Predictions and targets that a loss does not take for what they are."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_inputs import LossSite
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.loss_law import FEWEST_STEPS, LAW, expression_at, measures

NOT_LOGITS = {
    "cross_entropy": ("softmax", "sigmoid", "tanh"),
    "binary_cross_entropy_with_logits": (
        *("softmax", "sigmoid", "tanh", "relu", "log_softmax", "logsigmoid"),
    ),
    "nll_loss": ("softmax", "sigmoid"),
}
"""Loss -> operations whose results it does not take."""
TAKES = {"nll_loss": "log-probabilities"}
NO_LOGARITHM = 0.01
"""A logarithm of a probability is not above zero, but for rounding."""
MUCH_BEYOND = 0.1
FEW_BEYOND = 0.01
FEWEST_LOOKED = 8
FEWEST_TARGETS = 64
FEWEST_SQUARE = 2
FEWEST_PARTNERS = 4
RANGES = {"softmax": "0 … 1", "sigmoid": "0 … 1", "tanh": "-1 … 1", "relu": "0 and above"}
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
SYMMETRIC = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfLossSite(BrokenLaw):
    """Something that is wrong at a line that computes a loss."""

    site: LossSite


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLogits(OfLossSite):
    """A loss that takes logits, or log-probabilities, is given something else."""

    takes: str
    operation: str
    """That predictions come out of; empty where it is known only that they are no logarithms."""


class SoftmaxOverOtherAxis(OfLossSite):
    """The classes of a prediction do not sum to one: other axes do."""


class OneClass(OfLossSite):
    """A softmax, in the loss or before it, over a single class: the result is always the same."""


class OutOfReach(OfLossSite):
    """Targets that predictions cannot reach, by the last operation or by the loss."""


class EveryLabelIgnored(OfLossSite):
    """No target takes part in the loss."""


class SidesSwapped(OfLossSite):
    """The loss is given the targets as predictions."""


class TargetsDoNotCount(OfLossSite):
    """Weights of zero, or a smoothing of 1, leave nothing of the targets."""


class OneTarget(OfLossSite):
    """Every target that a loader gave is the same."""


class OnePartnerForAll(OfLossSite):
    """Logits of every row against every row, and one column is the target of all rows."""


class NormalisedOverRows(OfLossSite):
    """Similarities of embeddings that were divided by norms over the batch."""


def violations_at_losses(recording: Recording) -> Iterator[OfLossSite]:
    for measure in measures(recording):
        for site in measure.sites:
            if site.looked and site.place is not None:
                yield from list(violations_of_site(site, recording))[:1]


def violations_of_site(site: LossSite, recording: Recording) -> Iterator[OfLossSite]:
    yield from one_class(site, recording)
    yield from every_label_ignored(site, recording)
    yield from not_logits(site, recording)
    yield from other_axis(site, recording)
    yield from sides_swapped(site, recording)
    yield from targets_do_not_count(site, recording)
    yield from out_of_reach(site, recording)
    yield from one_target(site, recording)
    yield from one_partner_for_all(site, recording)
    yield from normalised_over_rows(site, recording)


def broken(site: LossSite, recording: Recording, said: str, *facts: Fact) -> dict[str, object]:
    """What every violation at a loss has."""
    assert site.place is not None
    calls = f"{counted(site.looked, 'call')} looked at, of {site.calls:,}"
    return {
        "use": expression_at(recording, site.place),
        "said": said,
        "facts": (*facts, Fact(code(site.name), calls)),
        "steps": FEWEST_STEPS,
        "fault": f"{LAW.name} {site.place} {site.name}",
        "site": site,
    }


def range_of(site: LossSite) -> tuple[Fact, ...]:
    if site.least is None or site.greatest is None:
        return ()
    return (Fact("predictions", f"{site.least:.4g} … {site.greatest:.4g}"),)


def not_logits(site: LossSite, recording: Recording) -> Iterator[NotLogits]:
    takes = TAKES.get(site.name, "logits")
    operation = site.produced_by if site.produced_by in NOT_LOGITS.get(site.name, ()) else ""
    positive = site.greatest is not None and site.greatest > NO_LOGARITHM
    raw = site.name == "nll_loss" and not site.produced_by and positive
    if not operation and not raw:
        return
    given = f"the output of `{operation}`" if operation else "numbers above 0"
    said = f"{code(site.name)} takes {takes} and is given {given}."
    yield NotLogits(
        **broken(site, recording, said, *range_of(site)),  # type: ignore[arg-type]
        takes=takes,
        operation=operation,
    )


def other_axis(site: LossSite, recording: Recording) -> Iterator[SoftmaxOverOtherAxis]:
    classes = 1 if len(site.shape) > 1 else 0
    if site.name != "nll_loss" or site.produced_by != "log_softmax":
        return
    if site.axis is None or site.axis == classes:
        return
    said = (
        f"`log_softmax` goes over axis {site.axis} of {shape_of(site.shape)}, and `nll_loss` takes"
        f" axis {classes} for the classes."
    )
    yield SoftmaxOverOtherAxis(**broken(site, recording, said))  # type: ignore[arg-type]


def one_class(site: LossSite, recording: Recording) -> Iterator[OneClass]:
    if site.name == "cross_entropy" and site.classes == 1:
        said = (
            f"`cross_entropy` is given predictions {shape_of(site.shape)}: over one class its"
            " softmax is always 1 and the loss always 0."
        )
        yield OneClass(**broken(site, recording, said))  # type: ignore[arg-type]
        return
    axis = site.axis
    single = axis is not None and axis < len(site.shape) and site.shape[axis] == 1
    if site.produced_by in ("softmax", "log_softmax") and single and site.least == site.greatest:
        said = (
            f"`{site.produced_by}` goes over axis {axis} of {shape_of(site.shape)}, which has one"
            f" entry: every prediction is {site.least:g}."
        )
        yield OneClass(**broken(site, recording, said))  # type: ignore[arg-type]


def every_label_ignored(site: LossSite, recording: Recording) -> Iterator[EveryLabelIgnored]:
    if not 0 < site.labels == site.ignored:
        return
    said = f"Every label is {site.ignore_index}, which {code(site.name)} ignores: nothing is left."
    ignored = Fact("labels", f"{site.labels:,}, {site.ignored:,} of them {site.ignore_index}")
    yield EveryLabelIgnored(**broken(site, recording, said, ignored))  # type: ignore[arg-type]


def sides_swapped(site: LossSite, recording: Recording) -> Iterator[SidesSwapped]:
    if site.swapped != site.looked or site.name in SYMMETRIC:
        return
    said = (
        f"{code(site.name)} takes predictions first and targets second; the gradient goes through"
        " its second argument."
    )
    yield SidesSwapped(**broken(site, recording, said))  # type: ignore[arg-type]


def targets_do_not_count(site: LossSite, recording: Recording) -> Iterator[TargetsDoNotCount]:
    if site.smoothing >= 1:
        said = "`label_smoothing=1.0` spreads each target over all classes: the labels are lost."
    elif site.weights and site.zero_weights == site.weights:
        said = f"All {site.weights:,} weights of the classes are 0."
    elif site.nothing_weighs == site.looked:
        said = (
            f"Every target has weight 0: {site.zero_weights:,} of the {site.weights:,} weights of"
            " the classes are 0."
        )
    else:
        return
    yield TargetsDoNotCount(**broken(site, recording, said))  # type: ignore[arg-type]


def one_target(site: LossSite, recording: Recording) -> Iterator[OneTarget]:
    """Targets that a script makes itself are often constant: in a GAN, in a contrastive loss."""
    least, greatest = site.target_least, site.target_greatest
    rows = site.looked * (site.target_shape[0] if site.target_shape else 1)
    if site.loaded != site.looked or site.looked < FEWEST_LOOKED or rows < FEWEST_TARGETS:
        return
    if least is None or least != greatest:
        return
    said = (
        f"Every target that the loader gave is {least:g}, in all {counted(site.looked, 'batch')}"
        " looked at: there is nothing to tell apart."
    )
    yield OneTarget(**broken(site, recording, said))  # type: ignore[arg-type]


def one_partner_for_all(site: LossSite, recording: Recording) -> Iterator[OnePartnerForAll]:
    """Not where columns are a positive and negatives side by side, as from a queue: there column 0
    is right, and the logits are no product."""
    least = site.target_least
    if site.square_products != site.looked or site.looked < FEWEST_SQUARE:
        return
    if least is None or least != site.target_greatest or site.shape[0] < FEWEST_PARTNERS:
        return
    said = (
        f"{code(site.name)} is given logits {shape_of(site.shape)}, of every row against every row"
        f" of the batch, and every target is {least:g}: all rows are to match the same row."
    )
    targets = Fact("targets", f"{site.labels:,}, all of them {least:g}")
    yield OnePartnerForAll(**broken(site, recording, said, targets))  # type: ignore[arg-type]


def normalised_over_rows(site: LossSite, recording: Recording) -> Iterator[NormalisedOverRows]:
    """Norms over the batch are right where a product sums over the batch, too: a correlation of
    features, which has no row for each row."""
    if not 0 < site.over_rows == site.looked:
        return
    said = (
        f"The logits {shape_of(site.shape)} are products of embeddings that were divided by their"
        " norms over the batch axis, not over the features: they are no cosine similarities."
    )
    yield NormalisedOverRows(**broken(site, recording, said, *range_of(site)))  # type: ignore[arg-type]


def out_of_reach(site: LossSite, recording: Recording) -> Iterator[OutOfReach]:
    binary = site.name in BINARY
    share = site.beyond / site.elements if site.elements else 0.0
    if share < (FEW_BEYOND if binary else MUCH_BEYOND):
        return
    least, greatest = site.target_least or 0.0, site.target_greatest or 0.0
    beyond = f"{site.beyond:,} of {site.elements:,} targets ({share:.0%})"
    if binary:
        said = (
            f"{code(site.name)} takes targets from 0 to 1, and {beyond} are outside:"
            f" they go from {least:.4g} to {greatest:.4g}."
        )
    else:
        said = (
            f"The output of `{site.produced_by}` is {RANGES.get(site.produced_by, '')}, and"
            f" {beyond} are outside: they go from {least:.4g} to {greatest:.4g}."
        )
    yield OutOfReach(**broken(site, recording, said, *range_of(site)))  # type: ignore[arg-type]
