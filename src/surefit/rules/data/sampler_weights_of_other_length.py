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
from surefit.laws.row_faults import WeightsOfOtherLength
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

RULE = Rule("SF269", "sampler-weights-of-other-length", Severity.ERROR, __doc__)


@RULE.on(WeightsOfOtherLength)
def rows_without_a_weight(broken: WeightsOfOtherLength, case: Case) -> Finding:
    use = broken.loader
    source = case.source(broken.use.place)
    call = sampler_call(source) if source is not None else None
    place = case.expression(source, call).place if source and call else broken.use.place
    return case.finding(
        place,
        f"`{use.sampler}` has {use.weights:,} weights for {use.rows:,} rows: it draws row numbers"
        f" below {use.weights:,} only, and the other rows are never used.",
        facts=broken.facts,
        why="The sampler takes a weight for each row, not for each class.",
        remedies=(remedy(broken, case, source, call),),
    )


def sampler_call(source: Source) -> ast.Call | None:
    calls = [call for call in source.every(ast.Call) if called(call) == "WeightedRandomSampler"]
    return calls[0] if len(calls) == 1 else None


def remedy(
    broken: WeightsOfOtherLength, case: Case, source: Source | None, call: ast.Call | None
) -> ReplaceWith | Fix:
    words = "Give each row the weight of its class"
    weights = source.argument(call, "weights", 0) if source is not None and call else None
    labels = labels_of(source) if source is not None else None
    if source is None or weights is None or labels is None:
        return Fix(f"{words}: `class_weights[labels]`.")
    text = f"{source.segment(weights)}[{source.segment(labels)}]"
    at = case.expression(source, weights)
    return ReplaceWith(at=at, text=text, words=f"{words}: `{text}`.", must=law_holds(broken))


def labels_of(source: Source) -> ast.Name | None:
    """Of the one dataset of tensors that the file creates."""
    calls = [call for call in source.every(ast.Call) if called(call) == "TensorDataset"]
    last = calls[0].args[-1] if len(calls) == 1 and len(calls[0].args) > 1 else None
    return last if isinstance(last, ast.Name) else None
