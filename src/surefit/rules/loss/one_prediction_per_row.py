"""The labels have one entry for every position, and the model gives one prediction for each row.

## What happens
A tagger needs a prediction for every token. A model for whole texts (in transformers
`...ForSequenceClassification`; the last state of an LSTM, a mean over positions) gives one for each
row, and cross entropy sees N predictions for N × T labels: `Expected input batch_size (16) to match
target batch_size (480)`.

## Why it matters
The message speaks of batch sizes, and none is wrong. Labels cut to one per row would train on the
tag of the first token.

## What to do
Use the model for tokens (`...ForTokenClassification`), or keep the axis of positions up to the last
layer. If a text has one label, give one.

## How it is recognised
The predictions of a cross entropy have one row for each row of the batch, and the labels, before
they were flattened, had as many rows and an axis of positions that the model was given, too.
"""

import ast
import re
from dataclasses import replace
from math import prod

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted, shape_of, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import INDICES, OF_CLASSES, TargetShape
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)",
    "whether there is one label for each position and one prediction for each row",
)
RULE = Rule("SF413", "one-prediction-per-row", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

FOR_ROWS, FOR_POSITIONS = "ForSequenceClassification", "ForTokenClassification"


@RULE.on(TargetShape)
def rows_are_predicted_and_positions_labelled(broken: TargetShape, case: Case) -> Finding | None:
    positions = labelled_positions(broken, case)
    if positions is None or not broken.labels_are_classes:
        return None
    model = case.model_constructor() if broken.inside else None
    rows, length = positions
    return case.finding(
        (model or broken.use).place,
        f"{broken.predictions.name} has one prediction for each of {rows} rows,"
        f" {broken.predictions.shape_words}; the labels have one for each of {length} positions of"
        f" a row, {shape_of(positions)}.",
        facts=(
            broken.predictions.fact(counted(broken.classes, "class")),
            broken.target.fact(f"{times(positions)} labels"),
            *fact_at("model", model),
        ),
        ruled_out=(Fact("batch size", f"both are of the same {rows} rows"),),
        why="A model for whole texts reduces the positions of a row to one prediction.",
        remedies=(
            for_positions(broken, positions, model, case),
            Fix("If a row has one class, give one label per row.", choice=True),
        ),
    )


def labelled_positions(broken: TargetShape, case: Case) -> tuple[int, int] | None:
    """Rows and positions of the labels, where the predictions have only the rows."""
    shape, target = broken.predictions.shape, broken.target.shape
    if broken.loss not in OF_CLASSES or len(shape) != 2 or broken.target.dtype not in INDICES:
        return None
    if len(target) == 1 and target[0] % shape[0] == 0 and target[0] > shape[0]:
        length = target[0] // shape[0]
        before = broken.before_flattening(case, length)
        target = before if before is not None else target
    if len(target) != 2 or target[0] != shape[0] or target[1] < 2 or target[1] == shape[1]:
        return None
    return (target[0], target[1]) if is_an_input_axis(target, case) else None


def is_an_input_axis(target: tuple[int, ...], case: Case) -> bool:
    """The model was given something else of the same rows and positions: ids, a mask, features."""
    alike = [value for value in case.values() if (value.shape or ())[:2] == target]
    return any(not re.search("label|target|tags", value.text) for value in alike)


def for_positions(
    broken: TargetShape, positions: tuple[int, int], model: Written | None, case: Case
) -> Remedy | None:
    """The sibling of a transformers class that gives a prediction for every token."""
    call, source = case.node(model), case.source(model.place) if model else None
    if source is None or not isinstance(call, ast.Call):
        return None
    pretrained = isinstance(call.func, ast.Attribute) and called(call) == "from_pretrained"
    owner = call.func.value if pretrained and isinstance(call.func, ast.Attribute) else call.func
    name = source.imported(owner).rpartition(".")[2]
    if not name.endswith(FOR_ROWS):
        return None
    sibling = name.removesuffix(FOR_ROWS) + FOR_POSITIONS
    plain = isinstance(owner, ast.Name)
    text = sibling if plain else f"{source.segment(owner).rpartition('.')[0]}.{sibling}"
    flat = prod(positions)
    gets = broken.gets(INDICES, target_shape=(flat,), shape=(flat, broken.classes))
    return ReplaceWith(
        at=case.expression(source, owner),
        text=text,
        words=f"Use the model that predicts a class for every token: {code(sibling)}.",
        must=replace(gets, total=None, changes_the_past=True),  # another head draws other numbers
        imports=("transformers", sibling) if plain else None,
    )
