"""A weighted sampler has another number of weights than the dataset has rows.

## What happens
`WeightedRandomSampler(weights, num_samples)` draws row numbers from 0 to `len(weights) - 1`. It
needs a weight for each row. Given one for each class, it draws the first few rows only, again and
again.

## Why it matters
Nothing is raised: the loader has as many batches as it should have, of a handful of rows.

## What to do
Look the weight of each row up by its class: `weights = class_weights[labels]`.

## How it is recognised
At the first batch, the weights of the sampler are counted beside the rows of the dataset.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import WeightsOfOtherLength
from surefit.laws.rows.weighted_samplers import SamplerCall, dataset_beside, sampler_call
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith

RULE = Rule("SF269", "sampler-weights-of-other-length", Severity.ERROR, __doc__)


@RULE.on(WeightsOfOtherLength)
def rows_without_a_weight(broken: WeightsOfOtherLength, case: Case) -> Finding:
    use = broken.loader
    call = sampler_call(case.recording, case.source(broken.use.place))
    place = case.expression(call.source, call.node).place if call else broken.use.place
    return case.finding(
        place,
        f"`{use.sampler}` has {use.weights:,} weights for {use.rows:,} rows: it draws row numbers"
        f" below {use.weights:,} only, and the other rows are never used.",
        facts=broken.facts,
        why="The sampler takes a weight for each row, not for each class.",
        remedies=(remedy(broken, case, call),),
    )


def remedy(broken: WeightsOfOtherLength, case: Case, call: SamplerCall | None) -> ReplaceWith | Fix:
    words = "Give each row the weight of its class"
    weights = call.source.argument(call.node, "weights", 0) if call is not None else None
    labels = labels_of(call, broken.loader.labels_held) if call is not None else ""
    if call is None or weights is None or not labels:
        return Fix(f"{words}: `class_weights[labels]`.")
    text = f"{call.source.segment(weights)}[{labels}]"
    at = case.expression(call.source, weights)
    return ReplaceWith(at=at, text=text, words=f"{words}: `{text}`.", must=law_holds(broken))


def labels_of(call: SamplerCall, held: str) -> str:
    """Of the one dataset of tensors that the file creates; else those that the dataset holds."""
    calls = list(call.source.calls_named("TensorDataset"))
    last = calls[0].args[-1] if len(calls) == 1 and len(calls[0].args) > 1 else None
    if isinstance(last, ast.Name):
        return call.source.segment(last)
    dataset = dataset_beside(call)
    return f"{call.source.segment(dataset)}.{held}" if dataset is not None and held else ""
