"""Labels hold values that are no class of the predictions.

## What happens
Predictions of C classes take labels from 0 to C - 1. Others are out of bounds: `IndexError: Target
5 is out of bounds` on a CPU, a failed device-side assertion on a GPU. They come from labels that
begin at 1, from one class more than the model has, from -1 or 255 for "no label".

## Why it matters
Only a batch that holds such a label fails, so that it can wait for hours; and on a GPU the
assertion shows at another line, after which no call works.

## What to do
Labels that begin at 1: subtract 1. One class more: `num_labels`, or the last layer. A marker for
"no label": `ignore_index` of the loss, or -100 in its place, which every cross entropy ignores.

## How it is recognised
Cross entropy was given targets of the right shape and dtype, and some are below 0 or not below the
number of classes. Which way is right follows from all values of the batch: that they run from
exactly 1 to C, or that there is a single marker. Where they do not tell, each way is named.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import TargetRange
from surefit.laws.values.label_values import with_counts
from surefit.laws.values.written_numbers import CLASSES, written_in_model
from surefit.lineage.producers import Producer
from surefit.lineage.properties import holds_at_least, holds_below
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.shift import Shift

DECIDES = "which labels the batch holds, and how many classes the predictions have"
SYMPTOMS = (
    Symptom(r"IndexError: Target -?\d+ is out of bounds", DECIDES),
    Symptom("device-side assert triggered", DECIDES, "cross_entropy|nll_loss"),
)
RULE = Rule("SF405", "labels-outside-the-classes", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(TargetRange)
def labels_are_no_classes(broken: TargetRange, case: Case) -> Finding:
    lineage = case.lineage(broken.target)
    born = lineage.birth(of=holds_at_least(broken.classes)) or lineage.birth(of=holds_below(0))
    label = lineage.role() or born
    count = written_in_model(case, broken.classes, CLASSES)
    ignores = None if broken.inside else case.constructor_of_callee(broken.use) or broken.use
    chosen: Written | None = label if broken.begins_late or broken.signs else None
    if broken.marker is not None:
        chosen = ignores
    elif broken.too_many and not broken.begins_late:
        chosen = count or label
    return case.finding(
        (chosen or broken.use).place,
        headline(broken),
        facts=(
            broken.target.fact(f"{broken.least} to {broken.greatest}"),
            Fact("outside", with_counts(broken.outside)),
            broken.predictions.fact(),
            *fact_at(counted(broken.classes, "class"), count),
            *fact_at("labels from", label),
        ),
        why="A label is an index into the predictions; only the value to ignore is none."
        if broken.marker is not None
        else f"A label is an index into {counted(broken.classes, 'prediction')}, counted from 0.",
        remedies=remedies(broken, case, label, count, ignores),
    )


def headline(broken: TargetRange) -> str:
    name, predictions = broken.target.name, broken.predictions.name
    classes, last = counted(broken.classes, "class"), broken.classes - 1
    if broken.marker is not None:
        return (
            f"{name} holds {broken.marker}, which is none of the {classes} 0 to {last}, and"
            f" {broken.called} does not ignore it."
        )
    if broken.classes == 1:
        return f"{predictions} has a single class, and {name} runs to {broken.greatest}."
    held = f"holds {with_counts(broken.outside)}"
    if broken.begins_late:
        held = f"runs from {broken.least} to {broken.greatest}"
    return f"{name} {held}, and {predictions} has {classes}, counted from 0 to {last}."


def remedies(
    broken: TargetRange,
    case: Case,
    label: Producer | None,
    count: Producer | None,
    ignores: Written | None,
) -> Iterator[Remedy | Fix]:
    if broken.begins_late or broken.signs:
        handed = case.lineage(broken.target).handed_over()
        for at in (label, handed, broken.target.use):
            value = at.value if isinstance(at, Producer) else None
            yield Shift(at=at, by=broken.shift, value=value, must=broken.shifted())
    elif broken.marker is not None:
        yield ignoring(broken, ignores)
    elif broken.classes == 1:
        yield Fix("For two classes in one output use `nn.BCEWithLogitsLoss`.", choice=True)
        yield Fix("Give the model an output for each class.", choice=True)
        return
    if broken.greatest >= broken.classes and broken.least >= 0:
        yield wider(broken, count, case)
    if broken.least < 0 and broken.marker is None and not broken.signs:
        ignored = f"`ignore_index={broken.least}`"
        yield Fix(f"If negative labels mean none, drop these rows or set {ignored}.", choice=True)


def ignoring(broken: TargetRange, at: Written | None) -> Remedy:
    value, count = broken.outside[0]
    must, text = broken.without(value, count), f"{value:g}"
    lost = f"{counted(count, 'label')} of this batch then take no part in the loss"
    words = f"If {text} marks positions without a label: `ignore_index={text}`; {lost}."
    return SetArgument(at=at, name="ignore_index", value=text, words=words, must=must, choice=True)


def wider(broken: TargetRange, count: Producer | None, case: Case) -> Remedy:
    """One class for each label there is."""
    text, must = str(broken.greatest + 1), broken.widened()
    words = f"Give the model {text} classes, one for each label from 0 to {broken.greatest}"
    if count is not None:
        words = f"{words}: {text} at {count.place}."
        return ReplaceWith(at=count, text=text, words=words, must=must, choice=True)
    at, words = case.model_constructor(), f"{words}: `num_labels={text}`."
    return SetArgument(at=at, name="num_labels", value=text, words=words, must=must, choice=True)
