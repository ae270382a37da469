"""Calls in the user's source that create loaders."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.source.reading import Source, called, names_within
from surefit.source.selection import the_only

ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments")


def loader_call(source: Source, place: Place) -> ast.Call | None:
    """The call at a line that makes a loader, or the sampler of its batches."""
    calls = source.calls_in(place.line or 0)
    return the_only(call for call in calls if called(call) in ("DataLoader", "BatchSampler"))


def arguments_call(source: Source) -> ast.Call | None:
    """The one call that sets up a Trainer, which makes its loaders itself."""
    return the_only(source.calls_of(*(f"transformers.{name}" for name in ARGUMENTS)))


def makes_several(source: Source, call: ast.Call) -> bool:
    """A loop gives it something else each time, or it stands in a function that is called more
    than once: other loaders come from it, too."""
    used = set(names_within(call))
    for outer in source.up(call):
        if used & set(bound_by_loop(outer)):
            return True
        if isinstance(outer, ast.FunctionDef):
            return len(list(source.calls_named(outer.name))) > 1
    return False


def bound_by_loop(loop: ast.AST) -> Iterator[str]:
    targets = [loop.target] if isinstance(loop, ast.For) else []
    if isinstance(loop, ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp):
        targets = [one.target for one in loop.generators]
    for target in targets:
        yield from names_within(target)
