"""What reaches a model in evaluation was prepared as in training."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.phase_inputs import FeatureFigures, PhaseInput, PhaseInputs
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import is_held_out
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.rows.input_relations import (
    OrderChange,
    ScaleChange,
    absent,
    order_change,
    scale_change,
)

LAW = Law("prepared_alike", "what reaches the model in evaluation was prepared as in training")

FEWEST_ROWS = 16
FEWEST_PADDED = 8
STEPS_MORE = 1
"""After an evaluation, so that a proof comes past it."""
TARGET = "target"
LABELS = ("label", TARGET, "y_true")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedOtherwise(BrokenLaw):
    """An input of a model, or a target of a loss, that differs between the phases."""

    trained: PhaseInput
    evaluated: PhaseInput
    clear: bool = False
    """Enough to speak of, where the source shows the cause."""

    @property
    def is_target(self) -> bool:
        known = self.evaluated
        named = any(word in known.name for word in LABELS) and known.tokens is None
        return not known.model or named


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherScale(PreparedOtherwise):
    """Most features have another width or lie elsewhere."""

    change: ScaleChange


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherOrder(PreparedOtherwise):
    """The same features at other positions."""

    change: OrderChange


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureAbsent(PreparedOtherwise):
    """Features that are 0 in all rows of one phase and in none of the other."""

    features: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFirstToken(PreparedOtherwise):
    """All rows of one phase begin with a token that begins none of the other."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskLeftOut(PreparedOtherwise):
    """Padding is masked in training and visible in evaluation."""

    token: str


def watched(recording: Recording) -> MeasuredOn:
    if not any(known.trained for measure in recording.all(PhaseInputs) for known in measure.inputs):
        return MeasuredOn(why_not="no inputs of a model's training were seen")
    looked = list(pairs(recording))
    if not looked:
        return MeasuredOn(why_not="no evaluation of a trained model was seen")
    rows = sum(evaluated.rows for evaluated, _ in looked)
    return MeasuredOn(on=f"{counted(len(looked), 'input')} in {counted(rows, 'evaluated row')}")


def pairs(recording: Recording) -> Iterator[tuple[PhaseInput, list[PhaseInput]]]:
    """Each input of an evaluation with those of training that it could be like."""
    for measure in recording.all(PhaseInputs):
        for evaluated in measure.inputs:
            if evaluated.trained or measure.process.rank not in (None, 0):
                continue
            alike = [
                known
                for known in measure.inputs
                if known.trained and (known.model, known.name) == (evaluated.model, evaluated.name)
            ]
            if alike and (evaluated.library or is_held_out(recording, evaluated.stack)):
                yield evaluated, alike


def violations_of(case: Case) -> Iterator[PreparedOtherwise]:
    """Where it differs from every line of training."""
    looked = [pair for pair in pairs(case.recording) if is_compared(case.recording, pair[0])]
    for evaluated, alike in looked:
        found = [violation(evaluated, trained) for trained in alike]
        broken = next((known for known in found if known is not None), None)
        if broken is None or any(known is None for known in found):
            continue
        if not fits_elsewhere(broken, looked):
            yield broken


def fits_elsewhere(
    broken: PreparedOtherwise, looked: list[tuple[PhaseInput, list[PhaseInput]]]
) -> bool:
    """Another evaluation of the same input is like training: this one tests something else."""
    here = broken.evaluated.model, broken.evaluated.name
    return any(
        (evaluated.model, evaluated.name) == here
        and evaluated.rows >= FEWEST_ROWS
        and any(violation(evaluated, trained) is None for trained in alike)
        for evaluated, alike in looked
    )


def is_compared(recording: Recording, evaluated: PhaseInput) -> bool:
    """Not a target beside predictions that were brought to its scale."""
    if evaluated.model or evaluated.name != TARGET:
        return bool(evaluated.model)
    predictions = [
        known
        for measure in recording.all(PhaseInputs)
        for known in measure.inputs
        if known.name == "input" and not known.model and known.stack[:1] == evaluated.stack[:1]
    ]
    changes = [scale_change(evaluated, known) for known in predictions if not known.trained]
    return any(change is not None and change.extreme for change in changes)


def violation(evaluated: PhaseInput, trained: PhaseInput) -> PreparedOtherwise | None:
    """The first way in which they differ."""
    if min(evaluated.rows, trained.rows) < FEWEST_ROWS:
        return None
    ways: tuple[Callable[[PhaseInput, PhaseInput], PreparedOtherwise | None], ...]
    ways = (feature_absent, other_order, other_scale)
    if evaluated.tokens is not None or trained.tokens is not None:
        ways = (mask_left_out, other_first_token)
    found = (way(evaluated, trained) for way in ways)
    return next((broken for broken in found if broken is not None), None)


def feature_absent(evaluated: PhaseInput, trained: PhaseInput) -> FeatureAbsent | None:
    here, there = tuple(absent(trained, evaluated)), tuple(absent(evaluated, trained))
    features, empty, full = (here, evaluated, trained) if here else (there, trained, evaluated)
    if not features:
        return None
    every = len(features) == len(evaluated.features)
    what = f"all of `{evaluated.name}`" if every else numbered(evaluated, features)
    are = "are" if len(features) > 1 and not every else "is"
    return FeatureAbsent(
        **common(evaluated, trained),
        said=f"{what[0].upper()}{what[1:]} {are} 0 in every row of {phase(empty)} and in no row of"
        f" {phase(full)}.",
        facts=tuple(figures(known) for known in (trained, evaluated)),
        features=features,
    )


def other_order(evaluated: PhaseInput, trained: PhaseInput) -> OtherOrder | None:
    change = order_change(trained, evaluated)
    if change is None:
        return None
    axes = f"{evaluated.axis}s"
    return OtherOrder(
        **common(evaluated, trained),
        said=f"The {axes} of `{evaluated.name}` come in another order in evaluation than in"
        f" training: {len(change.moved)} of {len(evaluated.features)} are at other positions.",
        facts=tuple(
            moved_feature(evaluated, trained, first, second) for first, second in change.moved[:4]
        ),
        change=change,
    )


def moved_feature(evaluated: PhaseInput, trained: PhaseInput, first: int, second: int) -> Fact:
    before = trained.features[trained.chosen.index(first)]
    after = evaluated.features[evaluated.chosen.index(second)]
    return Fact(
        f"{trained.axis} {first} in training",
        f"{width_words(before)}; in evaluation {trained.axis} {second} is {width_words(after)}",
    )


def other_scale(evaluated: PhaseInput, trained: PhaseInput) -> OtherScale | None:
    change = scale_change(trained, evaluated)
    if change is None:
        return None
    what = f"`{evaluated.name}`" if evaluated.model else f"The target of `{evaluated.taker}`"
    return OtherScale(
        **common(evaluated, trained),
        said=f"{what} is on another scale in evaluation ({widths(evaluated)}) than in training"
        f" ({widths(trained)}).",
        facts=(figures(trained), figures(evaluated)),
        certain=change.extreme,
        clear=change.clear,
        change=change,
    )


def other_first_token(evaluated: PhaseInput, trained: PhaseInput) -> OtherFirstToken | None:
    first, second = trained.tokens, evaluated.tokens
    if first is None or second is None:
        return None
    here, there = first_of_all(trained), first_of_all(evaluated)
    if here is None or second.first.get(here):
        return None
    both = there is not None and not first.first.get(there)
    if not both and second.rows_with.get(here):
        return None  # packed rows begin anywhere
    also = f", all of evaluation with token {there}" if both else ", none of evaluation does"
    return OtherFirstToken(
        **common(evaluated, trained),
        said=f"All {trained.rows:,} rows of `{trained.name}` in training begin with token"
        f" {here}{also}.",
        facts=(beginnings(trained), beginnings(evaluated)),
        certain=both,
        token=here,
    )


def first_of_all(known: PhaseInput) -> str | None:
    first = known.tokens.first if known.tokens is not None else {}
    return next((token for token, rows in first.items() if rows == known.rows), None)


def mask_left_out(evaluated: PhaseInput, trained: PhaseInput) -> MaskLeftOut | None:
    first, second = trained.tokens, evaluated.tokens
    if first is None or second is None or len(first.masked) != 1:
        return None
    (token,) = first.masked
    padded = second.runs.get(token, 0)
    if first.masked[token] < FEWEST_PADDED or padded < FEWEST_PADDED or second.masked:
        return None
    return MaskLeftOut(
        **common(evaluated, trained),
        said=f"The model gets a mask for the padding of `{trained.name}` in training and none in"
        f" evaluation, where {padded:,} of {counted(evaluated.rows, 'row')} are padded.",
        facts=(
            Fact("training", f"token {token} masked in {first.masked[token]:,} rows"),
            Fact("evaluation", f"no mask; token {token} fills {padded:,} rows"),
        ),
        token=token,
    )


def common(evaluated: PhaseInput, trained: PhaseInput) -> dict[str, Any]:
    taker = evaluated.taker if evaluated.model else TARGET
    return {
        "use": Expression(evaluated.stack[0] if evaluated.stack else Place("the script")),
        "steps": evaluated.step + STEPS_MORE,
        "fault": f"{LAW.name}: {taker} {evaluated.name}",
        "trained": trained,
        "evaluated": evaluated,
    }


def phase(known: PhaseInput) -> str:
    return "training" if known.trained else "evaluation"


def numbered(known: PhaseInput, features: tuple[int, ...]) -> str:
    names = ", ".join(str(number) for number in features[:4])
    more = ", ..." if len(features) > 4 else ""
    plural = "s" if len(features) > 1 else ""
    return f"{known.axis}{plural} {names}{more} of `{known.name}`"


def widths(known: PhaseInput) -> str:
    """Over all features: the range, and the mean of means."""
    least = min(feature.least for feature in known.features)
    greatest = max(feature.greatest for feature in known.features)
    return f"{least:.4g} to {greatest:.4g}"


def width_words(feature: FeatureFigures) -> str:
    return f"{feature.mean:.4g} ± {feature.spread:.4g}"


def figures(known: PhaseInput) -> Fact:
    told = ", ".join(width_words(feature) for feature in known.features[:3])
    more = ", ..." if len(known.features) > 3 else ""
    of = f"of {counted(len(known.features), known.axis)}" if len(known.features) > 1 else ""
    rows = counted(known.rows, "row")
    return Fact(f"in {phase(known)}", f"mean ± std {of}: {told}{more} ({rows})".replace("  ", " "))


def beginnings(known: PhaseInput) -> Fact:
    assert known.tokens is not None
    told = ", ".join(f"{token} in {rows:,}" for token, rows in known.tokens.first.items())
    return Fact(f"in {phase(known)}", f"first tokens of {counted(known.rows, 'row')}: {told}")
