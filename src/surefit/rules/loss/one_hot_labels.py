"""Rows of zeros and ones reach cross entropy where it takes class indices.

## What happens
Cross entropy takes one class index per prediction. Labels with a column per class (indicator
columns, `F.one_hot`, `LabelBinarizer`) are N × C targets for N predictions when flattened
(`Expected input batch_size (8) to match target batch_size (32)`); as they are, they are taken for
class probabilities (`Expected floating point type for target with class probabilities, got Long`).

## Why it matters
The message speaks of batch sizes, and none is wrong. A `view` that makes the numbers agree would
train on zeros and ones as if they were classes 0 and 1.

## What to do
If exactly one class is set in each row, take its index: `argmax(-1)`. If a row can have several or
none, use float labels and `BCEWithLogitsLoss`, which a classifier of transformers uses with
`problem_type="multi_label_classification"`.

## How it is recognised
The targets of a cross entropy have as many entries per prediction as there are classes, all zeros
and ones. `argmax` is proposed only where every row has exactly one.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import OF_CLASSES, TargetShape
from surefit.laws.values.label_values import LabelValues
from surefit.lineage.properties import size
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

DECIDES = "whether the targets have a column per class, and how many ones a row has"
SYMPTOMS = (
    Symptom(r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)", DECIDES),
    Symptom("Expected floating point type for target with class probabilities", DECIDES),
    Symptom("multi-target not supported|only batches of spatial targets", DECIDES),
)
RULE = Rule("SF403", "one-hot-labels", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

FLATTENERS = ("view", "reshape", "flatten", "ravel")
BINARY = "Use `nn.BCEWithLogitsLoss` and give float labels"
MULTI = 'Set `problem_type="multi_label_classification"` and give float labels'


@RULE.on(TargetShape)
def labels_have_a_column_per_class(broken: TargetShape, case: Case) -> Finding | None:
    shape, labels = rows_of_classes(broken, case), broken.labels
    if shape is None or labels is None or not labels.indicator or not labels.most_ones:
        return None
    target, predictions = broken.target, broken.predictions
    places = along(case.lineage(target), of=size(-1, broken.classes))
    rows = f"{shape[0]} rows of labels, {predictions.shape[0]} of predictions"
    return case.finding(
        (places[0] if places else broken.use).place,
        f"{target.name} is one-hot, {shape_of(shape)}; {broken.called} takes one class index per"
        f" prediction, {shape_of(broken.expected)}."
        if labels.one_hot
        else f"{target.name} is multi-label, {labels.fewest_ones} to {labels.most_ones} ones in a"
        f" row of {broken.classes}; {broken.called} takes one class index per prediction.",
        facts=(
            predictions.fact(counted(broken.classes, "class")),
            Fact(target.name, f"{target.dtype} {shape_of(shape)}, zeros and ones"),
            Fact("rows with a single one", f"{labels.single:,} of {labels.rows:,}"),
            *stored(labels),
        ),
        ruled_out=(Fact("batch size", rows),),
        why="The class of a row is the index of its one; as it stands, each zero is a target."
        if labels.one_hot
        else "With several ones or none in a row there is no single class to choose.",
        remedies=indices(broken, shape, labels, places, case)
        if labels.one_hot
        else (Fix(f"{MULTI if broken.inside else BINARY}: `.float()`.", choice=True),),
    )


def rows_of_classes(broken: TargetShape, case: Case) -> tuple[int, ...] | None:
    """The shape of the labels, before they were flattened, with an axis of classes."""
    shape, predictions = broken.target.shape, broken.predictions.shape
    if broken.loss not in OF_CLASSES or len(predictions) < 2 or broken.classes < 2:
        return None
    floats = broken.target.dtype.startswith(("float", "bfloat"))
    if (shape == predictions and not floats) or shape == (*broken.expected, broken.classes):
        return shape
    if len(predictions) == 2 and shape == (predictions[0] * broken.classes,):
        return broken.before_flattening(case, broken.classes)
    return None


def stored(labels: LabelValues) -> tuple[Fact, ...]:
    if not labels.stored:
        return ()
    return (Fact("in the whole dataset", f"{labels.stored_single:,} of {labels.stored:,}"),)


def indices(
    broken: TargetShape,
    shape: tuple[int, ...],
    labels: LabelValues,
    places: Sequence[Written],
    case: Case,
) -> Iterator[Remedy]:
    must = broken.converted(broken.expected, labels.rows, labels.places)
    second = shape == broken.predictions.shape and len(shape) > 2
    suffix = f".argmax({1 if second else -1})"
    for at in places:
        text = indices_of(at, case)
        words = f"Give the class indices as they are, {code(text)}, without `one_hot`."
        yield ReplaceWith(at=at if text else None, text=text, words=words, must=must)
    flat = shape != broken.target.shape
    last = before_flattening(broken, case) if flat else broken.target.use
    for site in (*places, last):
        words = f"Give class indices: {code((site.text if site else '') + suffix)}."
        yield Append(at=site, suffix=suffix, words=words, must=must)


def before_flattening(broken: TargetShape, case: Case) -> Written | None:
    """`labels` of `labels.view(-1)`."""
    node, source = case.node(broken.target.use), case.source(broken.use.place)
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in FLATTENERS and source:
            return case.expression(source, inner)
    return None


def indices_of(birth: Written, case: Case) -> str:
    """The class indices of `F.one_hot(indices, classes)`."""
    node, source = case.node(birth), case.source(birth.place)
    if source is None or not isinstance(node, ast.Call):
        return ""
    of = source.argument(node, "tensor", 0)
    one_hot = source.imported(node.func).endswith(".one_hot")
    return source.segment(of) if one_hot and of is not None else ""
