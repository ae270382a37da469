"""Fetching a row writes into the array that the dataset stores, in place.

## What happens
`x = self.data[i]` is a view: it shares memory with the stored array, and so does
`torch.from_numpy(x)`. An operation in place (`x *= gain`, `x.sub_(mean)`, `x[mask] = 0`,
`Normalize(inplace=True)`) on it changes the stored row. The next epoch begins with the changed row
and changes it again.

## Why it matters
Augmentation accumulates and standardisation is applied again and again: the data drift away from
what they were, epoch by epoch, and nothing is raised. The loss falls at first and then rises.

## What to do
Take a copy where the row is read: `self.data[i].copy()` of an array, `.clone()` of a tensor. Or use
operations that are not in place.

## How it is recognised
Stored rows are compared before and after they are fetched. At least half of those that changed were
changed again by a later fetch. Silent on caches, which are filled once, on buffers that every fetch
writes into, on what is not a part of the fetched row, and on what the training loop writes.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.stored_rows import StoredRowsChange
from surefit.laws.rows.stored_views import StoredView, stored_view
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import appended, inserted_before
from surefit.source.line_edits import shares_lines

RULE = Rule("SF276", "dataset-changed-in-place", Severity.ERROR, __doc__)


@RULE.on(StoredRowsChange)
def stored_rows_are_changed_in_place(broken: StoredRowsChange, case: Case) -> Finding | None:
    change = broken.change
    source = case.source(change.place) if change.own else None
    line = change.place.line if change.place is not None else None
    view = stored_view(source, line, change.attribute) if source is not None and line else None
    if not change.returned and (view is None or not view.is_returned):
        return None
    if change.own and view is None:
        return None
    copying = "copy" if change.kind == "ndarray" else "clone"
    words = f"Copy the row before it is changed: `.{copying}()`."
    return case.finding(
        place_of(view) or broken.use.place,
        f"`{change.dataset}` changes its stored rows in place: the same rows of"
        f" `{change.attribute}` are changed again in each epoch, {change.again:,} of"
        f" {counted(change.rows, 'row')} looked at.",
        facts=(*broken.facts, *read_at(view)),
        why="What is read is a view of the stored array, not a copy: a change in place stays in the"
        " dataset, and the changes of all epochs accumulate.",
        remedies=list(remedies(broken, view)) or [Fix(words)],
    )


def place_of(view: StoredView | None) -> Place | None:
    if view is None:
        return None
    node: ast.expr | ast.stmt = view.write if view.write is not None else view.read
    return Place(view.source.file, node.lineno, node.end_lineno)


def read_at(view: StoredView | None) -> Iterator[Fact]:
    if view is not None and view.write is not None:
        text = " ".join(view.source.segment(view.read).split())
        yield Fact("a view of it", f"`{text}` at {Place(view.source.file, view.read.lineno)}")


def remedies(broken: StoredRowsChange, view: StoredView | None) -> Iterator[Change]:
    """A copy where the view is taken; else before the first write."""
    if view is None:
        return
    must = law_holds(broken)
    if not view.unpacked and isinstance(view.read, ast.Subscript) and is_read(view.read):
        suffix = ".copy()" if broken.change.kind == "ndarray" else ".clone()"
        edit = appended(view.source, view.read, suffix)
        yield Change(to=edit, words=f"Take a copy of the row: `{suffix}`.", must=must)
    write = view.write
    if write is not None and view.name and not shares_lines(view.source, write):
        tensor = view.is_tensor or broken.change.kind != "ndarray"
        text = f"{view.name} = {view.name}.{'clone' if tensor else 'copy'}()"
        edit = inserted_before(view.source, write, text)
        yield Change(to=edit, words=f"Copy it before it is changed: `{text}`.", must=must)


def is_read(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)
