"""Lines that put a model's parameters into float16 or bfloat16, and the same in float32."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from surefit.doctor.findings import Place
from surefit.laws.hidden_layers import is_module_class, makes_module
from surefit.source.classes import class_of
from surefit.source.edits import replaced
from surefit.source.patches import Edit, Replace, both
from surefit.source.reading import Source, called, dotted
from surefit.source.spans import Span

METHODS = {"float16": "half", "bfloat16": "bfloat16"}
ARGUMENTS = ("dtype", "torch_dtype")
OF_MODULES = ("parameters", "named_parameters", "state_dict", "load_state_dict")
LOADERS = ("from_pretrained", "from_config")


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
            inside = {*ast.walk(call)}
            if any(node not in inside for node in everywhere):
                edit = all_in_float32(source, everywhere)
            yield Chosen(Place(source.file, call.lineno, call.end_lineno), edit)


def mentions(source: Source, dtype: str) -> Iterator[ast.expr]:
    """Every `torch.bfloat16` and `.bfloat16()` of a file, but for those of `autocast`."""
    for node in source.every(ast.expr):
        if any(
            isinstance(outer, ast.Call) and called(outer) == "autocast" for outer in source.up(node)
        ):
            continue
        if names_type(source, node, dtype) or (
            isinstance(node, ast.Call) and called(node) == METHODS[dtype] and not node.args
        ):
            yield node


def all_in_float32(source: Source, everywhere: list[ast.expr]) -> Edit:
    edits = []
    for node in everywhere:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            span = source.span(node)
            end = source.span(node.func.value)
            tail = Span(end.end_line, end.end_column, span.end_line, span.end_column)
            edits.append(Edit(source.file, (Replace(tail, ".float()"),)))
        else:
            edits.append(replaced(source, node, "torch.float32"))
    return reduce(both, edits)


def in_float32(source: Source, call: ast.Call, dtype: str) -> Edit | None:
    """None where the call does not choose this type for a model."""
    if makes_own_module(source, call):
        named = next((keyword.value for keyword in call.keywords if keyword.arg in ARGUMENTS), None)
        chosen = named if is_type(source, named, dtype) else None
        return replaced(source, chosen, "torch.float32") if chosen is not None else None
    if source.imported(call.func) == "torch.set_default_dtype" and call.args:
        chosen = call.args[0] if is_type(source, call.args[0], dtype) else None
        return replaced(source, chosen, "torch.float32") if chosen is not None else None
    if not isinstance(call.func, ast.Attribute) or not is_model(source, call.func.value):
        return None
    if call.func.attr == METHODS[dtype] and not call.args:
        return without_call(source, call)
    if call.func.attr == "to":
        first = source.argument(call, "dtype", 0)
        if is_type(source, first, dtype) and len(call.args) + len(call.keywords) == 1:
            return without_call(source, call)
        several = [*call.args, *(keyword.value for keyword in call.keywords)]
        chosen_type = next(
            (keyword for keyword in several if is_type(source, keyword, dtype)), None
        )
        return replaced(source, chosen_type, "torch.float32") if chosen_type is not None else None
    return None


def without_call(source: Source, call: ast.Call) -> Edit:
    """`model.half()` becomes `model`; a statement that did nothing else becomes `float()`, which
    changes nothing."""
    assert isinstance(call.func, ast.Attribute)
    if isinstance(source.parents[call], ast.Expr):
        return replaced(source, call, f"{source.segment(call.func.value)}.float()")
    return replaced(source, call, source.segment(call.func.value))


def is_type(source: Source, node: ast.expr | None, dtype: str) -> bool:
    if node is None:
        return False
    value = source.value_of(node)
    if isinstance(value, ast.Constant):
        return value.value in (dtype, f"torch.{dtype}")
    return names_type(source, value, dtype)


def names_type(source: Source, node: ast.expr, dtype: str) -> bool:
    names = (dtype, "half") if dtype == "float16" else (dtype,)
    return source.imported(node) in tuple(f"torch.{name}" for name in names)


def is_model(source: Source, node: ast.expr) -> bool:
    """A module, as the source shows: made as one, loaded as one, or asked for its parameters."""
    if any(
        isinstance(value, ast.Call) and makes_own_module(source, value)
        for value in values_of(source, node)
    ):
        return True
    defined = class_of(source, node)
    if defined is not None and is_module_class(source, defined):
        return True
    name = dotted(node)
    return bool(name) and any(
        value.attr in OF_MODULES and dotted(value.value) == name
        for value in source.every(ast.Attribute)
    )


def values_of(source: Source, node: ast.expr) -> list[ast.expr]:
    """The expression itself, or all that a name is ever given."""
    if not isinstance(node, ast.Name):
        return [node]
    bound = source.bound_by(node)
    return [
        binder.value
        for binder in bound
        if isinstance(binder, ast.Assign | ast.AnnAssign) and binder.value
    ]


def makes_own_module(source: Source, call: ast.Call) -> bool:
    if called(call) in LOADERS:
        return True
    full = source.imported(call.func)
    from_library = full.startswith(("transformers.", "torchvision.models.", "timm."))
    return makes_module(source, call) or (from_library and "Config" not in full)
