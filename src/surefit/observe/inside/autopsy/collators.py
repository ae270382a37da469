"""The collator that was at work when an exception was raised, and the rows that it was given."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen, DatasetSeen, TokenizerSeen
from surefit.observe.inside import origins, own_code
from surefit.observe.inside.autopsy.values import attributes, is_a, is_tensor, mapping, untouched
from surefit.observe.inside.plain_lengths import plain_length

COLLATING = ("__call__", "torch_call", "pad", "collate", "collate_fn", "default_collate")
IGNORED = -100
"""The label that cross entropy takes no account of."""
MOST_INSIDE = 4
"""Datasets around a dataset."""
PAD_LABELS = ("DataCollatorForSeq2Seq", "DataCollatorForTokenClassification")


def collator_in(frames: Sequence[FrameType]) -> CollatorSeen | None:
    """From the frames of an exception, outermost first."""
    found = _fetching(frames) or _called(frames)
    if found is None:
        return None
    collator, rows, dataset = found
    seen = _seen(_unwrapped(collator), _kept(collator, rows), dataset)
    asked = _asked(frames, rows)
    none = (at for at, row in zip(asked, rows, strict=False) if row is None)
    return replace(seen, asked=asked, numbers=tuple(none))


def _asked(frames: Sequence[FrameType], rows: list[Any]) -> tuple[int, ...]:
    """The numbers in the dataset of the rows, as the loader's fetcher asked for them."""
    for frame in frames:
        asked = frame.f_locals.get("possibly_batched_index")
        if type(asked) is list and len(asked) == len(rows):
            return tuple(at for at in asked if type(at) is int)
    return ()


def _kept(collator: Any, rows: list[Any]) -> list[Any]:
    """The rows without the columns that the Trainer's wrapper takes away."""
    columns = attributes(collator).get("signature_columns")
    if type(columns) is not list:
        return rows
    tables = [mapping(row) for row in rows]
    return [
        row if table is None else {name: one for name, one in table.items() if name in columns}
        for row, table in zip(rows, tables, strict=True)
    ]


def rows_in(frames: Sequence[FrameType]) -> tuple[list[Any], Any]:
    """The rows themselves, and the collator's tokenizer if it has one."""
    found = _fetching(frames) or _called(frames)
    if found is None:
        return [], None
    collator = _unwrapped(found[0])
    return found[1], attributes(collator).get("tokenizer")


def datasets_in(frames: Sequence[FrameType]) -> Iterator[Any]:
    """What the rows come from: the loader's dataset, or that of the Trainer at work, from which it
    takes columns away first."""
    found = _fetching(frames)
    if found is not None:
        yield found[2]
    for frame in frames:
        held = attributes(frame.f_locals.get("self"))
        yield from (held[name] for name in ("train_dataset", "eval_dataset") if name in held)


def _fetching(frames: Sequence[FrameType]) -> tuple[Any, list[Any], Any] | None:
    """In a loader: its fetcher has all three."""
    for frame in frames:
        if frame.f_code.co_name == "fetch" and "torch" in frame.f_code.co_filename:
            names = frame.f_locals
            fetcher = attributes(names.get("self"))
            rows = names.get("data")
            if type(rows) is list and rows and "collate_fn" in fetcher:
                return fetcher["collate_fn"], rows, fetcher.get("dataset")
    return None


def _called(frames: Sequence[FrameType]) -> tuple[Any, list[Any], Any] | None:
    """Called by the user's own loop on a list of rows."""
    for frame in frames:
        if frame.f_code.co_name not in COLLATING:
            continue
        names = frame.f_locals
        count = frame.f_code.co_argcount
        for name in frame.f_code.co_varnames[:count]:
            rows = names.get(name)
            if type(rows) is list and rows and all(mapping(row) is not None for row in rows):
                owner = names.get("self")
                return (owner if owner is not None else frame.f_code), rows, None
    return None


def _unwrapped(collator: Any) -> Any:
    """The Trainer puts one around the user's that takes columns away."""
    for _ in range(3):
        if type(collator) is partial:
            collator = collator.func
            continue
        inside = attributes(collator).get("data_collator")
        if inside is None:
            return collator
        collator = inside
    return collator


def _seen(collator: Any, rows: list[Any], dataset: Any) -> CollatorSeen:
    tables = [mapping(row) for row in rows]
    kinds: dict[str, tuple[str, ...]] = {}
    lengths: dict[str, tuple[int, ...]] = {}
    lists: list[int] = []
    supervised: dict[str, int] = {}
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {}
    totals: dict[str, int] = {}
    texts: dict[str, None] = {}
    missing: dict[str, int] = {}
    nested = _uneven_inside(
        [table or _unnamed(row) for table, row in zip(tables, rows, strict=True)]
    )
    for table, row in zip(tables, rows, strict=True):
        items = table if table is not None else _unnamed(row)
        for key, value in (*items.items(), *_nested(items, nested)):
            column = str(key) if type(key) in (str, int) else type(key).__name__
            kind = type(value).__name__
            if kind not in kinds.get(column, ()):
                kinds[column] = (*kinds.get(column, ()), kind)
            length = _length(value)
            if length is not None:
                lengths[column] = (*lengths.get(column, ()), length)
                shapes[column] = (*shapes.get(column, ()), _shape(value))
            if _is_text(value):
                texts[column] = None
            if (total := _total(value)) is not None:
                totals[column] = totals.get(column, 0) + total
            if type(value) is list:
                lists.append(id(value))
            if value is None and row is not None:
                missing[column] = missing.get(column, 0) + 1
            if column.startswith("label") and (count := _supervised(value)) is not None:
                supervised[column] = supervised.get(column, 0) + count
    tokenizer = attributes(collator).get("tokenizer", attributes(collator).get("processing_class"))
    place, own = _where(collator)
    return CollatorSeen(
        _name(collator),
        place,
        own,
        len(rows),
        kinds,
        lengths,
        len(lists) - len(set(lists)),
        _pads(collator, tokenizer),
        tokenizer_seen(tokenizer) if tokenizer is not None else None,
        dataset_seen(dataset) if dataset is not None else None,
        chosen_at=_handed_over_at(collator, dataset),
        supervised=supervised,
        shapes=shapes,
        totals=totals,
        texts=tuple(texts),
        nones=sum(row is None for row in rows),
        missing=missing,
        lacking=_lacking(tables),
    )


def _lacking(tables: list[dict[Any, Any] | None]) -> dict[str, tuple[int, ...]]:
    """Key -> the rows without it, where every row is a mapping and some have it."""
    rows = [table for table in tables if table is not None]
    if len(rows) < len(tables):
        return {}
    keys = dict.fromkeys(key for row in rows for key in row if type(key) is str)
    without = {key: tuple(at for at, row in enumerate(rows) if key not in row) for key in keys}
    return {key: at for key, at in without.items() if at}


def _handed_over_at(collator: Any, dataset: Any) -> Place | None:
    """The user's line that made the loader which was given both."""
    torch_data = sys.modules.get("torch.utils.data.dataloader")
    for loader in (
        origins.alive(torch_data.DataLoader) if torch_data and dataset is not None else ()
    ):
        held = attributes(loader)
        if held.get("dataset") is dataset and _unwrapped(held.get("collate_fn")) is collator:
            return origins.made_at(loader)
    return None


def _shape(value: Any) -> tuple[int, ...]:
    """Of a tensor or an array; of lists, by the first one at each level."""
    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
        with untouched():
            return tuple(int(size) for size in value.shape)
    sizes: list[int] = []
    while type(value) in (list, tuple):
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes) if sizes else (_length(value) or 0,)


def _is_text(value: Any) -> bool:
    while type(value) in (list, tuple) and value:
        value = value[0]
    return type(value) is str or mapping(value) is not None


def _total(value: Any) -> int | None:
    """The sum of whole numbers; None for all else."""
    if is_tensor(value):
        with untouched():
            whole = not value.is_floating_point() and not value.is_complex()
            return int(value.sum()) if whole else None
    if is_a(value, "numpy", "ndarray"):
        return int(value.sum()) if value.dtype.kind in "iub" else None
    if type(value) in (list, tuple) and value:
        parts = [one if type(one) is int else _total(one) for one in value]
        return sum(parts) if None not in parts else None  # type: ignore[arg-type]
    return None


def _supervised(value: Any) -> int | None:
    """How many labels of one row the loss does not ignore."""
    if type(value) in (list, tuple):
        return sum(one != IGNORED for one in value if type(one) is int)
    if is_tensor(value):
        with untouched():
            return int((value != IGNORED).sum())
    if type(value).__module__ == "numpy" and is_a(value, "numpy", "ndarray"):
        return int((value != IGNORED).sum())
    return None


def _nested(items: dict[Any, Any], keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """`1.boxes` of a row `(image, {"boxes": ...})`."""
    for key, value in items.items():
        for name, inner in (mapping(value) or {}).items():
            if f"{key}.{name}" in keys:
                yield f"{key}.{name}", inner


def _uneven_inside(rows: list[dict[Any, Any]]) -> list[str]:
    """What mappings inside of the rows hold in tensors or arrays of unequal shapes."""
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for row in rows:
        for key, value in row.items():
            for name, inner in (mapping(value) or {}).items():
                if is_tensor(inner) or is_a(inner, "numpy", "ndarray"):
                    shapes.setdefault(f"{key}.{name}", set()).add(_shape(inner))
    return [name for name, several in shapes.items() if len(several) > 1]


def _unnamed(row: Any) -> dict[str, Any]:
    if type(row) in (tuple, list):
        return {str(at): value for at, value in enumerate(row)}
    return {"row": row}


def _length(value: Any) -> int | None:
    if type(value) in (list, tuple, str):
        return len(value)
    if is_tensor(value) or is_a(value, "numpy", "ndarray"):
        with untouched():
            return int(value.shape[0]) if len(value.shape) else None
    return None


def _code(collator: Any) -> CodeType | None:
    """Of a function, read past whatever a class of the user's would answer."""
    if type(collator) is MethodType:
        collator = collator.__func__
    if type(collator) is FunctionType:
        collator = collator.__code__
    return collator if type(collator) is CodeType else None


def _name(collator: Any) -> str:
    code = _code(collator)
    return code.co_name if code is not None else type(collator).__name__


def _where(collator: Any) -> tuple[Place | None, bool]:
    code = _code(collator)
    if code is not None:
        place = Place(os.path.abspath(code.co_filename), code.co_firstlineno)
        return (place, True) if own_code.own(code) else (None, False)
    made = origins.made_at(collator)
    call = getattr(vars(type(collator)).get("__call__"), "__code__", None)
    own = call is not None and own_code.own(call)
    if made is None and own and call is not None:
        made = Place(os.path.abspath(call.co_filename), call.co_firstlineno)
    return made, own


def _pads(collator: Any, tokenizer: Any) -> tuple[str, ...]:
    names = {kind.__name__ for kind in type(collator).__mro__}
    pads = tokenizer_pads(tokenizer) if tokenizer is not None else ()
    return (*pads, "labels") if names & set(PAD_LABELS) else pads


def tokenizer_pads(tokenizer: Any) -> tuple[str, ...]:
    own = attributes(tokenizer).get("model_input_names")
    names = own if own is not None else getattr(type(tokenizer), "model_input_names", ())
    return tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()


def tokenizer_seen(tokenizer: Any) -> TokenizerSeen:
    """A tokenizer of a library is asked for its own numbers, nothing is tokenised; of one that the
    user wrote, only what it holds is read."""
    library = not any(map(own_code.own_class, type(tokenizer).__mro__[:-1]))

    def number(name: str) -> int | None:
        value = getattr(tokenizer, name, None) if library else attributes(tokenizer).get(name)
        return value if type(value) is int else None

    size = len(tokenizer) if library and hasattr(type(tokenizer), "__len__") else None
    return TokenizerSeen(
        type(tokenizer).__name__,
        origins.made_at(tokenizer),
        size,
        tokenizer_pads(tokenizer),
        number("pad_token_id"),
        number("eos_token_id"),
        str(attributes(tokenizer).get("padding_side", "")),
    )


def dataset_seen(dataset: Any) -> DatasetSeen:
    table = attributes(dataset).get("_data")
    if type(table).__module__.partition(".")[0] not in ("datasets", "pyarrow"):
        table = None
    columns = getattr(table, "column_names", ()) if table is not None else ()
    rows = getattr(table, "num_rows", None) if table is not None else None
    if rows is None and type(dataset) in (list, tuple):
        rows = len(dataset)
    elif rows is None:
        rows = plain_length(dataset)
    return DatasetSeen(
        type(dataset).__name__,
        origins.made_at(dataset),
        own_code.own_class(type(dataset)),
        rows if type(rows) is int else None,
        tuple(str(name) for name in columns),
        _picked_from(dataset),
    )


def _picked_from(dataset: Any) -> str:
    """The class of the user's at the end of a chain of `Subset`s and the like."""
    for _ in range(MOST_INSIDE):
        inside = attributes(dataset)
        below = inside.get("dataset", inside.get("datasets"))
        dataset = below[0] if type(below) is list and below else below
        if dataset is None or own_code.own_class(type(dataset)):
            break
    return type(dataset).__name__ if own_code.own_class(type(dataset)) else ""
