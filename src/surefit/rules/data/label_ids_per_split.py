"""Ids of labels are built again for each split, so that one class has different ids.

## What happens
A label encoder is fitted on the training labels and again on those of the validation set, or each
split numbers its own classes. Where a class is missing in one of them, or comes later, all ids
after it are shifted.

## Why it matters
The model is right under the ids that it learned, and every prediction counts as wrong: validation
accuracy is near zero, far below guessing, with a training accuracy near 100 %.

## What to do
Build the map once, from the training labels, and use it for all splits: `encoder.transform`, not
`fit_transform`.

## How it is recognised
Training rows are predicted right, evaluated rows are not, and nearly all of them are once each
label is renamed to another one. Silent below three classes, where a wrong sign looks the same.
"""

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.laws.case import Case
from surefit.laws.invariants.label_ids import LabelsRenamed
from surefit.laws.runs import law_holds
from surefit.remedies.shared_map import SharedMap

RULE = Rule("SF273", "label-ids-per-split", Severity.ERROR, __doc__)


@RULE.on(LabelsRenamed)
def a_class_has_two_ids(broken: LabelsRenamed, case: Case) -> Finding | None:
    maps = broken.maps
    if maps is None:
        return None
    first = case.expression(maps.training.source, maps.training.node)
    return case.finding(
        broken.use.place,
        "The label map is built again for the evaluation: the same class gets a different id than"
        f" in training, and {broken.rows - broken.hits:,} of {broken.rows:,} predictions count as"
        " wrong.",
        facts=(*broken.facts, *fact_at("training map", first)),
        why="Each split numbers the classes that occur in it; the ids do not agree.",
        remedies=(
            SharedMap(
                maps=maps,
                words="Build the map once, from the training labels, and use it for both.",
                must=law_holds(broken),
            ),
            Fix("Build the map from labels to ids once, before the split."),
        ),
    )
