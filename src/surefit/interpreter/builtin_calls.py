"""Calls of Python's own functions."""

import ast
from collections.abc import Callable, Sequence

from surefit.interpreter.attributes import attribute_of, set_attribute
from surefit.interpreter.classes import class_chain
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.operators import binary
from surefit.interpreter.optimizers import builtin_filter
from surefit.interpreter.value_queries import (
    Arguments,
    apply,
    dict_value,
    items_of,
    sequence,
    size_value,
)
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    ClassValue,
    Constant,
    DictValue,
    EachParameter,
    ImportedName,
    InstanceValue,
    Integer,
    LayerValue,
    LibraryObject,
    LoaderValue,
    ParameterSet,
    Real,
    SequenceValue,
    TensorValue,
)

BUILTINS = {
    *("len", "range", "enumerate", "zip", "list", "tuple", "dict", "int", "float", "str", "sum"),
    *("max", "min", "abs", "isinstance", "print", "sorted", "reversed", "bool", "getattr"),
    *("setattr", "hasattr", "exit", "quit", "object", "property", "staticmethod", "open", "round"),
    *("next", "iter", "type", "repr", "id", "super", "any", "all", "set", "Exception", "input"),
    *("ValueError", "RuntimeError", "AssertionError", "NotImplementedError", "TypeError"),
    *("classmethod", "callable", "divmod", "pow", "map", "filter", "slice", "vars", "format"),
}
PYTHON_TYPES = {kind.__name__: kind for kind in (int, float, str, bool, list, tuple)}
BuiltinCall = Callable[[Evaluator, Arguments, ast.AST], AbstractValue]


def builtin_len(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    match arguments.first:
        case TensorValue(shape=shape):
            return size_value(shape.size(0))
        case SequenceValue(items=tuple(items)):
            return Constant(len(items))
        case DictValue(items=dict(entries)):
            return Constant(len(entries))
        case Constant(value=str(text)):
            return Constant(len(text))
        case LayerValue(kind="Sequential" | "ModuleList", children=children):
            return Constant(len(children))
        case InstanceValue() as instance:
            method = attribute_of(run, instance, "__len__", node)
            known = isinstance(method, BoundMethod) and method.function is not None
            return run.call(method, Arguments(), node) if known else UNKNOWN
    return Integer()


def builtin_range(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    return LibraryObject("range", {}, node, tuple(arguments.positional))


def builtin_zip(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    known = LibraryObject("zip", {}, node, tuple(arguments.positional))
    return UNKNOWN if arguments.open else known


def builtin_enumerate(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    start = arguments.get("start", 1, Constant(0))
    return LibraryObject("enumerate", {"start": start}, node, (arguments.first,))


def first_argument(_run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    """`tqdm(loader)` iterates over what it is passed."""
    return arguments.first


def builtin_iter(_run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    return arguments.first if isinstance(arguments.first, LoaderValue) else UNKNOWN


def builtin_sequence(kind: str) -> BuiltinCall:
    def convert(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
        if not arguments.positional:
            return sequence(kind, ())
        if isinstance(arguments.first, ParameterSet):
            return arguments.first
        iterations = iterations_of(run, arguments.first)
        return sequence(kind, iterations.items if iterations.all_known else None, node)

    return convert


def builtin_reversed(run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    iterations = iterations_of(run, arguments.first)
    return sequence("list", iterations.items[::-1] if iterations.all_known else None)


def builtin_dict(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if arguments.open or len(arguments.positional) > 1:
        return UNKNOWN
    first = arguments.first if arguments.positional else DictValue({})
    if not isinstance(first, DictValue) or first.items is None:
        return UNKNOWN
    return dict_value(arguments.named, node, first.items)


def builtin_number(kind: Callable[..., object]) -> BuiltinCall:
    def convert(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
        value = arguments.first if len(arguments.positional) == 1 else UNKNOWN
        if isinstance(value, Constant) and not isinstance(value.value, tuple):
            return apply(kind, [value], node)
        if kind is int and isinstance(value, Integer):
            return value
        if isinstance(value, TensorValue) or kind not in (int, float):
            return UNKNOWN
        return Integer() if kind is int else Real(node)

    return convert


def builtin_sum(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    items = items_of(arguments.first)
    if items is None:
        return UNKNOWN
    result = arguments.get("start", 1, Constant(0))
    for item in items:
        result = binary(run, result, ast.Add(), item, (node, node), node)
    return result


def builtin_extreme(function: Callable[..., object]) -> BuiltinCall:
    def choose_extreme(_run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
        values: Sequence[AbstractValue] = arguments.positional
        if len(values) == 1:
            values = items_of(values[0]) or values
        return UNKNOWN if arguments.named else apply(lambda *numbers: function(numbers), values)

    return choose_extreme


def builtin_isinstance(_run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    if len(arguments.positional) != 2:
        return UNKNOWN
    value, kinds = arguments.positional
    results = [is_instance_of(value, kind) for kind in items_of(kinds) or (kinds,)]
    if True in results:
        return Constant(True)
    return UNKNOWN if None in results else Constant(False)


def is_instance_of(value: AbstractValue, kind: AbstractValue) -> bool | None:
    name = kind.name if isinstance(kind, ImportedName) else ""
    match value:
        case TensorValue():
            other = name in ("list", "tuple", "dict", "str", "int")
            return name == "torch.Tensor" if name == "torch.Tensor" or other else None
        case SequenceValue():
            known = ("list", "tuple", "torch.Tensor", "dict", "str", "int", "float")
            return value.kind == name if name in known else None
        case DictValue():
            return name == "dict" if name in ("dict", "list", "tuple", "torch.Tensor") else None
        case Constant() if name in PYTHON_TYPES:
            return isinstance(value.value, PYTHON_TYPES[name])
        case Integer():
            return name == "int" if name in ("int", "str", "list", "tuple") else None
        case LayerValue():
            if name.startswith("torch.nn."):
                return name.rpartition(".")[2] in (value.kind, "Module")
            return False if isinstance(kind, ClassValue) else None
        case InstanceValue() if isinstance(kind, ClassValue):
            return kind in class_chain(value.of)
    return None


def builtin_getattr(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    match arguments.positional:
        case [owner, Constant(value=str(name))]:
            return attribute_of(run, owner, name, node)
    return UNKNOWN


def builtin_setattr(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    match arguments.positional:
        case [owner, Constant(value=str(name)), value]:
            set_attribute(run, owner, name, value, node)
        case [owner, *_]:
            run.escape(owner)
    return UNKNOWN


def builtin_next(run: Evaluator, arguments: Arguments, _node: ast.AST) -> AbstractValue:
    value = arguments.first
    if isinstance(value, LoaderValue):
        return iterations_of(run, value).item(0)
    return EachParameter(value) if isinstance(value, ParameterSet) and value.of else UNKNOWN


def memory_file(_run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    """A file in memory; one that is created from what another held is the same file."""
    if isinstance(arguments.first, LibraryObject):
        return arguments.first
    return LibraryObject("io.BytesIO", {}, node)


BUILTIN_CALLS: dict[str, BuiltinCall] = {
    "len": builtin_len,
    "range": builtin_range,
    "enumerate": builtin_enumerate,
    "zip": builtin_zip,
    "tqdm.tqdm": first_argument,
    "tqdm.auto.tqdm": first_argument,
    "tqdm.trange": builtin_range,
    "list": builtin_sequence("list"),
    "tuple": builtin_sequence("tuple"),
    "reversed": builtin_reversed,
    "dict": builtin_dict,
    "int": builtin_number(int),
    "float": builtin_number(float),
    "str": builtin_number(str),
    "sum": builtin_sum,
    "max": builtin_extreme(max),
    "min": builtin_extreme(min),
    "isinstance": builtin_isinstance,
    "getattr": builtin_getattr,
    "setattr": builtin_setattr,
    "next": builtin_next,
    "iter": builtin_iter,
    "filter": builtin_filter,
    "copy.deepcopy": lambda *_: UNKNOWN,
    "io.BytesIO": memory_file,
}
