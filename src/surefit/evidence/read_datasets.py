"""Columns of datasets that a script makes, as far as its source tells."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.evidence.read_tokenizers import tokenizer_made
from surefit.source.callers import is_open
from surefit.source.classes import named_class
from surefit.source.constants import text
from surefit.source.origins import origin
from surefit.source.outcomes import maker, outcomes
from surefit.source.reading import Source, called, dotted
from surefit.source.returns import own_returns

KEEPS = ("select", "shuffle", "filter", "sort", "shard", "flatten_indices", "skip", "take")
TOKENS = frozenset({"input_ids", "attention_mask"})
TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer")
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that a dataset is known to have."""

    names: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    """Those among them that hold text."""
    complete: bool = False
    """There are no others."""


NOTHING_KNOWN = Columns()


def columns_in(source: Source, node: ast.expr, deep: int = 0) -> Columns:
    if deep > DEEPEST:
        return NOTHING_KNOWN
    if isinstance(node, ast.Subscript):
        inner = maker(source, node.value)
        method = inner.func if inner is not None else None
        if isinstance(method, ast.Attribute) and method.attr == "train_test_split":
            return columns_in(source, method.value, deep + 1)
        return NOTHING_KNOWN
    ways = [
        of_call(source, one, deep) if isinstance(one, ast.Call) else NOTHING_KNOWN
        for one in outcomes(source, node)
    ]
    return in_all(ways) if ways else NOTHING_KNOWN


def in_all(ways: list[Columns]) -> Columns:
    """What is known, whichever way was gone."""
    names = frozenset.intersection(*(one.names for one in ways))
    texts = frozenset.intersection(*(one.texts for one in ways))
    return Columns(names, texts, all(one.complete and one.names == names for one in ways))


def of_call(source: Source, made: ast.Call, deep: int) -> Columns:
    if any(one.arg is None for one in made.keywords):
        return NOTHING_KNOWN
    if source.imported(made.func) == "datasets.Dataset.from_dict":
        return written_out(source, made)
    if not isinstance(made.func, ast.Attribute):
        return NOTHING_KNOWN
    before = columns_in(source, made.func.value, deep + 1)
    if made.func.attr in KEEPS:
        return before
    if made.func.attr == "remove_columns" and len(made.args) == 1:
        return without(source, before, made.args[0])
    if made.func.attr == "map":
        return mapped(source, made, before)
    if made.func.attr == "with_format":
        return formatted(source, made, before)
    return NOTHING_KNOWN


def formatted(source: Source, made: ast.Call, before: Columns) -> Columns:
    """Of `with_format("torch", columns=[...])` those columns, and no others."""
    chosen = source.argument(made, "columns", 1)
    if chosen is None:
        return before
    listed = origin(source, chosen)
    names = [text(source, one) for one in listed.elts] if isinstance(listed, ast.List) else [None]
    if not all(names):
        return NOTHING_KNOWN
    kept = frozenset(one for one in names if one)
    return Columns(kept, before.texts & kept, complete=True)


def written_out(source: Source, made: ast.Call) -> Columns:
    """Of `Dataset.from_dict({"text": [...]})`."""
    given = origin(source, made.args[0]) if made.args else None
    if not isinstance(given, ast.Dict):
        return NOTHING_KNOWN
    keys = [text(source, one) if one is not None else None for one in given.keys]
    if not all(keys):
        return NOTHING_KNOWN
    pairs = zip(keys, given.values, strict=True)
    texts = {key for key, value in pairs if key and has_texts(source, value)}
    return Columns(frozenset(key for key in keys if key), frozenset(texts), complete=True)


def has_texts(source: Source, node: ast.expr) -> bool:
    """A list of texts that is written out, once or many times over."""
    value = origin(source, node)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return has_texts(source, value.left)
    if not isinstance(value, ast.List) or not value.elts:
        return False
    return all(isinstance(one, ast.Constant) and type(one.value) is str for one in value.elts)


def without(source: Source, before: Columns, given: ast.expr) -> Columns:
    """Columns that are left when some are taken out: by their names, or all there are."""
    given = origin(source, given)
    if isinstance(given, ast.Attribute) and given.attr == "column_names":
        return Columns(complete=True)
    listed = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    gone = {text(source, one) for one in listed}
    if None in gone:
        return NOTHING_KNOWN
    return replace(before, names=before.names - gone, texts=before.texts - gone)


def mapped(source: Source, call: ast.Call, before: Columns) -> Columns:
    """Columns after `map`: what was there, without what is removed, and what the function makes."""
    function = function_given(source, call)
    if function is None:
        return NOTHING_KNOWN
    texts = {
        name for name in texts_read(source, function) if name in before.names or not before.complete
    }
    known = replace(before, names=before.names | texts, texts=before.texts | texts)
    removed = source.argument(call, "remove_columns")
    left = without(source, known, removed) if removed is not None else known
    new = made_by(source, function)
    if new is None:
        return replace(left, complete=False)
    return replace(left, names=left.names | new, texts=left.texts - new)


def map_that_reads(source: Source, node: ast.expr, name: str, deep: int = 0) -> ast.Call | None:
    """The call of `map` whose function gives a column to a tokenizer."""
    for one in outcomes(source, node) if deep < DEEPEST else ():
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Attribute):
            continue
        function = function_given(source, one) if one.func.attr == "map" else None
        if function is not None and name in texts_read(source, function):
            return one
        before = map_that_reads(source, one.func.value, name, deep + 1)
        if before is not None:
            return before
    return None


def function_given(source: Source, call: ast.Call) -> ast.FunctionDef | ast.Lambda | None:
    given = source.argument(call, "function", 0)
    if isinstance(given, ast.Lambda):
        return given
    bound = source.bound_by(given) if isinstance(given, ast.Name) else []
    only = bound[0] if len(bound) == 1 else None
    return only if isinstance(only, ast.FunctionDef) else None


def texts_read(source: Source, function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Columns of its rows that the function gives to a tokenizer as they are."""
    rows = function.args.args[0].arg if function.args.args else ""
    found: set[str] = set()
    for call in ast.walk(function):
        first = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if not isinstance(first, ast.Subscript) or dotted(first.value) != rows:
            continue
        key = text(source, first.slice)
        if key and isinstance(call, ast.Call) and tokenizer_made(source, call.func) is not None:
            found.add(key)
    return found


def made_by(source: Source, function: ast.FunctionDef | ast.Lambda) -> frozenset[str] | None:
    """Columns that a function of rows gives back; None where that is not known."""
    if isinstance(function, ast.Lambda):
        return keys_of(source, function.body, function)
    returns = [one.value for one in own_returns(function)]
    if len(returns) != 1 or returns[0] is None:
        return None
    return keys_of(source, returns[0], function)


def keys_of(source: Source, node: ast.expr, function: ast.AST) -> frozenset[str] | None:
    """Of a dictionary that is written out, or of what a tokenizer gives; with what is put in."""
    more = keys_put_in(source, node.id, function) if isinstance(node, ast.Name) else frozenset()
    value = origin(source, node)
    if more is None:
        return None
    if isinstance(value, ast.Dict):
        keys = [text(source, one) if one is not None else None for one in value.keys]
        return frozenset({*more, *(one for one in keys if one)}) if all(keys) else None
    if isinstance(value, ast.Call) and tokenizer_made(source, value.func) is not None:
        named = {one.arg for one in value.keywords}
        odd = {"text_target", "return_overflowing_tokens", "return_offsets_mapping"}
        return None if named & odd or is_open(value) else TOKENS | more
    return None


def keys_put_in(source: Source, name: str, function: ast.AST) -> frozenset[str] | None:
    """Keys that a function sets in a dictionary; None where it changes it in another way."""
    found: set[str | None] = set()
    for one in ast.walk(function):
        put = isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load)
        if put and isinstance(one, ast.Subscript) and dotted(one.value) == name:
            found.add(text(source, one.slice))
        if isinstance(one, ast.Call) and dotted(one.func) in (f"{name}.update", f"{name}.pop"):
            return None
    return None if None in found else frozenset(one for one in found if one)


def is_trainer_call(source: Source, call: ast.Call) -> bool:
    """Of a Trainer of transformers itself, which computes no loss of its own."""
    name = source.imported(call.func)
    return name in TRAINERS and not is_open(call)


def trainers(source: Source) -> Iterator[ast.Call]:
    """Calls that make a Trainer of transformers, or one of a class in the file made from it."""
    for call in source.every(ast.Call):
        owner = named_class(source, call.func)
        bases = [source.imported(one) for one in owner.bases] if owner else []
        if any(one in TRAINERS for one in (source.imported(call.func), *bases)):
            yield call


def keeps_all(source: Source, call: ast.Call) -> bool:
    """The settings of a Trainer say `remove_unused_columns=False`."""
    args = source.argument(call, "args", 1)
    made = maker(source, args) if args is not None else None
    given = source.argument(made, "remove_unused_columns") if made else None
    return isinstance(given, ast.Constant) and given.value is False


def collator_of(source: Source, call: ast.Call, name: str) -> str:
    """The full name of the collator that a loader or a Trainer is given; empty without one."""
    given = source.argument(call, name)
    made = maker(source, given) if given is not None else None
    if made is not None:
        return source.imported(made.func) or called(made) or "?"
    return "" if given is None else source.imported(given) or "?"
