"""Ids of categories are built again for each split, so that one category has different ids.

## What happens
`df["user"].astype("category").cat.codes` numbers the categories that occur in `df`. Applied to the
training frame and again to the test frame, which lacks some of them, it gives the same user another
number.

## Why it matters
The embedding table is looked up at wrong rows in the evaluation: the score is that of guessing,
with a training loss that falls as it should.

## What to do
Number the categories once, before the split: convert the column to `category` in the whole frame,
whose splits then share the categories. Or build a map from the training rows and use it for both.

## How it is recognised
Before training, the codes of a column are computed twice, at least half of the smaller set of
categories is in both, some of these have different codes, the second is for held-out rows by its
names, and the model has an embedding table. Silent on codes of other columns and of later folds.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import HELD_OUT, TRAINED, words_of
from surefit.laws.invariants.category_codes import CategoriesRenumbered
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import inserted_before
from surefit.source.line_edits import bound_by, shares_lines
from surefit.source.reading import Source

RULE = Rule("SF277", "category-ids-per-split", Severity.ERROR, __doc__)


@RULE.on(CategoriesRenumbered)
def a_category_has_two_ids(broken: CategoriesRenumbered, case: Case) -> Finding:
    first = broken.changes[0]
    columns = ", ".join(f"`{change.column}`" for change in broken.changes)
    words = f"Number the categories of {columns} once, before the split"
    return case.finding(
        broken.use.place,
        f"The category codes of {columns} are built separately for each split: the same category"
        f" gets a different id in training and evaluation, {first.moved:,} of {first.shared:,}"
        f" that both have in `{first.column}`.",
        facts=broken.facts,
        why="`cat.codes` numbers the categories of the frame that it is applied to; embedding rows"
        " of other categories are looked up in the evaluation.",
        remedies=list(remedies(broken, case, words)) or [Fix(f"{words}.")],
    )


def remedies(broken: CategoriesRenumbered, case: Case, words: str) -> Iterator[Change]:
    """The whole frame gets the dtype `category` before it is split."""
    for place in broken.changes[0].again:
        source = case.source(place)
        statement = source.statement_at(place.line or 0) if source is not None else None
        if source is None or statement is None:
            continue
        for frame, split in splits(source, source.scope_of(statement)):
            if shares_lines(source, split):
                continue
            kinds = ", ".join(f'"{change.column}": "category"' for change in broken.changes)
            text = f"{frame} = {frame}.astype({{{kinds}}})"
            edit = inserted_before(source, split, text)
            yield Change(to=edit, words=f"{words}: `{text}`.", must=law_holds(broken))
            return


def splits(source: Source, scope: ast.AST) -> Iterator[tuple[str, ast.Assign]]:
    """`train, test = frame[...], frame[...]`: the frame, and the statement."""
    for node in source.every(ast.Assign):
        if source.scope_of(node) is not scope:
            continue
        words = {word for name in bound_by(node) for word in words_of(name)}
        if not words & (TRAINED | HELD_OUT):
            continue
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        roots = {root_name(part) for part in parts}
        if len(roots) == 1 and (root := roots.pop()):
            yield root, node


def root_name(node: ast.expr) -> str:
    """`log` of `log[log["week"] < 8]`, `log.iloc[:9]`, `log.sample(9)`."""
    indexed = False
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        indexed = indexed or not isinstance(node, ast.Attribute)
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) and indexed else ""
