"""Rows in a new order in each epoch: where a loader is created, or where that is asked for."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.case import Case
from surefit.laws.rows.loaders import loader_call
from surefit.remedies.change import Operator
from surefit.source.edits import Replace, argument_added, with_import
from surefit.source.line_edits import inserted_before
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within
from surefit.source.spans import Span

SHUFFLE = "shuffle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleRows(Operator):
    """`shuffle=True`; where a function creates several loaders, at the call that asks for this
    one."""

    stack: tuple[Place, ...]
    """The user's lines when the loader was created, innermost first."""
    words: str

    def edit(self, case: Case) -> Edit | None:
        place = self.stack[0] if self.stack else None
        source = case.source(place)
        call = loader_call(source, place) if source is not None and place is not None else None
        if source is None or call is None:
            return None
        asked = self.where_asked(case, source, call)
        return asked or argument_added(source, call, SHUFFLE, "True")

    def where_asked(self, case: Case, source: Source, call: ast.Call) -> Edit | None:
        function = source.scope_of(call)
        outer = self.stack[1] if len(self.stack) > 1 else None
        caller = case.source(outer)
        if not isinstance(function, ast.FunctionDef) or caller is None or outer is None:
            return None
        asking = [
            asked for asked in caller.calls_in(outer.line or 0) if called(asked) == function.name
        ]
        if len(asking) != 1:
            return None
        names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        if SHUFFLE in names and source.argument(call, SHUFFLE, 2) is not None:
            return argument_added(caller, asking[0], SHUFFLE, "True")
        if any(keyword.arg is None for keyword in call.keywords):
            return in_dictionary(caller, asking[0]) or (
                argument_added(caller, asking[0], SHUFFLE, "True") if function.args.kwarg else None
            )
        return None


def in_dictionary(source: Source, call: ast.Call) -> Edit | None:
    """`{"batch_size": 32}` with one entry more, where that is what a call gives."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    written = [value for value in values if isinstance(value, ast.Dict)]
    if len(written) != 1:
        return None
    keys, inner = written[0].keys, written[0].values
    for key, value in zip(keys, inner, strict=True):
        if isinstance(key, ast.Constant) and key.value == SHUFFLE:
            return Edit(source.file, (Replace(source.span(value), "True"),))
    if not inner:
        return Edit(source.file, (Replace(source.span(written[0]), '{"shuffle": True}'),))
    span = source.span(inner[-1])
    end = Span(span.end_line, span.end_column, span.end_line, span.end_column)
    return Edit(source.file, (Replace(end, ', "shuffle": True'),))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRows(Operator):
    """A `DistributedSampler` for the loader, told of each epoch."""

    place: Place | None
    words: str

    def edit(self, case: Case) -> Edit | None:
        source = case.source(self.place)
        call = loader_call(source, self.place) if source is not None and self.place else None
        dataset = source.argument(call, "dataset", 0) if source is not None and call else None
        if source is None or call is None or not isinstance(dataset, ast.Name):
            return None
        if len(call.args) > 2 or source.argument(call, "sampler", 3) is not None:
            return None
        shuffle = source.argument(call, SHUFFLE, 2)
        shuffles = source.segment(shuffle) if shuffle is not None else "False"
        sampler = f"sampler=DistributedSampler({dataset.id}, shuffle={shuffles})"
        keyword = next((known for known in call.keywords if known.arg == SHUFFLE), None)
        if keyword is not None:
            edit = Edit(source.file, (Replace(source.span(keyword), sampler),))
        else:
            name, _, value = sampler.partition("=")
            edit = argument_added(source, call, name, value)
        epochs = set_epoch(source, call)
        edit = both(edit, epochs) if epochs is not None else edit
        return with_import(edit, source, "torch.utils.data.distributed", "DistributedSampler")


def set_epoch(source: Source, call: ast.Call) -> Edit | None:
    """Before the loop over the batches of a loader, in a loop over epochs."""
    statement = source.statement_of(call)
    name = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(name, ast.Name):
        return None
    for loop in source.every(ast.For):
        goes_through = any(node.id == name.id for node in nodes_within(loop.iter, ast.Name))
        outer = source.parents.get(loop)
        if goes_through and isinstance(outer, ast.For) and isinstance(outer.target, ast.Name):
            text = f"{name.id}.sampler.set_epoch({outer.target.id})"
            return inserted_before(source, loop, text)
    return None


def epoch_set(case: Case, place: Place | None) -> Edit | None:
    """The same, for the loader that is created at a place."""
    source = case.source(place)
    call = loader_call(source, place) if source is not None and place is not None else None
    return set_epoch(source, call) if source is not None and call is not None else None
