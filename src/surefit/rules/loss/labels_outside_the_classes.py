"""Labels hold values that are no class of the predictions.

## What happens
Predictions of C classes take labels from 0 to C - 1. Others are out of bounds: `IndexError: Target
5 is out of bounds` on a CPU, a failed device-side assertion on a GPU. They come from labels that
begin at 1, from one class more than the model was told, from -1 for "no label", from the 255 that
marks unlabelled pixels.

## Why it matters
Only a batch that holds such a label fails, so that it can wait for hours; and on a GPU the
assertion shows at another line, after which no call works.

## What to do
Labels that begin at 1: subtract 1. One class more: `num_labels`, or the last layer. A marker for
"no label": `ignore_index` of the loss, or -100 in its place, which every cross entropy ignores.

## How it is recognised
Cross entropy was given targets of the right shape and dtype, and some of them are below 0 or not
below the number of classes. Which way is right follows from all values of the batch: that they run
from exactly 1 to C, that they are C consecutive integers from a later one on, that there is a
single marker. Where they do not tell, each way is named.
"""

from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import INDICES, TargetRange
from surefit.laws.label_values import with_counts
from surefit.laws.written_numbers import CLASSES, written_in_model
from surefit.lineage.lineage import Lineage
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

ENOUGH = 3
"""Labels for each class, after which one that never came is taken for one that there is not."""


@RULE.on(TargetRange)
def labels_are_no_classes(broken: TargetRange, case: Case) -> Finding:
    lineage = case.lineage(broken.target)
    born = lineage.birth(of=holds_at_least(broken.classes)) or lineage.birth(of=holds_below(0))
    label = lineage.role() or born
    count = written_in_model(case, broken.classes, CLASSES)
    chosen: Written | None = label if broken.begins_late or broken.signs else None
    if broken.marker is not None:
        chosen = loss_constructor(broken, case)
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
        remedies=remedies(broken, case, label, count, lineage),
    )


def headline(broken: TargetRange) -> str:
    name, predictions = broken.target.name, broken.predictions.name
    classes, last = counted(broken.classes, "class"), broken.classes - 1
    if broken.begins_late:
        return (
            f"{name} runs from {broken.least} to {broken.greatest}, and {predictions} has"
            f" {classes}, counted from 0 to {last}."
        )
    if broken.marker is not None:
        return (
            f"{name} holds {broken.marker}, which is none of the {classes} 0 to {last}, and"
            f" {broken.called} does not ignore it."
        )
    if broken.classes == 1:
        return f"{predictions} has a single class, and {name} runs to {broken.greatest}."
    shown = with_counts(broken.outside)
    return f"{name} holds {shown}, and {predictions} has {classes}, 0 to {last}."


def remedies(
    broken: TargetRange,
    case: Case,
    label: Producer | None,
    count: Producer | None,
    lineage: Lineage,
) -> Iterator[Remedy | Fix | None]:
    if broken.begins_late or broken.signs:
        yield from shifts(broken, label, lineage)
    elif broken.marker is not None:
        yield ignoring(broken, case)
    elif broken.classes == 1:
        yield Fix("For two classes in one output use `nn.BCEWithLogitsLoss`.", choice=True)
        yield Fix("Give the model an output for each class.", choice=True)
        return
    if broken.greatest >= broken.classes and broken.least >= 0:
        yield wider(broken, count, case)
    if broken.least < 0 and broken.marker is None and not broken.signs:
        text = (
            f"If negative labels mean none, drop these rows or set `ignore_index={broken.least}`."
        )
        yield Fix(text, choice=True)


def shifts(broken: TargetRange, label: Producer | None, lineage: Lineage) -> Iterator[Remedy]:
    """Each label becomes another one, and the sum of all says whether it was each."""
    labels, least = broken.labels, broken.least
    assert labels is not None
    total = labels.total - least * labels.elements
    by = f" - {least}"
    if broken.signs:
        total, by = (labels.total + labels.elements) / 2, " + 1) // 2"
    must = replace(
        broken.converted(broken.expected, labels.elements, total),
        at_least=ENOUGH * (broken.classes + 1),
        changes_the_past=True,
    )
    places: list[Producer | Written | None] = [label, lineage.handed_over(), broken.target.use]
    for at in places:
        value = at.value if isinstance(at, Producer) else None
        yield Shift(at=at, by=by, value=value, must=must)


def ignoring(broken: TargetRange, case: Case) -> Remedy:
    labels, (value, count) = broken.labels, broken.outside[0]
    assert labels is not None
    lost = f"{counted(count, 'label')} of this batch then take no part in the loss"
    must = replace(
        broken.gets(INDICES), supervised=labels.elements - count, total=labels.total - value * count
    )
    return SetArgument(
        at=loss_constructor(broken, case),
        name="ignore_index",
        value=f"{value:g}",
        words=f"If {value:g} marks positions without a label: `ignore_index={value:g}`; {lost}.",
        must=must,
        choice=True,
    )


def loss_constructor(broken: TargetRange, case: Case) -> Written | None:
    """The call that says what the loss ignores: its constructor, or the call of the function."""
    if broken.inside:
        return None
    return case.constructor_of_callee(broken.use) or broken.use


def wider(broken: TargetRange, count: Producer | None, case: Case) -> Remedy | Fix:
    """One class for each label there is."""
    expected = broken.greatest + 1
    words = f"Give the model {expected} classes, one for each label from 0 to {broken.greatest}"
    shape = broken.predictions.shape
    must = replace(
        broken.gets(INDICES, shape=(*shape[:1], expected, *shape[2:])),
        total=None,  # a wider layer draws more random numbers, and what is drawn later is another
        changes_the_past=True,
        at_least=ENOUGH * expected,
    )
    if count is not None:
        return ReplaceWith(
            at=count,
            text=str(expected),
            words=f"{words}: {expected} at {count.place}.",
            must=must,
            choice=True,
        )
    return SetArgument(
        at=case.model_constructor(),
        name="num_labels",
        value=str(expected),
        words=f"{words}: {code(f'num_labels={expected}')}.",
        must=must,
        choice=True,
    )
