"""Lines that put a model's parameters into float16 or bfloat16, and the same in float32."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from surefit.doctor.findings import Place
from surefit.laws.layers.hidden_layers import is_module_class, makes_module
from surefit.source.classes import class_of
from surefit.source.edits import replaced
from surefit.source.patches import Edit, Replace, both
from surefit.source.reading import Source, called, dotted
from surefit.source.spans import Span

METHODS = {"float16": "half", "bfloat16": "bfloat16"}
TYPES = {"float16": ("torch.float16", "torch.half"), "bfloat16": ("torch.bfloat16",)}
ARGUMENTS = ("dtype", "torch_dtype")
OF_MODULES = ("parameters", "named_parameters", "state_dict", "load_state_dict")
LOADERS = ("from_pretrained", "from_config")
LIBRARIES = ("transformers.", "torchvision.models.", "timm.")
FLOAT32 = "torch.float32"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One such line."""

    place: Place
    in_float32: Edit


def choices(source: Source | None, dtype: str) -> Iterator[Chosen]:
    """Where other lines choose the type, too, for inputs or by a name, they change along."""
    for call in source.every(ast.Call) if source else ():
        edit = in_float32(source, call, dtype) if source else None
        if source is not None and edit is not None:
            everywhere = list(mentions(source, dtype))
            if not {*everywhere} <= {*ast.walk(call)}:
                edit = reduce(both, (mention_in_float32(source, node) for node in everywhere))
            yield Chosen(Place(source.file, call.lineno, call.end_lineno), edit)


def mentions(source: Source, dtype: str) -> Iterator[ast.expr]:
    """Every `torch.bfloat16` and `.bfloat16()` of a file, but for those of `autocast`."""
    for node in source.every(ast.expr):
        calls = [outer for outer in source.up(node) if isinstance(outer, ast.Call)]
        casts = isinstance(node, ast.Call) and called(node) == METHODS[dtype] and not node.args
        if (casts or names_type(source, node, dtype)) and "autocast" not in map(called, calls):
            yield node


def mention_in_float32(source: Source, node: ast.expr) -> Edit:
    match node:
        case ast.Call(func=ast.Attribute(value=owner)):
            begin, end = source.span(owner), source.span(node)
            tail = Span(begin.end_line, begin.end_column, end.end_line, end.end_column)
            return Edit(source.file, (Replace(tail, ".float()"),))
    return replaced(source, node, FLOAT32)


def in_float32(source: Source, call: ast.Call, dtype: str) -> Edit | None:
    """None where the call does not choose this type for a model."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    method = call.func if isinstance(call.func, ast.Attribute) else None
    if makes_own_module(source, call):
        given = [keyword.value for keyword in call.keywords if keyword.arg in ARGUMENTS][:1]
    elif source.imported(call.func) == "torch.set_default_dtype":
        given = call.args[:1]
    elif method is None or not is_model(source, method.value):
        return None
    elif method.attr == METHODS[dtype] and not call.args:
        return without_call(source, call, method.value)
    elif method.attr != "to":
        return None
    elif len(given) == 1 and is_type(source, source.argument(call, "dtype", 0), dtype):
        return without_call(source, call, method.value)
    chosen = next((node for node in given if is_type(source, node, dtype)), None)
    return replaced(source, chosen, FLOAT32) if chosen is not None else None


def without_call(source: Source, call: ast.Call, model: ast.expr) -> Edit:
    """`model.half()` becomes `model`; a statement that did nothing else becomes `float()`, which
    changes nothing."""
    suffix = ".float()" if isinstance(source.parents[call], ast.Expr) else ""
    return replaced(source, call, source.segment(model) + suffix)


def is_type(source: Source, node: ast.expr | None, dtype: str) -> bool:
    value = source.value_of(node) if node is not None else None
    if isinstance(value, ast.Constant):
        return value.value in (dtype, f"torch.{dtype}")
    return value is not None and names_type(source, value, dtype)


def names_type(source: Source, node: ast.expr, dtype: str) -> bool:
    return source.imported(node) in TYPES[dtype]


def is_model(source: Source, node: ast.expr) -> bool:
    """A module, as the source shows: made as one, loaded as one, or asked for its parameters."""
    for value in values_of(source, node):
        if isinstance(value, ast.Call) and makes_own_module(source, value):
            return True
    defined = class_of(source, node)
    if defined is not None and is_module_class(source, defined):
        return True
    name = dotted(node)
    return bool(name) and any(
        value.attr in OF_MODULES and dotted(value.value) == name
        for value in source.every(ast.Attribute)
    )


def values_of(source: Source, node: ast.expr) -> list[ast.expr | None]:
    """The expression itself, or all that a name is ever given."""
    if not isinstance(node, ast.Name):
        return [node]
    assigning = ast.Assign | ast.AnnAssign
    return [binder.value for binder in source.bound_by(node) if isinstance(binder, assigning)]


def makes_own_module(source: Source, call: ast.Call) -> bool:
    full = source.imported(call.func)
    from_library = full.startswith(LIBRARIES) and "Config" not in full
    return from_library or called(call) in LOADERS or makes_module(source, call)
