"""Models: their attributes, the layers in them, and what `to` and `requires_grad_` do to all."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.classes import (
    find_in_class,
    has_foreign_bases,
    is_module_class,
)
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.layer_kinds import CONTAINERS, parameters_of, tensors_of
from surefit.evidence.imagined.shapes import ANY, Shape
from surefit.evidence.imagined.values import (
    ABSENT,
    UNKNOWN,
    Bound,
    Class,
    Each,
    External,
    Function,
    Instance,
    Known,
    Layer,
    Listed,
    Loader,
    Made,
    Mapped,
    Optimizer,
    OptimizerState,
    Parameters,
    StateDict,
    Tensor,
    Unknown,
    Whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run


def is_module(value: Any) -> bool:
    return isinstance(value, Layer) or (isinstance(value, Instance) and is_module_class(value.of))


def attribute_of(run: "Run", value: Any, name: str, node: ast.AST) -> Any:
    match value:
        case External(name=before):
            return External(f"{before}.{name}")
        case Tensor():
            return tensor_attribute(run, value, name, node)
        case Instance():
            return instance_attribute(run, value, name, node)
        case Layer():
            return layer_attribute(run, value, name)
        case Class():
            found = find_in_class(value, name)
            return UNKNOWN if found is ABSENT else found
        case Each(of=of):
            return each_attribute(run, value, name, of)
        case Unknown() | Whole() | Function():
            return UNKNOWN
        case Made() if name in value.given and value.name.endswith("Config"):
            return value.given[name]
    return Bound(value, name)


def each_attribute(_run: "Run", each: Each, name: str, of: Parameters) -> Any:
    if name == "grad":
        return Each(of, grad=True)
    if name == "data":
        return UNKNOWN
    return Bound(each, name)


def tensor_attribute(run: "Run", tensor: Tensor, name: str, node: ast.AST) -> Any:
    from surefit.evidence.imagined.graphs import cut_off
    from surefit.evidence.imagined.items import SizesOf
    from surefit.evidence.imagined.operators import transposed

    if name == "shape":
        return SizesOf(tensor)
    if tensor.state.get("array") and name != "shape":
        return Bound(tensor, name)
    if name in ("T", "mT"):
        return transposed(run, tensor, -1, -2, node)
    if name == "data":
        return cut_off(run, tensor, node, tensor.shape, tensor.dtype)
    if name == "ndim":
        rank = tensor.shape.rank
        return Whole() if rank is None else Known(rank)
    if name == "device":
        return tensor.state.get("device") or UNKNOWN
    if name in ("dtype", "grad", "grad_fn", "requires_grad", "is_leaf", "is_cuda", "real", "imag"):
        return UNKNOWN
    return Bound(tensor, name)


def instance_attribute(run: "Run", instance: Instance, name: str, node: ast.AST) -> Any:
    if instance.escaped["escaped"] is not False and name in instance.state:
        return UNKNOWN
    if name in instance.state:
        return instance.state[name]
    found = find_in_class(instance.of, name)
    if isinstance(found, Function):
        if is_property(found.node):
            return run.call_function(found, Given(), node, instance)
        return Bound(instance, name, found)
    if found is not ABSENT:
        return found
    if is_module(instance) or not has_foreign_bases(instance.of):
        return Bound(instance, name)
    return UNKNOWN


def is_property(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == "property"
        for one in getattr(node, "decorator_list", ())
    )


def layer_attribute(_run: "Run", layer: Layer, name: str) -> Any:
    if name in layer.children and layer.kind not in ("ModuleList", "Sequential"):
        return layer.children[name]
    if name in ("weight", "bias"):
        shapes = tensors_of(layer) or {}
        made = Tensor(
            shapes.get(name, ANY),
            layer.state["dtype"],
            graph=layer.state["trainable"],
            leaf=layer.state["trainable"] is True,
            state={"version": 0, "device": layer.state["device"], "layer": layer},
        )
        return made if name in shapes else UNKNOWN
    if name in layer.given and layer.state["escaped"] is False:
        return layer.given[name]
    return Bound(layer, name)


def set_attribute(run: "Run", owner: Any, name: str, value: Any, node: ast.Attribute) -> None:
    match owner:
        case Instance():
            run.set(owner.state, name, value)
        case Layer():
            if isinstance(value, Layer | Instance) and owner.kind not in CONTAINERS:
                run.set(owner.children, name, value)
            else:
                run.set(owner.state, "escaped", True)
        case Each() if name == "requires_grad" and not owner.grad:
            flag = value.value if isinstance(value, Known) else None
            freeze(run, owner.of.of or (), flag, node)
        case Tensor() if name == "requires_grad":
            layer = owner.state.get("layer")
            if isinstance(layer, Layer):
                run.set(layer.state, "trainable", None)
            else:
                run.set(owner.state, "switched", True)
        case Tensor() if name == "data":
            layer = owner.state.get("layer")
            if isinstance(layer, Layer):
                run.escape(layer)
        case Class():
            run.set(owner.scope.names, name, value)


def freeze(run: "Run", holders: Any, trainable: bool | None, node: ast.AST) -> None:
    for one in holders:
        if isinstance(one, Layer):
            run.set(one.state, "trainable", trainable)
            run.set(one.state, "frozen_by", node if trainable is False else None)
        elif isinstance(one, Tensor):
            run.set(one.state, "switched", True)


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What a module has registered: modules, parameters and buffers, by name."""
    if isinstance(value, Layer):
        yield from value.children.items()
    elif isinstance(value, Instance):
        for name, one in value.state.items():
            if is_module(one) or (isinstance(one, Tensor) and one.state.get("registered")):
                yield name, one


def is_open(value: Any) -> bool:
    """Something in it can be a module of which nothing is known."""
    if isinstance(value, Layer):
        return value.state["escaped"] is not False or any(
            isinstance(one, Unknown) for one in value.children.values()
        )
    if isinstance(value, Instance):
        return (
            value.escaped["escaped"] is not False
            or has_foreign_bases(value.of)
            or any(isinstance(one, Unknown) for one in value.state.values())
        )
    return False


def layers_in(value: Any, deep: int = 0) -> Iterator[Any]:
    """Layers with weights, and parameters that a module has itself, each once."""
    if deep > 12:
        return
    if isinstance(value, Layer) and value.kind not in CONTAINERS:
        yield value
    for _, one in parts_of(value):
        if isinstance(one, Tensor):
            if one.state.get("registered") == "parameter":
                yield one
        else:
            yield from layers_in(one, deep + 1)


def all_layers(value: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for one in layers_in(value):
        if not any(one is other for other in found):
            found.append(one)
    return tuple(found)


def is_known_whole(value: Any, deep: int = 0) -> bool:
    """Nothing in a module is unknown."""
    if deep > 12 or is_open(value):
        return False
    return all(
        is_known_whole(one, deep + 1) for _, one in parts_of(value) if not isinstance(one, Tensor)
    )


def named_tensors(value: Any, before: str = "", deep: int = 0) -> dict[str, Shape] | None:
    """Of a whole state dict; None where something in it is not known."""
    if deep > 12 or is_open(value):
        return None
    found: dict[str, Shape] = {}
    if isinstance(value, Layer) and value.kind not in CONTAINERS:
        own = tensors_of(value)
        if own is None:
            return None
        found |= {f"{before}{name}": shape for name, shape in own.items()}
    for name, one in parts_of(value):
        if isinstance(one, Tensor):
            if one.state.get("registered") != "passing":
                found[f"{before}{name}"] = one.shape
            continue
        inner = named_tensors(one, f"{before}{name}.", deep + 1)
        if inner is None:
            return None
        found |= inner
    return found


def shapes_of_parameters(holders: Any, only_trainable: bool) -> tuple[Shape, ...] | None:
    """In order, of all parameters that layers have; None where one is not known."""
    found: list[Shape] = []
    for one in holders:
        if isinstance(one, Tensor):
            found.append(one.shape)
            continue
        shapes = parameters_of(one)
        if shapes is None or (only_trainable and one.state["trainable"] is None):
            return None
        if not only_trainable or one.state["trainable"]:
            found += shapes.values()
    return tuple(found)


def moved(run: "Run", value: Any, device: Any, dtype: str | None, node: ast.AST) -> None:
    """`.to(...)`, `.cuda()`, `.half()` of a module."""
    for one in all_layers(value):
        if device is not None:
            run.set(one.state, "device", device if not isinstance(device, Unknown) else None)
        if dtype is not None:
            run.set(one.state, "dtype", dtype)
            run.set(one.state, "cast", node)
    for holder in modules_in(value):
        if isinstance(holder, Instance):
            for _, one in parts_of(holder):
                if isinstance(one, Tensor) and device is not None:
                    run.set(
                        one.state, "device", device if not isinstance(device, Unknown) else None
                    )


def modules_in(value: Any, deep: int = 0) -> Iterator[Any]:
    if deep > 12 or not is_module(value):
        return
    yield value
    for _, one in parts_of(value):
        yield from modules_in(one, deep + 1)


def kind_of(value: Any) -> str:
    """What a model is called by its class."""
    if isinstance(value, Instance):
        return value.of.node.name
    return value.kind if isinstance(value, Layer) else "model"


DEFINITE = (
    Tensor,
    Layer,
    Instance,
    Listed,
    Mapped,
    Function,
    Class,
    Loader,
    Optimizer,
    OptimizerState,
    StateDict,
    Parameters,
    Bound,
    Made,
    Whole,
)
"""What is surely not None."""
