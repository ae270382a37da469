"""Keys that a loop asks its batches for, and those that the batches have, by the source."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.evidence.read_batches import batch_moved, columns_given, plain_loaders
from surefit.evidence.read_datasets import columns_in
from surefit.evidence.read_loaders import asks, loader_argument, loaders
from surefit.source.reading import Source, dotted


@dataclass(frozen=True, slots=True)
class MissingKey:
    """`batch["weight"]`, where no batch has a `weight`."""

    asked: ast.Subscript
    key: str
    keys: frozenset[str]
    loader: ast.Call


def missing_keys(source: Source) -> Iterator[MissingKey]:
    for loader, keys in known_batches(source):
        for loop in source.every(ast.For):
            if asks(source, loop) is not loader:
                continue
            batch = batch_name(loop)
            if batch and not is_set_anew(loop, batch):
                yield from asked_in(loop, batch, keys, loader)


def known_batches(source: Source) -> Iterator[tuple[ast.Call, frozenset[str]]]:
    """Loaders with the default collator whose rows are dictionaries of known keys."""
    for loader, gives in plain_loaders(source, loaders(source)):
        columns = columns_given(source, gives)
        if columns:
            yield loader, frozenset(columns)
    for loader in loaders(source):
        rows = loader_argument(source, loader, "dataset")
        if rows is None or loader_argument(source, loader, "collate_fn") is not None:
            continue
        known = columns_in(source, rows)
        if known.complete and known.names:
            yield loader, known.names


def batch_name(loop: ast.For) -> str:
    """What a loop calls its batch, if it goes over one loader."""
    target, over = loop.target, loop.iter
    numbered = isinstance(over, ast.Call) and dotted(over.func) == "enumerate"
    if numbered and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    return target.id if isinstance(target, ast.Name) else ""


def is_set_anew(loop: ast.For, batch: str) -> bool:
    """The loop changes the batch, other than by a move of all of it; or puts something into it."""
    for node in ast.walk(loop):
        put = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if put and isinstance(node, ast.Subscript) and dotted(node.value) == batch:
            return True
        if isinstance(node, ast.Assign) and sets(node, batch) and not moves(node.value, batch):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("update", "setdefault"):
            return True
    return False


def sets(statement: ast.Assign, name: str) -> bool:
    parts = [part for target in statement.targets for part in ast.walk(target)]
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for part in parts
    )


def moves(value: ast.expr, batch: str) -> bool:
    """`{key: one.to(device) for key, one in batch.items()}`."""
    moved = batch_moved(value) if isinstance(value, ast.DictComp) else None
    return moved is not None and moved.id == batch


def asked_in(
    loop: ast.For, batch: str, keys: frozenset[str], loader: ast.Call
) -> Iterator[MissingKey]:
    told: set[str] = set()
    for node in ast.walk(loop):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
            continue
        key = node.slice.value
        mine = isinstance(node.value, ast.Name) and node.value.id == batch
        if mine and isinstance(key, str) and key not in keys and key not in told:
            told.add(key)
            yield MissingKey(node, key, keys, loader)
