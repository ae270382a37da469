"""What a script saves and loads again."""

import ast

from surefit.interpreter.contracts.checkpoints import (
    state_dict_names,
    state_of_other_parameters,
    unpickling_refused,
    whole_checkpoint,
)
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.modules import named_tensors, shapes_of_parameters
from surefit.interpreter.shapes import Shape
from surefit.interpreter.value_queries import Arguments, contents, text_in
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    DictValue,
    GroupShapes,
    InstanceValue,
    LayerValue,
    LibraryObject,
    Module,
    OptimizerStateValue,
    OptimizerValue,
    SequenceValue,
    StateDictValue,
)


def save_checkpoint(run: Evaluator, arguments: Arguments, node: ast.AST) -> None:
    what, where = arguments.get("obj", 0, UNKNOWN), arguments.get("f", 1, UNKNOWN)
    file = file_of(where)
    if file is not None:
        run.files[file] = (UNKNOWN if run.guard else snapshot(what), node)


def file_of(where: AbstractValue) -> object:
    """What a file is known by: its name, or itself where it is in memory."""
    if text_in(where) is not None:
        return text_in(where)
    return where if isinstance(where, LibraryObject) and where.name == "io.BytesIO" else None


def snapshot(value: AbstractValue) -> AbstractValue:
    """A dict as it is now; it can be changed later."""
    if isinstance(value, DictValue) and value.items is not None:
        return DictValue(dict(value.items), value.node)
    return value


def load_checkpoint(run: Evaluator, arguments: Arguments, node: ast.AST) -> AbstractValue:
    file = file_of(arguments.get("f", 0, UNKNOWN))
    if file not in run.files:
        return UNKNOWN
    value, saved_at = run.files[file]
    foreign = class_to_unpickle(value)
    only = arguments.flag("weights_only", None, True)
    if foreign and only and not arguments.open and isinstance(node, ast.Call):
        if "safe_globals" not in run.source.text:
            run.report(unpickling_refused, node, node, saved_at, foreign)
        return UNKNOWN
    if isinstance(value, DictValue) and value.items is not None:
        return DictValue(dict(value.items), value.node, node)
    return value


def class_to_unpickle(value: AbstractValue, deep: int = 0) -> str:
    """The class of an object that is neither tensor, number, text nor a container of such."""
    if isinstance(value, InstanceValue):
        return value.of.node.name
    if isinstance(value, LayerValue):
        return value.kind
    if isinstance(value, LibraryObject) and value.name == "argparse.Namespace":
        return "Namespace"
    if deep < 4 and isinstance(value, SequenceValue | DictValue):
        names = (class_to_unpickle(item, deep + 1) for item in contents(value))
        return next((name for name in names if name), "")
    return ""


def load_into_model(run: Evaluator, model: Module, arguments: Arguments, node: ast.AST) -> None:
    value = arguments.get("state_dict", 0, UNKNOWN)
    strict = arguments.flag("strict", 1, True)
    if not strict or not isinstance(node, ast.Call):
        return
    tensors = named_tensors(model)
    if tensors is None:
        return
    if isinstance(value, StateDictValue) and value.tensors is not None:
        if value.tensors.keys() != tensors.keys() or different_shapes(value.tensors, tensors):
            birth = model.node if value.tensors.keys() == tensors.keys() else node
            run.report(state_dict_names, node, birth, model, value, tensors)
    elif isinstance(value, DictValue) and value.items is not None:
        for key, entry in value.items.items():
            inner = entry.tensors if isinstance(entry, StateDictValue) else None
            if inner and inner.keys() == tensors.keys() and not different_shapes(inner, tensors):
                run.report(whole_checkpoint, node, node, model, value, str(key))
                return


def different_shapes(left: dict[str, Shape], right: dict[str, Shape]) -> list[str]:
    """Names of tensors that certainly have another shape."""
    return [name for name in left if name in right and shapes_differ(left[name], right[name])]


def shapes_differ(left: Shape, right: Shape) -> bool:
    if left.more or right.more:
        return False
    if len(left.sizes) != len(right.sizes):
        return True
    return any(
        isinstance(size, int) and isinstance(other, int) and size != other
        for size, other in zip(left.sizes, right.sizes, strict=True)
    )


def group_shapes(optimizer: OptimizerValue) -> GroupShapes | None:
    groups = optimizer.groups
    if groups is None or any(group.model is None for group in groups):
        return None
    shapes = [shapes_of_parameters(group) for group in groups]
    known = tuple(group for group in shapes if group is not None)
    return known if len(known) == len(groups) else None


def load_into_optimizer(
    run: Evaluator, optimizer: OptimizerValue, arguments: Arguments, node: ast.AST
) -> None:
    value = arguments.get("state_dict", 0, UNKNOWN)
    has = group_shapes(optimizer)
    saved = value.groups if isinstance(value, OptimizerStateValue) else None
    if saved is None or has is None or not isinstance(node, ast.Call):
        return
    differ = any(
        shapes_differ(left, right)
        for group, other in zip(saved, has, strict=False)
        for left, right in zip(group, other, strict=False)
    )
    if differ or [len(group) for group in saved] != [len(group) for group in has]:
        birth = optimizer.node
        run.report(state_of_other_parameters, node, birth, optimizer.kind, saved, has)
