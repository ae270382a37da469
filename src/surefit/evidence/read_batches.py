"""Batches of dictionaries, as the source of a script shows them."""

import ast
from collections.abc import Iterator

from surefit.evidence.read_loaders import dataset_class, loader_argument, loader_behind
from surefit.source.classes import Method, method
from surefit.source.outcomes import outcomes
from surefit.source.reading import Source
from surefit.source.returns import own_returns


def plain_loaders(source: Source, calls: Iterator[ast.Call]) -> Iterator[tuple[ast.Call, Method]]:
    """Loaders with the default collator over a dataset of the file, and its `__getitem__`."""
    for call in calls:
        if loader_argument(source, call, "collate_fn") is not None:
            continue
        owner = dataset_class(source, call)
        gives = method(source, owner, "__getitem__") if owner else None
        if gives is not None and all(one.arg is not None for one in call.keywords):
            yield call, gives


def columns_given(source: Source, gives: Method) -> dict[str, ast.expr]:
    """What `__getitem__` gives under each key, if it gives one dictionary that is written out."""
    returns = [one.value for one in own_returns(gives)]
    value = returns[0] if len(returns) == 1 else None
    found = outcomes(source, value) if value is not None else ()
    made = found[0] if len(found) == 1 else None
    if not isinstance(made, ast.Dict):
        return {}
    return {
        key.value: one
        for key, one in zip(made.keys, made.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def moved_whole(source: Source, loader: ast.Call) -> ast.DictComp | None:
    """`{key: value.to(device) for key, value in batch.items()}` of a batch of a loader."""
    for node in source.every(ast.DictComp):
        batch = batch_moved(node)
        if batch is not None and batch_of(source, batch) is loader:
            return node
    return None


def batch_moved(node: ast.DictComp) -> ast.Name | None:
    """The batch of which everything is moved, without any test."""
    loop, value = node.generators[0], node.value
    method, over = (one.func if isinstance(one, ast.Call) else None for one in (value, loop.iter))
    if not isinstance(method, ast.Attribute) or method.attr not in ("to", "cuda") or loop.ifs:
        return None
    if not isinstance(over, ast.Attribute) or over.attr != "items":
        return None
    return over.value if isinstance(over.value, ast.Name) else None


def batch_of(source: Source, name: ast.Name) -> ast.Call | None:
    """The loader whose loop sets a name, and nothing else but a move of the same batch."""
    loops = [one for one in source.bound_by(name) if isinstance(one, ast.For)]
    return loader_behind(source, loops[0].iter) if len(loops) == 1 else None
