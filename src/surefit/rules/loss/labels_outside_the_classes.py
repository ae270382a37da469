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
The loss that failed is a cross entropy with targets of the right shape and kind, and some of them
are below 0 or not below the number of classes. Which way is right is told by all values of the
batch: that they run from exactly 1 to C, that they are C numbers in a row from a later one on, that
there is a single marker. Where they do not tell, each way is named and none is tried.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, shape_of
from surefit.evidence.class_counts import (
    DEFAULT,
    ClassCount,
    Untold,
    class_count,
    untold_classifier,
)
from surefit.evidence.dataset_labels import DatasetLabels, dataset_labels
from surefit.evidence.failed_losses import (
    INDICES,
    OF_CLASSES,
    FailedLoss,
    failed_loss,
    given_name,
    inside,
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import in_every_call, must
from surefit.evidence.label_sources import Step, is_tensor, made_in
from surefit.evidence.label_values import LabelValues, label_values, with_counts
from surefit.source.edits import Edit, argument_added, replaced, wrapped
from surefit.source.reading import called

DECIDES = "which labels the batch holds, and how many classes the predictions have"
RULE = Rule(
    "SF405",
    "labels-outside-the-classes",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"IndexError: Target -?\d+ is out of bounds", DECIDES),
        Symptom("device-side assert triggered", DECIDES, "cross_entropy|nll_loss"),
    ),
)

ENOUGH = 3
"""Labels for each class, after which one that never came is taken for one that there is not."""
VOID = 255
WHICH = "what these labels mean, only you know"
LAYERS = {"cross_entropy": "CrossEntropyLoss", "nll_loss": "NLLLoss"}


@dataclass(frozen=True, slots=True)
class Outside:
    """The labels, how many classes there are, and which values are none of them."""

    labels: LabelValues
    classes: int
    values: list[tuple[float, int]]

    @property
    def least(self) -> int:
        return int(self.labels.values[0])

    @property
    def greatest(self) -> int:
        return int(self.labels.values[-1])

    @property
    def begins_late(self) -> bool:
        """As many in a row as there are classes, from 1 on; from a later number on, each of them
        must have come."""
        in_a_row = self.greatest - self.least + 1 == self.classes and self.classes > 1
        every = self.least == 1 or self.labels.different == self.classes
        return self.least > 0 and in_a_row and every

    @property
    def marker(self) -> int | None:
        """A single value apart from the classes, of labels for many places of a row."""
        if len(self.values) != 1 or self.classes < 2:
            return None
        value = int(self.values[0][0])
        apart = value == -1 or (value >= VOID and value > self.classes)
        return value if apart and self.labels.different > 2 else None

    @property
    def signs(self) -> bool:
        return self.labels.values == (-1.0, 1.0) and self.classes == 2

    @property
    def too_many(self) -> bool:
        near = self.greatest < 2 * self.classes + 2 or 2 * self.labels.different > self.greatest
        return self.least >= 0 and near and self.classes > 1


HOW_MANY = "how many classes there are only you can choose"


@RULE.on(Crash)
def labels_are_no_classes(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    outside = values_outside(crash, loss, seen) if loss else None
    if loss is None or outside is None:
        return
    made = made_in(crash, loss, seen)
    if made is not None and made.of != "row" and not is_tensor(made):
        made = None
    whole = made is None and loss.call is None
    rows = dataset_labels(crash, seen) if whole else None
    if rows is not None and rows.axes > 1:
        rows = None  # labels of tokens: some of them are -100
    count = number_of_classes(crash, outside, seen)
    yield RULE.finding(
        place_of(loss, outside, made or rows, count, seen),
        headline(crash, loss, outside),
        facts=tuple(facts(crash, loss, outside, made or rows, count)),
        why=why(outside),
        fixes=tuple(fixes(crash, loss, outside, made or rows, count, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def values_outside(crash: Crash, loss: FailedLoss, seen: Recording) -> Outside | None:
    right = loss.target.shape == loss.wanted and loss.target.dtype in INDICES
    if loss.name not in OF_CLASSES or not right or not loss.classes:
        return None
    labels = label_values(seen, crash, loss)
    found = labels.outside(loss.classes) if labels and labels.all_known else []
    return Outside(labels, loss.classes, found) if labels and found else None


def number_of_classes(
    crash: Crash, outside: Outside, seen: Recording
) -> ClassCount | Untold | None:
    """Where it is chosen, or could have been."""
    found = class_count(seen, outside.classes)
    if found is None and outside.classes == DEFAULT:
        return untold_classifier(crash, seen)
    return found


def place_of(
    loss: FailedLoss,
    outside: Outside,
    made: Step | DatasetLabels | None,
    count: ClassCount | Untold | None,
    seen: Recording,
) -> Place:
    if outside.begins_late or outside.signs:
        return made.place if made else loss.own.place
    if outside.marker is not None:
        call = constructor(loss, seen)
        return Place(call[0], call[1].lineno, call[1].end_lineno) if call else loss.own.place
    return count.place if count is not None and outside.too_many else loss.own.place


def headline(crash: Crash, loss: FailedLoss, outside: Outside) -> str:
    name, given = target_name(crash, loss), given_name(crash, loss)
    classes = counted(outside.classes, "class")
    last = outside.classes - 1
    if outside.begins_late:
        return (
            f"{name} runs from {outside.least} to {outside.greatest}, and {given} has {classes},"
            f" counted from 0 to {last}."
        )
    if outside.marker is not None:
        return (
            f"{name} holds {outside.marker}, which is none of the {classes} 0 to {last}, and"
            f" {loss_name(loss)} does not ignore it."
        )
    if outside.classes == 1:
        return f"{given} has a single class, and {name} runs to {outside.greatest}."
    shown = with_counts(outside.values)
    return f"{name} holds {shown}, and {given} has {classes}, 0 to {last}."


def facts(
    crash: Crash,
    loss: FailedLoss,
    outside: Outside,
    made: Step | DatasetLabels | None,
    count: ClassCount | Untold | None,
) -> Iterator[Fact]:
    labels = outside.labels
    different = f"{labels.different} different, from {outside.least} to {outside.greatest}"
    yield Fact(target_name(crash, loss), f"{shape_of(loss.target.shape or ())}, {different}")
    yield Fact("outside", with_counts(outside.values))
    yield Fact(given_name(crash, loss), shape_of(loss.given.shape or ()))
    if isinstance(count, Untold):
        said = f"{count.place}  {count.text} does not say `num_labels`, so that there are"
        yield Fact(counted(outside.classes, "class"), f"{said} {DEFAULT}")
    elif count is not None:
        text = " ".join(count.source.lines[count.node.lineno - 1].split())
        yield Fact(counted(outside.classes, "class"), f"{count.place}  {text}")
    if made is not None:
        yield Fact("made at", f"{made.place}  {made.text}")


def why(outside: Outside) -> str:
    if outside.marker is not None:
        return "A label is an index into the predictions; only the value to ignore is none."
    return f"A label is an index into {counted(outside.classes, 'prediction')}, counted from 0."


def fixes(
    crash: Crash,
    loss: FailedLoss,
    outside: Outside,
    made: Step | DatasetLabels | None,
    count: ClassCount | Untold | None,
    seen: Recording,
) -> Iterator[Fix]:
    labels = outside.labels
    plain = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        loss.wanted or (),
        INDICES,
        labels.elements,
        labels.total,
    )
    if outside.begins_late or outside.signs:
        yield shifted(crash, loss, outside, made, plain, seen)
        if outside.begins_late:
            also = "is a class 0" if outside.least == 1 else "are classes from 0 on"
            more = f"If there {also} too, give the model {outside.greatest + 1} classes."
            lowest = "is 0" if outside.least == 1 else f"is less than {outside.least}"
            yield Fix(more, why_not_tried=f"no label of this batch {lowest}")
    elif outside.marker is not None:
        yield ignoring(crash, loss, outside, plain, seen)
    elif outside.classes == 1:
        yield Fix("For two classes in one output use `nn.BCEWithLogitsLoss`.", why_not_tried=WHICH)
        yield Fix("Or give the model an output for each class.", why_not_tried=WHICH)
    elif outside.too_many:
        yield wider(crash, loss, outside, count, plain, seen)
    else:
        yield from choices(outside)


def shifted(
    crash: Crash,
    loss: FailedLoss,
    outside: Outside,
    made: Step | DatasetLabels | None,
    plain: LossGets,
    seen: Recording,
) -> Fix:
    """Each label becomes another one, and the sum of all says whether it was each."""
    labels = outside.labels
    least = outside.least
    before, behind = ("", f" - {least}") if outside.begins_late else ("(", " + 1) // 2")
    total = labels.total - least * labels.elements
    if outside.signs:
        total = (labels.total + labels.elements) / 2
    name = (f"`{made.text}`" if made else target_name(crash, loss)).strip("`")
    if isinstance(made, DatasetLabels) and made.of == "column":
        name = "one"
    said = f"Count the classes from 0: `{name} - {least}`."
    if outside.signs:
        said = f"Make classes 0 and 1 of -1 and 1: `({name} + 1) // 2`."
    if name == "one":
        said = said.replace(": `", f", each label of `{made.text if made else name}`: `")
    ignored = (loss.target.least or 0) < 0 and not outside.signs
    edit = None if ignored else arithmetic(loss, made, before, behind)
    if edit is None:
        return Fix(said, why_not_tried="where the labels are made was not found in your source")
    enough = ENOUGH * (outside.classes + 1)
    return Fix(
        said,
        edit,
        must(
            crash,
            seen,
            replace(plain, total=total, converted=True, at_least=enough, changes_the_past=True),
        ),
    )


def arithmetic(
    loss: FailedLoss, made: Step | DatasetLabels | None, before: str, behind: str
) -> Edit | None:
    if isinstance(made, DatasetLabels):
        return made.each(f"{before}{{}}{behind}")
    if made is not None:
        return around(made, before, behind)
    node, source = loss.target_node, loss.source
    if node is None or source is None:
        return None
    return in_every_call(loss, node, lambda one: around(Step(source, one, "batch"), before, behind))


def around(step: Step, before: str, behind: str) -> Edit:
    """`x - 1`; what binds less tightly than a minus gets brackets."""
    tight = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant
    if not isinstance(step.node, tight):
        before, behind = f"{before}(", f"){behind}"
    return wrapped(step.source, step.node, before, behind)


def ignoring(
    crash: Crash, loss: FailedLoss, outside: Outside, plain: LossGets, seen: Recording
) -> Fix:
    value, count = int(outside.values[0][0]), outside.values[0][1]
    lost = f"{counted(count, 'label')} of this batch then take no part in the loss"
    said = f"If {value} marks places without a label: `ignore_index={value}`; {lost}."
    call = constructor(loss, seen)
    source = seen.source(call[0]) if call else None
    if call is None or source is None or len(loss.target.shape or ()) < 2:
        if next(inside(crash, loss), None):
            said = f"If {value} marks places without a label, put -100 there; {lost}."
        return Fix(said, why_not_tried=WHICH)
    if source.argument(call[1], "ignore_index") is not None:
        return Fix(said, why_not_tried="the loss is told to ignore another value, which counts too")
    edit = argument_added(source, call[1], "ignore_index", str(value))
    left = replace(
        plain,
        supervised=outside.labels.elements - count,
        total=outside.labels.total - value * count,
    )
    return Fix(said, edit, must(crash, seen, left))


def constructor(loss: FailedLoss, seen: Recording) -> tuple[str, ast.Call] | None:
    """The call that says what the loss ignores: its constructor, or the call of the function."""
    if loss.call is None or loss.source is None:
        return None
    if called(loss.call) == loss.name:
        return loss.source.file, loss.call
    kind = LAYERS[loss.name]
    if isinstance(loss.call.func, ast.Call) and called(loss.call.func) == kind:
        return loss.source.file, loss.call.func
    text = ast.unparse(loss.call.func)
    layer = next((one.layer for one in loss.own.values if one.text == text and one.layer), None)
    source = seen.source(layer.made_at) if layer else None
    line = layer.made_at.line if layer and layer.made_at else None
    found = [one for one in source.calls_in(line) if called(one) == kind] if source and line else []
    return (source.file, found[0]) if source is not None and len(found) == 1 else None


def wider(
    crash: Crash,
    loss: FailedLoss,
    outside: Outside,
    count: ClassCount | Untold | None,
    plain: LossGets,
    seen: Recording,
) -> Fix:
    wanted = outside.greatest + 1
    said = f"Give the model {wanted} classes, one for each label from 0 to {outside.greatest}"
    if count is None:
        return Fix(
            f"{said}: `num_labels={wanted}`, or as wide a last layer.",
            why_not_tried="where the number of classes is chosen was not found in your source",
        )
    shape = loss.given.shape or ()
    if isinstance(count, Untold):
        edit = argument_added(count.source, count.call, "num_labels", str(wanted))
        how = f"`num_labels={wanted}` for {count.text} at {count.place}"
    else:
        edit = replaced(count.source, count.node, str(wanted))
        how = f"{wanted} for {count.name} at {count.place}"
        return Fix(f"{said}: {how}.", edit, why_not_tried=HOW_MANY)
    gets = replace(
        plain,
        total=None,  # a wider layer draws more random numbers, and what is drawn later is another
        shape=(*shape[:1], wanted, *shape[2:]),
        changes_the_past=True,
        at_least=ENOUGH * wanted,
    )
    return Fix(f"{said}: {how}.", edit, must(crash, seen, gets))


def choices(outside: Outside) -> Iterator[Fix]:
    """The values do not tell what they are."""
    if outside.least < 0:
        yield Fix(
            f"If negative labels mean none, drop these rows or set `ignore_index={outside.least}`.",
            why_not_tried=WHICH,
        )
    if outside.greatest >= outside.classes:
        last = outside.classes - 1
        yield Fix(
            f"Map the labels to 0 … {last}, or give the model a class for each of them.",
            why_not_tried=WHICH,
        )
