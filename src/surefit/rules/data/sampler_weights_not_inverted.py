"""A weighted sampler is given class frequencies instead of their inverse.

## What happens
`WeightedRandomSampler` draws a row in proportion to its weight. With weights like
`counts[label] / total`, rows of the frequent class are drawn even more often than without weights,
and rows of the rare classes hardly ever.

## Why it matters
The sampler was meant to balance the classes and does the opposite. The loss is small, because
nearly all rows are of one class; rare classes are never learned.

## What to do
Give each row the inverse of the number of rows of its class: `1 / counts[label]`.

## How it is recognised
All rows of a class have one weight, and of any two classes the one with more rows has the greater.
Silent where weights are given for other reasons than the class.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.rows.row_faults import FrequentClassesFavoured
from surefit.laws.rows.weighted_samplers import sampler_call
from surefit.laws.runs import law_holds
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source

RULE = Rule("SF278", "sampler-weights-not-inverted", Severity.ERROR, __doc__)

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@RULE.on(FrequentClassesFavoured)
def frequent_classes_are_drawn_more_often(broken: FrequentClassesFavoured, case: Case) -> Finding:
    source = case.source(broken.use.place)
    call = sampler_call(case.recording, source)
    weights = call.source.argument(call.node, "weights", 0) if call is not None else None
    place = broken.use.place
    if call is not None and weights is not None:
        place = case.expression(call.source, call.source.value_of(weights)).place
    frequent, rare = broken.frequent, broken.rare
    return case.finding(
        place,
        "The sampler weights grow with the class frequencies instead of their inverse: rows of the"
        f" frequent class {frequent.label} ({frequent.rows:,} rows) have weight"
        f" {frequent.weight:.4g}, rows of the rare class {rare.label} ({rare.rows:,} rows)"
        f" {rare.weight:.4g}.",
        facts=broken.facts,
        why="The sampler draws rows in proportion to their weights: to balance the classes, rows of"
        " rare classes need the greater weight.",
        remedies=list(remedies(broken, case, call.source, weights))
        if call is not None and weights is not None
        else [Fix("Weigh each row by the inverse of its class count: `1 / counts[label]`.")],
    )


def remedies(
    broken: FrequentClassesFavoured, case: Case, source: Source, weights: ast.expr
) -> Iterator[ReplaceWith]:
    must, words = law_holds(broken), "Invert the weights"
    value = source.value_of(weights)
    if isinstance(value, COMPREHENSIONS):
        text = source.segment(value.elt)
        tight = isinstance(value.elt, ast.Name | ast.Subscript | ast.Call | ast.Attribute)
        text = f"1.0 / {text}" if tight else f"1.0 / ({text})"
        at = case.expression(source, value.elt)
        yield ReplaceWith(at=at, text=text, words=f"{words}: `{text}`.", must=must)
    text = f"1.0 / torch.as_tensor({source.segment(weights)})"
    at = case.expression(source, weights)
    yield ReplaceWith(
        at=at, text=text, words=f"{words}: `{text}`.", must=must, imports=("torch", None)
    )
