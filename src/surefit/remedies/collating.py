"""Rows that cannot be used, dropped by the collator or left out before training."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.observations import CollatorSeen
from surefit.laws.case import Case
from surefit.laws.rows.arrivals import arrival, loader_call
from surefit.remedies.change import Operator
from surefit.remedies.parameters import put_first
from surefit.source.classes import method
from surefit.source.edits import argument_added, with_import, wrapped
from surefit.source.line_edits import with_function
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source

DROPS, PICKS = "without_missing", "rows_that_exist"
PICKING = """\
def rows_that_exist(dataset):
    kept = [number for number in range(len(dataset)) if dataset[number] is not None]
    return Subset(dataset, kept)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropInCollator(Operator):
    """Rows that do not pass a test, dropped in the user's collator or in a new one."""

    test: str
    """Of `row`: `row is not None`."""
    words: str
    collator: CollatorSeen

    def edit(self, case: Case) -> Edit | None:
        if self.collator.own:
            return self.in_own_collator(case)
        source, call = loader_of(case) or (None, None)
        if source is None or call is None or DROPS in source.definitions:
            return None
        if source.argument(call, "collate_fn", 6) is not None:
            return None
        body = f"return default_collate([row for row in rows if {self.test}])"
        written = with_function(source, call, f"def {DROPS}(rows):\n    {body}")
        edit = all_of((written, argument_added(source, call, "collate_fn", DROPS)))
        return edit and with_import(edit, source, "torch.utils.data", "default_collate")

    def in_own_collator(self, case: Case) -> Edit | None:
        """Before anything else is done with the rows."""
        for source in case.recording.sources():
            for node in source.definitions.get(self.collator.kind, ()):
                if isinstance(node, ast.ClassDef):
                    function = method(source, node, "__call__")
                else:
                    function = node
                arguments = [*function.args.posonlyargs, *function.args.args] if function else []
                names = [each.arg for each in arguments if each.arg not in ("self", "cls")]
                if function is not None and names:
                    text = f"{names[0]} = [row for row in {names[0]} if {self.test}]"
                    return put_first(source, function, text)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PickRows(Operator):
    """A `Subset` of the rows that exist, for a loader that picks its rows by itself."""

    words: str

    def edit(self, case: Case) -> Edit | None:
        source, call = loader_of(case) or (None, None)
        rows = source.argument(call, "dataset", 0) if source and call else None
        if source is None or call is None or rows is None or PICKS in source.definitions:
            return None
        if any(source.argument(call, name) for name in ("sampler", "batch_sampler")):
            return None
        written = with_function(source, call, PICKING)
        edit = all_of((written, wrapped(source, rows, f"{PICKS}(", ")")))
        return edit and with_import(edit, source, "torch.utils.data", "Subset")


def loader_of(case: Case) -> tuple[Source, ast.Call] | None:
    return loader_call(case.crash, case.recording) if case.crash is not None else None


def arriving(case: Case, rows: int, epoch: tuple[int, int] | None = None) -> RowsArrive:
    came = arrival(case.crash, case.recording) if case.crash is not None else None
    if came is None:
        return RowsArrive(rows=rows, place=None, epoch=epoch)
    return RowsArrive(rows=rows, place=came.place, names=came.names, after=came.after, epoch=epoch)


def first_epoch(case: Case, collator: CollatorSeen) -> tuple[int, int] | None:
    """Rows and batches of the epoch that failed, if that was the first: each row comes once."""
    rows = collator.dataset.rows if collator.dataset else None
    batches = -(-rows // collator.rows) if rows else 0
    steps = case.crash.steps if case.crash is not None else 0
    return (rows, batches) if rows and steps < batches else None
