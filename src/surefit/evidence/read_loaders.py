"""Loaders of a script that is only read: what they are made of, and where they are asked."""

import ast
from collections.abc import Iterator

from surefit.source.constants import number, text
from surefit.source.outcomes import maker, own_class_of
from surefit.source.reading import Source, called

LOADER = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
POSITIONS = {"dataset": 0, "batch_size": 1, "num_workers": 5, "collate_fn": 6, "drop_last": 8}
BEGIN_ANEW = ("spawn", "forkserver")
STARTS = ("set_start_method", "get_context")
PASSES_ON = ("enumerate", "tqdm", "iter", "zip", "islice", "cycle", "trange", "prepare")


def loaders(source: Source) -> Iterator[ast.Call]:
    return source.calls_of(*LOADER)


def loader_argument(source: Source, call: ast.Call, name: str) -> ast.expr | None:
    return source.argument(call, name, POSITIONS.get(name))


def dataset_class(source: Source, call: ast.Call) -> ast.ClassDef | None:
    """The class of the file whose rows a loader gives."""
    given = loader_argument(source, call, "dataset")
    return own_class_of(source, given) if given else None


def begins_anew(source: Source, call: ast.Call) -> str:
    """How the workers of a loader are started, where that is written and they begin anew."""
    workers = number(source, loader_argument(source, call, "num_workers"))
    if not workers or any(one.arg is None for one in call.keywords):
        return ""
    given = source.argument(call, "multiprocessing_context")
    how = start_method(source, given) if given else everywhere(source)
    return how if how in BEGIN_ANEW else ""


def start_method(source: Source, given: ast.expr) -> str:
    written = text(source, given)
    made = maker(source, given) if written is None else None
    if made is not None and called(made) == "get_context":
        written = text(source, source.argument(made, "method", 0))
    return written or ""


def everywhere(source: Source) -> str:
    """By `set_start_method`, if the file calls it once, at its top or under its main test."""
    calls = [one for one in source.every(ast.Call) if called(one) == "set_start_method"]
    if len(calls) != 1 or not isinstance(source.scope_of(calls[0]), ast.Module):
        return ""
    return text(source, source.argument(calls[0], "method", 0)) or ""


def asks(source: Source, node: ast.AST) -> ast.Call | None:
    """The loader whose batches a loop, or `next(iter(...))`, takes."""
    if isinstance(node, ast.For | ast.comprehension):
        return loader_behind(source, node.iter)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next":
        return loader_behind(source, node.args[0]) if node.args else None
    return None


def loader_behind(source: Source, node: ast.expr) -> ast.Call | None:
    made = maker(source, node)
    for _ in range(4):
        if made is None:
            return None
        if source.imported(made.func) in LOADER:
            return made
        if called(made) not in PASSES_ON or not made.args:
            return None
        made = maker(source, made.args[0])
    return None
