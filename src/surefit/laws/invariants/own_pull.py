"""The gradient of the loss moves every prediction that has a target, and towards that target."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from surefit.doctor.findings import Fact
from surefit.doctor.measures.output_pulls import OutputPulls, PulledOutput, TargetPull, UnpulledPart
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("own_pull", "every prediction is moved towards its own target")
FEWEST_LOOKED = 4
FEWEST_JUDGED = 32
NEARLY = 0.99
PROOF_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledBroken(BrokenLaw):
    """Seen on the gradient at an output of a model."""

    output: PulledOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPulled(PulledBroken):
    """Rows, positions or columns with targets never have a gradient."""

    part: UnpulledPart | None = None
    what: str = ""
    """`row`, `position`, `column`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedAway(PulledBroken):
    """Every prediction is moved away from its target: the loss is maximised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsCompete(PulledBroken):
    """Rows of a batch share the probability of each class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingAlone(PulledBroken):
    """Padded positions have a gradient, and no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelWantedLeast(PulledBroken):
    """Soft targets give the labelled class the least of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsOfOtherRows(PulledBroken):
    """Each prediction is moved towards the target of another row."""

    of: str = ""


def violations_of(case: Case) -> Iterator[PulledBroken]:
    for output in outputs(case.recording):
        if output.backward is None or output.looked < FEWEST_LOOKED:
            continue
        if FEWEST_LOOKED <= output.padded == output.padding_alone:
            yield padding_alone(case, output)
            continue
        known = [target for target in output.targets if is_enough(target)]
        for broken in (found for target in known for found in by_target(case, output, target)):
            own = any(is_towards(target) for target in known)
            if not own or isinstance(broken, NotPulled | RowsCompete):
                yield broken
                break


def outputs(recording: Recording) -> Iterator[PulledOutput]:
    for measure in recording.of_first_rank(OutputPulls):
        yield from measure.outputs


def is_enough(target: TargetPull) -> bool:
    few = target.judged < FEWEST_JUDGED and not target.left_out
    return target.looked >= FEWEST_LOOKED and not few


def is_towards(target: TargetPull) -> bool:
    return 0 < NEARLY * target.judged <= target.towards


def by_target(case: Case, output: PulledOutput, target: TargetPull) -> Iterator[PulledBroken]:
    if target.steps_away == target.looked:
        yield pushed_away(case, output, target)
    if target.steps_least == target.looked:
        yield wanted_least(case, output, target)
    if target.steps_over_rows == target.looked and is_towards(target):
        yield rows_compete(case, output, target)
    for words, steps in target.steps_of_others.items():
        if steps == target.looked and not is_towards(target):
            yield of_others(case, output, target, words)
    if is_towards(target):
        for part in target.left_out:
            if is_cut(part, target):
                yield not_pulled(case, output, target, part)


def is_cut(part: UnpulledPart, target: TargetPull) -> bool:
    """As a slice or an index leaves out, not as a choice by content does. The first steps of a
    sequence are left out on purpose, too, and so are both of its edges."""
    first, last, count = part.indices[0], part.indices[-1], len(part.indices)
    if last - first + 1 != count or (first > 0 and last < part.size - 1):
        return False
    all_but_one = count == part.size - 1
    if part.axis == 0 and (first > 0 or all_but_one):
        return count == 1 or all_but_one or (not target.repeats and len(target.shape) == 1)
    if count == 1:
        return first > 0 or target.kind == "classes"
    return is_column(part, target) and first > 0


def is_column(part: UnpulledPart, target: TargetPull) -> bool:
    return target.kind == "numbers" and part.axis == len(target.shape) - 1 > 0


def axis_words(part: UnpulledPart, target: TargetPull) -> str:
    if part.axis == 0:
        return "row"
    return "column" if is_column(part, target) else "position"


Kind = TypeVar("Kind", bound=PulledBroken)


def violation(kind: type[Kind], case: Case, output: PulledOutput, said: str) -> Kind:
    assert output.backward is not None
    return kind(
        use=line_of(case, output.backward),
        said=said,
        facts=(Fact("output", f"{shape_of(output.shape)} of {code(output.model)}"),),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {kind.__name__} {output.backward}",
        lasting=False,
        output=output,
    )


def with_facts(broken: Kind, target: TargetPull, *more: Fact) -> Kind:
    shown = Fact("targets", f"{shape_of(target.shape)}, {target.kind}")
    looked = f"the gradient of the loss at the output, at {counted(target.looked, 'step')}"
    return replace(broken, facts=(*broken.facts, shown, *more, Fact("looked at", looked)))


def pushed_away(case: Case, output: PulledOutput, target: TargetPull) -> PushedAway:
    said = (
        f"A step moves the predictions of {code(output.model)} away from their targets, at each of"
        f" {counted(target.looked, 'step')} looked at: the loss is maximised."
    )
    moved = f"{target.towards:,} of {counted(target.judged, 'prediction')}; all are expected"
    return with_facts(
        violation(PushedAway, case, output, said), target, Fact("moved towards its target", moved)
    )


def wanted_least(case: Case, output: PulledOutput, target: TargetPull) -> LabelWantedLeast:
    said = (
        "The cross entropy gives the labelled class the smallest share of all classes, where it"
        f" should give it the largest: so at each of {counted(target.looked, 'step')} looked at."
    )
    return with_facts(violation(LabelWantedLeast, case, output, said), target)


def rows_compete(case: Case, output: PulledOutput, target: TargetPull) -> RowsCompete:
    said = (
        "The loss normalises over the rows of the batch, not over the classes: its gradient at the"
        f" output of {code(output.model)} sums to 0 over the rows of each class."
    )
    return with_facts(violation(RowsCompete, case, output, said), target)


def of_others(
    case: Case, output: PulledOutput, target: TargetPull, words: str
) -> TargetsOfOtherRows:
    said = (
        f"A step moves each prediction of {code(output.model)} towards the target of another row,"
        f" as of {words}: only {target.towards:,} of {counted(target.judged, 'prediction')} are"
        " moved towards their own."
    )
    broken = with_facts(violation(TargetsOfOtherRows, case, output, said), target)
    return replace(broken, of=words)


def not_pulled(
    case: Case, output: PulledOutput, target: TargetPull, part: UnpulledPart
) -> NotPulled:
    what, count = axis_words(part, target), len(part.indices)
    said = (
        f"{counted(count, what)} of {part.size:,} {'has' if count == 1 else 'have'} targets and"
        f" no part in the loss: its gradient there is 0 at each of"
        f" {counted(target.looked, 'step')} looked at."
    )
    broken = violation(NotPulled, case, output, said)
    several = f"{what}s" if count > 1 else what
    left_out = Fact("without a gradient", f"{several} {numbers(part)} of {part.size:,}")
    return replace(with_facts(broken, target, left_out), part=part, what=what)


def numbers(part: UnpulledPart) -> str:
    """`31`, `1 to 31`: counted from 0, as an index does."""
    first, last = part.indices[0], part.indices[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def padding_alone(case: Case, output: PulledOutput) -> PaddingAlone:
    said = (
        f"The loss counts the padded positions and leaves out the real ones: at each of"
        f" {counted(output.padded, 'step')} looked at, its gradient at the output of"
        f" {code(output.model)} is 0 everywhere but at padding."
    )
    return violation(PaddingAlone, case, output, said)


def watched(recording: Recording) -> MeasuredOn:
    judged = [
        (output, target)
        for output in outputs(recording)
        for target in output.targets
        if target.looked >= FEWEST_LOOKED
    ]
    padded = [output for output in outputs(recording) if output.padded >= FEWEST_LOOKED]
    if judged:
        output, target = judged[0]
        looked = counted(target.looked, "step")
        return MeasuredOn(on=f"the gradient at outputs of {code(output.model)} at {looked}")
    if padded:
        return MeasuredOn(on=f"padded positions of {code(padded[0].model)}")
    if not any(True for _ in outputs(recording)):
        return MeasuredOn(why_not="no gradient at an output of a model was seen")
    return MeasuredOn(why_not="no tensor of a batch or a loss has the shape of targets")
