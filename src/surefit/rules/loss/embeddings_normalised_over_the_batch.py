"""Embeddings of a contrastive loss are normalised over the batch axis, not over their features.

## What happens
`F.normalize(x, dim=0)` of embeddings (batch, features) makes each feature a unit vector over the
rows. The similarities `a @ b.T` sum over the features, and are no cosines: an embedding is as long
as it likes, and all products are small.

## Why it matters
Nothing is raised, and the shapes are right. The loss hardly leaves log(batch size); it depends on
the batch size, and retrieval by cosine measures something else than what was trained.

## What to do
Normalise over the features: `F.normalize(x, dim=-1)`. Over the batch is right where the product
sums over the batch, too, as in the cross-correlation of Barlow Twins.

## How it is recognised
At every loss that was looked at, the graph has logits of every row against every row as a product
of two tensors that were each divided by a norm over axis 0.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.loss_predictions import NormalisedOverRows
from surefit.laws.losses.loss_sources import Entering
from surefit.laws.operations.operation_calls import calls_near
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.constants import number
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called

RULE = Rule("SF441", "embeddings-normalised-over-the-batch", Severity.ERROR, __doc__)
NORMS = ("normalize", "norm", "vector_norm")


@RULE.on(NormalisedOverRows)
def norms_go_over_the_rows(broken: NormalisedOverRows, case: Case) -> Finding:
    site = broken.site
    source = case.source(site.place)
    axes = list(axes_over_rows(source, site.place.line)) if source and site.place else []
    place = Place(source.file, axes[0].lineno) if source and axes else broken.use.place
    changes = tuple(Replace(source.span(axis), "-1") for axis in axes) if source else ()
    edit = Edit(source.file, changes) if source and changes else None
    rows = site.shape[0]
    return case.finding(
        place,
        f"Embeddings are normalised over the batch axis (dim=0), {rows} rows, not over their"
        " features: the similarities of the contrastive loss are no cosines.",
        facts=broken.facts,
        why="A cosine similarity needs each row to be a unit vector over its features. Over the"
        " batch, the length of a row stays free, and each row changes the others.",
        remedies=(
            Change(to=edit, words="Normalise over the features: `dim=-1`.", must=law_holds(broken)),
        ),
    )


def axes_over_rows(source: Source, line: int | None) -> Iterator[ast.Constant]:
    """The `0` of each norm that a loss on a line is computed from."""
    entering = Entering(source, lambda _: False)
    for call in calls_near(source, line or 0):
        entering.follow(call)
    calls = [node for node in entering.nodes if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        axis = axis_of(source, call) if called(call) in NORMS else None
        if isinstance(axis, ast.Constant) and number(source, axis) == 0:
            yield axis


def axis_of(source: Source, call: ast.Call) -> ast.expr | None:
    """`F.normalize(x, p, dim)`; other norms only by the name."""
    named = source.argument(call, "dim") or source.argument(call, "axis")
    return named or (source.argument(call, "dim", 2) if called(call) == "normalize" else None)
