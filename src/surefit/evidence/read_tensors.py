"""Sizes and kinds of tensors, as far as the source of a script tells them for certain.

Functions and `forward`s of the file are followed with what they are given.
"""

import ast
from collections.abc import Mapping

from surefit.evidence.known_tensors import (
    Array,
    Plain,
    Several,
    Tensor,
    Value,
    as_array,
    as_tensor,
    cast,
    collated,
    combined,
    item_of,
    multiplied,
    together,
)
from surefit.evidence.read_arrays import kind_given, made_array
from surefit.evidence.read_layers import after_layer
from surefit.evidence.read_loaders import LOADER, loader_argument
from surefit.evidence.read_models import layer_of, loaded_model
from surefit.evidence.read_operations import changed, kind_of_argument, made
from surefit.source.callers import given_for, given_in, is_open, takes_itself
from surefit.source.classes import Method, method
from surefit.source.constants import number, whole
from surefit.source.definitions import last_binding, right_side
from surefit.source.origins import of_self, one_step_back
from surefit.source.outcomes import function_run, maker, own_class_of
from surefit.source.reading import Source, called
from surefit.source.returns import gives_one_by_one, own_returns

DEEPEST = 40
Given = Mapping[ast.arg, Value]
NOTHING: Given = {}
ONE_MORE = ("CausalLM", "MaskedLM", "TokenClassification", "Seq2SeqLM", "ConditionalGeneration")
"""Models of transformers whose logits have an axis of tokens."""


def known(source: Source, node: ast.expr, given: Given = NOTHING, deep: int = 0) -> Value:
    """What is known of the value of an expression; None where it can be anything."""
    if deep > DEEPEST:
        return None
    if isinstance(node, ast.Name):
        return of_name(source, node, given, deep + 1)
    if isinstance(node, ast.Constant):
        kinds = {bool: "bool", int: "long", float: "float"}
        return Plain(kinds[type(node.value)]) if type(node.value) in kinds else None
    if isinstance(node, ast.Tuple):
        members = [known(source, one, given, deep + 1) for one in node.elts]
        stars = any(isinstance(one, ast.Starred) for one in node.elts)
        return None if stars else Several(dict(enumerate(members)))
    if isinstance(node, ast.Dict):
        return of_dictionary(source, node, given, deep + 1)
    if isinstance(node, ast.Attribute):
        return of_attribute(source, node, given, deep + 1)
    if isinstance(node, ast.Subscript):
        return of_subscript(source, node, given, deep + 1)
    if isinstance(node, ast.Call):
        return of_call(source, node, given, deep + 1)
    if isinstance(node, ast.BinOp):
        sides = [known(source, one, given, deep + 1) for one in (node.left, node.right)]
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Mod | ast.Pow):
            return combined(*sides, divided=isinstance(node.op, ast.Div))
        return multiplied(*sides) if isinstance(node.op, ast.MatMult) else None
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        sides = [known(source, one, given, deep + 1) for one in (node.left, node.comparators[0])]
        whole_ = combined(*sides)
        return Tensor(whole_.sizes, "bool") if isinstance(whole_, Tensor) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return known(source, node.operand, given, deep + 1)
    if isinstance(node, ast.IfExp):
        ways = [known(source, one, given, deep + 1) for one in (node.body, node.orelse)]
        return together(*ways)
    return None


def of_dictionary(source: Source, node: ast.Dict, given: Given, deep: int) -> Value:
    members: dict[int | str, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        members[key.value] = known(source, value, given, deep)
    return Several(members)


def of_name(source: Source, name: ast.Name, given: Given, deep: int) -> Value:
    bound = source.bound_by(name)
    if len(bound) == 1 and isinstance(bound[0], ast.arg):
        argument = bound[0]
        if argument in given:
            return given[argument]
        back = given_for(source, argument) if not given else None
        return known(source, back, NOTHING, deep) if back is not None else None
    last = last_binding(source, bound, source.statement_of(name))
    if last is not None:
        value = right_side(last)
        if value is not None:
            return known(source, value, given, deep)
        return of_target(source, last, name.id, given, deep)
    if len(bound) != 1:
        return None
    only = bound[0]
    back = one_step_back(source, name)
    if back is not None:
        return known(source, back, given, deep)
    return of_target(source, only, name.id, given, deep)


def of_target(source: Source, binder: ast.AST, name: str, given: Given, deep: int) -> Value:
    """A name among several that an assignment or a loop sets."""
    if isinstance(binder, ast.Assign) and len(binder.targets) == 1:
        return picked(binder.targets[0], name, known(source, binder.value, given, deep))
    if isinstance(binder, ast.For | ast.comprehension):
        return of_loop(source, binder, name, given, deep)
    return None


def picked(target: ast.expr, name: str, value: Value) -> Value:
    """The part of a value that a name in a pattern gets."""
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, Several):
        return None
    if len(value.members) != len(target.elts):
        return None
    for at, one in enumerate(target.elts):
        names = [inner.id for inner in ast.walk(one) if isinstance(inner, ast.Name)]
        if name in names:
            return picked(one, name, value.members.get(at))
    return None


def of_loop(
    source: Source, loop: ast.For | ast.comprehension, name: str, given: Given, deep: int
) -> Value:
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and called(over) == "range":
        return Plain("long") if isinstance(target, ast.Name) else None
    if isinstance(over, ast.Call) and called(over) == "enumerate" and over.args:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return None
        first = target.elts[0]
        if isinstance(first, ast.Name) and first.id == name:
            return Plain("long")
        over, target = over.args[0], target.elts[1]
    if isinstance(over, ast.Call) and called(over) in ("tqdm", "track") and over.args:
        over = over.args[0]
    return picked(target, name, batch_of(source, over, given, deep))


def batch_of(source: Source, over: ast.expr, given: Given, deep: int) -> Value:
    """A batch of a loader, or a part that `split` cuts off."""
    cuts = over.func if isinstance(over, ast.Call) else None
    if isinstance(over, ast.Call) and isinstance(cuts, ast.Attribute) and cuts.attr == "split":
        rows_cut = known(source, cuts.value, given, deep)
        if isinstance(rows_cut, Tensor) and rows_cut.sizes and len(over.args) == 1:
            return Tensor((None, *rows_cut.sizes[1:]), rows_cut.kind)
        return None
    made_by = maker(source, over)
    if made_by is None or source.imported(made_by.func) not in LOADER or is_open(made_by):
        return None
    named = {one.arg for one in made_by.keywords}
    if named & {"collate_fn", "batch_sampler"} or len(made_by.args) > 2:
        return None
    size = loader_argument(source, made_by, "batch_size")
    rows = loader_argument(source, made_by, "dataset")
    if rows is None or (isinstance(size, ast.Constant) and size.value is None):
        return None
    return collated(row_of(source, rows, deep))


def row_of(source: Source, rows: ast.expr, deep: int) -> Value:
    """A row of a dataset."""
    made_by = maker(source, rows)
    name = source.imported(made_by.func) if made_by else ""
    if made_by is not None and name == "torch.utils.data.TensorDataset":
        columns = [item_of(known(source, one, NOTHING, deep)) for one in made_by.args]
        return Several(dict(enumerate(columns)))
    if made_by is not None and name == "torch.utils.data.Subset" and made_by.args:
        return row_of(source, made_by.args[0], deep + 1) if deep < DEEPEST else None
    owner = own_class_of(source, rows)
    gives = method(source, owner, "__getitem__") if owner else None
    if gives is None or len(gives.args.args) != 2:
        return None
    return followed(source, gives, {gives.args.args[1]: Plain("long")}, deep)


def followed(source: Source, function: Method, given: Given, deep: int) -> Value:
    """What a function gives back for what it is given, at every `return` the same."""
    returns = [one.value for one in own_returns(function)]
    if not returns or gives_one_by_one(function) or any(one is None for one in returns):
        return None
    values = [known(source, one, given, deep + 1) for one in returns if one is not None]
    found = values[0]
    for one in values[1:]:
        found = together(found, one)
    return found


def of_attribute(source: Source, node: ast.Attribute, given: Given, deep: int) -> Value:
    back = of_self(source, node)
    if back is not None:
        return known(source, back, NOTHING, deep)
    if node.attr == "logits":
        logits = of_loaded(source, node.value)
        if logits is not None:
            return logits
    value = known(source, node.value, given, deep)
    if isinstance(value, Tensor) and node.attr == "data":
        return value
    return None


def of_loaded(source: Source, node: ast.expr) -> Tensor | None:
    """Logits of a model of transformers."""
    bound = source.bound_by(node) if isinstance(node, ast.Name) else []
    last = last_binding(source, bound, source.statement_of(node)) if bound else None
    call = right_side(last) if last is not None else node
    kind = loaded_model(source, call.func) if isinstance(call, ast.Call) else ""
    if kind.endswith(ONE_MORE):
        return Tensor((None, None, None), "", classes_last=True)
    if kind.endswith("ForSequenceClassification"):
        return Tensor((None, None), "", classes_last=True)
    return None


def of_subscript(source: Source, node: ast.Subscript, given: Given, deep: int) -> Value:
    value = known(source, node.value, given, deep)
    if isinstance(value, Several):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found = value.members.get(key) if isinstance(key, int | str) else None
        return found
    tensor = as_tensor(value)
    if not isinstance(tensor, Tensor) or tensor.sizes is None:
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    found = indexed(source, tensor, parts, given, deep)
    return as_array(found) if isinstance(value, Array) else found


def indexed(source: Source, value: Tensor, parts: list[ast.expr], given: Given, deep: int) -> Value:
    """Slices keep an axis, numbers take it, None adds one; an index of numbers keeps it."""
    sizes = list(value.sizes or ())
    kept: list[int | None] = []
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is None:
            kept.append(1)
            continue
        if not sizes or (isinstance(part, ast.Constant) and part.value is ...):
            return None
        size = sizes.pop(0)
        if isinstance(part, ast.Slice):
            kept.append(size if part.lower is part.upper is part.step is None else None)
            continue
        index = known(source, part, given, deep)
        if isinstance(index, Tensor) and index.kind == "long" and index.axes == 1:
            if len(parts) > 1:
                return None
            kept.append(None)
        elif whole(source, part) is None and index != Plain("long"):
            return None
    last = bool(sizes) and value.classes_last
    return Tensor((*kept, *sizes), value.kind, last, value.is_one_hot, value.was_flattened)


def of_call(source: Source, call: ast.Call, given: Given, deep: int) -> Value:
    array = made_array(source, call)
    if array is not None:
        return array
    name = source.imported(call.func)
    if name:
        return of_function(source, name, call, given, deep)
    if isinstance(call.func, ast.Name) and call.func.id in ("int", "len", "float", "bool"):
        kinds = {"int": "long", "len": "long", "float": "float", "bool": "bool"}
        return Plain(kinds[call.func.id])
    layer = layer_of(source, call.func)
    if layer:
        made_by = maker(source, call.func)
        first = known(source, call.args[0], given, deep) if call.args else None
        return after_layer(source, made_by, layer, first) if made_by else None
    function = function_run(source, call)
    if function is not None:
        return of_own(source, function, call, given, deep)
    if isinstance(call.func, ast.Attribute):
        value = known(source, call.func.value, given, deep)
        if isinstance(value, Tensor):
            return changed(source, call.func.attr, value, call, 0)
        if isinstance(value, Array):
            return of_array(source, value, call)
    return None


def of_array(source: Source, array: Array, call: ast.Call) -> Value:
    """What a method makes of an array."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "astype" and len(call.args) == 1:
        return Array(cast(array.tensor, kind_given(source, call.args[0])))
    if call.func.attr in ("reshape", "copy", "transpose", "squeeze", "flatten"):
        name = "clone" if call.func.attr == "copy" else call.func.attr
        return as_array(changed(source, name, array.tensor, call, 0))
    return None


def of_own(source: Source, function: Method, call: ast.Call, given: Given, deep: int) -> Value:
    """A function of the file, run with what the call gives it."""
    if deep > DEEPEST // 2 or function.args.vararg or is_open(call):
        return None
    listed = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    itself = takes_itself(source, function, call)
    inside: dict[ast.arg, Value] = {}
    for argument in listed[1:] if itself else listed:
        value = given_in(source, function, call, argument)
        inside[argument] = known(source, value, given, deep) if value is not None else None
    if itself and listed:
        inside[listed[0]] = None
    return followed(source, function, inside or {ast.arg("nothing"): None}, deep + 4)


def of_function(source: Source, name: str, call: ast.Call, given: Given, deep: int) -> Value:
    package, _, last = name.rpartition(".")
    if package not in ("torch", "torch.nn.functional"):
        return None
    found = made(source, last, call) if package == "torch" else None
    if found is not None:
        return found
    first = known(source, call.args[0], given, deep) if call.args else None
    if last in ("tensor", "as_tensor", "from_numpy"):
        return of_data(source, call, as_tensor(first))
    if last == "one_hot" and isinstance(first, Tensor):
        classes = whole(source, source.argument(call, "num_classes", 1))
        sizes = None if first.sizes is None else (*first.sizes, classes)
        return Tensor(sizes, "long", is_one_hot=True)
    if last in ("LongTensor", "FloatTensor", "IntTensor", "BoolTensor", "DoubleTensor"):
        return Tensor(None, last.removesuffix("Tensor").lower())
    if isinstance(first, Tensor):
        return changed(source, last, first, call, 1)
    return None


def of_data(source: Source, call: ast.Call, first: Value) -> Value:
    """`torch.tensor(data, dtype=...)`."""
    given = source.argument(call, "dtype", 1)
    kind = kind_of_argument(source, given) if given is not None else ""
    if isinstance(first, Plain):
        return Tensor((), kind or ("" if given is not None else first.kind))
    if isinstance(first, Tensor):
        return Tensor(first.sizes, kind or ("" if given is not None else first.kind))
    inner = call.args[0] if call.args else None
    numbers = [number(source, one) for one in inner.elts] if isinstance(inner, ast.List) else []
    if numbers and all(one is not None for one in numbers):
        plain = "float" if any(isinstance(one, float) for one in numbers) else "long"
        return Tensor((len(numbers),), kind if given is not None else plain)
    return Tensor(None, kind)
