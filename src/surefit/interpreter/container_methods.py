"""Methods of lists and dicts."""

from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.value_queries import integer_of, sequence
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, DictValue, SequenceValue

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def list_method(
    run: "Evaluator", values: SequenceValue, name: str, arguments: Arguments
) -> AbstractValue:
    items = values.items
    if items is None or values.kind != "list":
        return UNKNOWN
    if name == "append" and len(arguments.positional) == 1:
        run.set(values, "items", (*items, arguments.first))
        return Constant(None)
    if name == "extend" and len(arguments.positional) == 1:
        more = iterations_of(run, arguments.first)
        run.set(values, "items", (*items, *more.items) if more.all_known else None)
        return Constant(None)
    if name == "pop":
        at = arguments.number("index", 0, -1)
        if at is None or not -len(items) <= at < len(items):
            run.set(values, "items", None)
            return UNKNOWN
        left = list(items)
        item = left.pop(at)
        run.set(values, "items", tuple(left))
        return item
    at = integer_of(arguments.first)
    if name == "insert" and len(arguments.positional) == 2 and at is not None:
        run.set(values, "items", (*items[:at], arguments.positional[1], *items[at:]))
        return Constant(None)
    if name == "clear":
        run.set(values, "items", ())
        return Constant(None)
    if name not in ("index", "count", "copy"):
        run.set(values, "items", None)
    return sequence("list", items) if name == "copy" else UNKNOWN


def dict_method(
    run: "Evaluator", entries: DictValue, name: str, arguments: Arguments
) -> AbstractValue:
    items = entries.items
    if items is None:
        return UNKNOWN
    key = arguments.first
    if name == "get" and isinstance(key, Constant):
        return items.get(key.value, arguments.get("default", 1, Constant(None)))
    if name == "keys":
        return sequence("list", [Constant(item) for item in items])
    if name == "values":
        return sequence("list", items.values())
    if name == "items":
        pairs = [sequence("tuple", (Constant(name), value)) for name, value in items.items()]
        return sequence("list", pairs)
    if name == "copy":
        return DictValue(dict(items), entries.node, entries.loaded)
    run.set(entries, "items", None)
    return UNKNOWN
