"""What a script saves and loads again."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.mishaps import (
    OptimizerMisfit,
    StateMisfit,
    Unpickled,
    WholeCheckpoint,
)
from surefit.evidence.imagined.modules import named_tensors, shapes_of_parameters
from surefit.evidence.imagined.shapes import Shape
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Instance,
    Known,
    Layer,
    Listed,
    Made,
    Mapped,
    Optimizer,
    OptimizerState,
    Parameters,
    StateDict,
    inside,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run


def saved(run: "Run", given: Given, node: ast.AST) -> None:
    what, where = given.get("obj", 0, UNKNOWN), given.get("f", 1, UNKNOWN)
    file = file_of(where)
    if file is not None:
        run.files[file] = (UNKNOWN if run.guard else snapshot(what), node)


def file_of(where: Any) -> Any:
    """What a file is known by: its name, or itself where it is in memory."""
    if isinstance(where, Known) and isinstance(where.value, str):
        return where.value
    return where if isinstance(where, Made) and where.name == "io.BytesIO" else None


def snapshot(value: Any) -> Any:
    """A dict as it is now; it can be changed later."""
    if isinstance(value, Mapped) and value.items is not None:
        return Mapped({"items": dict(value.items)}, value.node)
    return value


def loaded(run: "Run", given: Given, node: ast.AST) -> Any:
    where = given.get("f", 0, UNKNOWN)
    kept = run.files.get(file_of(where))
    if kept is None:
        return UNKNOWN
    value, saved_at = kept
    odd = foreign(value)
    only = given.flag("weights_only", None, True)
    if odd and only and not given.open and isinstance(node, ast.Call):
        if "add_safe_globals" not in run.source.text and "safe_globals" not in run.source.text:
            run.mishap(Unpickled(node, saved_at, odd))
        return UNKNOWN
    if isinstance(value, Mapped) and value.items is not None:
        return Mapped({"items": dict(value.items)}, value.node, node)
    if isinstance(value, StateDict):
        return replace(value, loaded=node)
    return value


def foreign(value: Any, deep: int = 0) -> str:
    """The class of an object that is neither tensor, number, text nor a container of such."""
    if isinstance(value, Instance):
        return value.of.node.name
    if isinstance(value, Layer):
        return value.kind
    if isinstance(value, Made) and value.name == "argparse.Namespace":
        return "Namespace"
    if deep < 4 and isinstance(value, Listed | Mapped):
        return next((odd for one in inside(value) if (odd := foreign(one, deep + 1))), "")
    return ""


def loaded_into(run: "Run", model: Any, given: Given, node: ast.AST) -> None:
    value = given.get("state_dict", 0, UNKNOWN)
    strict = given.flag("strict", 1, True)
    if not strict or not isinstance(node, ast.Call):
        return
    tensors = named_tensors(model)
    if tensors is None:
        return
    if isinstance(value, StateDict) and value.tensors is not None:
        if value.tensors.keys() != tensors.keys() or differ(value.tensors, tensors):
            run.mishap(StateMisfit(node, model, value, tensors))
    elif isinstance(value, Mapped) and value.items is not None:
        for key, entry in value.items.items():
            inner = entry.tensors if isinstance(entry, StateDict) else None
            if inner and inner.keys() == tensors.keys() and not differ(inner, tensors):
                run.mishap(WholeCheckpoint(node, model, value, str(key)))
                return


def differ(one: dict[str, Shape], other: dict[str, Shape]) -> list[str]:
    """Names of tensors that surely have another shape."""
    return [
        name for name, shape in one.items() if name in other and are_different(shape, other[name])
    ]


def are_different(one: Shape, other: Shape) -> bool:
    if one.more or other.more:
        return False
    if len(one.sizes) != len(other.sizes):
        return True
    return any(
        isinstance(left, int) and isinstance(right, int) and left != right
        for left, right in zip(one.sizes, other.sizes, strict=True)
    )


Groups = tuple[tuple[Shape, ...], ...]


def groups_of(optimizer: Optimizer) -> Groups | None:
    if optimizer.groups is None:
        return None
    found: list[tuple[Shape, ...]] = []
    for group in optimizer.groups:
        complete = (
            isinstance(group, Parameters) and group.of is not None and (group.model is not None)
        )
        shapes = shapes_of_parameters(group.of, False) if complete else None
        if shapes is None:
            return None
        found.append(shapes)
    return tuple(found)


def optimizer_state(optimizer: Optimizer, node: ast.AST) -> OptimizerState:
    return OptimizerState(groups_of(optimizer), node)


def optimizer_loaded(run: "Run", optimizer: Optimizer, given: Given, node: ast.AST) -> None:
    value = given.get("state_dict", 0, UNKNOWN)
    has = groups_of(optimizer)
    if not isinstance(value, OptimizerState) or value.groups is None or has is None:
        return
    if not isinstance(node, ast.Call):
        return
    counts = [len(one) for one in value.groups], [len(one) for one in has]
    odd = any(
        are_different(left, right)
        for one, other in zip(value.groups, has, strict=False)
        for left, right in zip(one, other, strict=False)
    )
    if counts[0] != counts[1] or odd:
        run.mishap(OptimizerMisfit(node, optimizer.node, optimizer.kind, value.groups, has))
