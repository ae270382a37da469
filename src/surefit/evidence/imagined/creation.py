"""Tensors that a script makes from nothing: drawn, filled, counted, padded."""

import ast
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import memory
from surefit.evidence.imagined.arrays import as_tensor
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.graphs import derived, graph_of
from surefit.evidence.imagined.modules import all_layers
from surefit.evidence.imagined.operations import device_named, dtype_named
from surefit.evidence.imagined.shapes import ANY, SCALAR, Shape
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Cut,
    Device,
    Known,
    Listed,
    Tensor,
    Unknown,
    Whole,
    members,
    shape_given,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

FILLED = ("zeros", "ones", "rand", "randn", "empty")
MADE = (*FILLED, "full", "randint", "arange", "tensor", "as_tensor", "eye", "linspace", "randperm")
ALSO = ("from_numpy", "poisson")


def created(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    """None where it is not a function that makes a tensor."""
    if name in FILLED:
        shape = sizes(given, 0)
        return finished(run, given, node, Tensor(shape, run.dtype))
    if name == "full":
        return finished(run, given, node, Tensor(sizes_of(given.get("size", 0, UNKNOWN))))
    if name == "randint":
        return drawn(run, given, node)
    if name == "arange":
        return counted(run, given, node)
    if name in ("tensor", "as_tensor"):
        return literal(run, given, node)
    if name == "eye":
        rows = given.number("n", 0, None)
        columns = given.number("m", 1, None)
        square = len(given.plain) < 2 and "m" not in given.named
        return finished(
            run, given, node, Tensor(Shape((rows, rows if square else columns)), run.dtype)
        )
    if name == "linspace":
        return finished(run, given, node, Tensor(Shape((given.number("steps", 2, None),)), None))
    if name == "randperm":
        return finished(run, given, node, Tensor(Shape((given.number("n", 0, None),)), "int64"))
    if name == "from_numpy":
        first = given.plain[0] if given.plain else None
        if isinstance(first, Tensor) and first.state.get("array"):
            return as_tensor(first, node, run.home)
        return Tensor(ANY, made=node)
    return None


def sizes(given: Given, skip: int) -> Shape:
    if "size" in given.named:
        return sizes_of(given.named["size"])
    found = shape_given(given.plain[skip:])
    if given.open or found is None:
        return ANY
    return Shape(found)


def sizes_of(value: Any) -> Shape:
    several = members(value)
    if several is None:
        return ANY
    found = shape_given(several) if several else ()
    return ANY if found is None else Shape(found)


def finished(run: "Run", given: Given, node: ast.AST, made: Tensor) -> Tensor:
    learns = given.flag("requires_grad", None, False)
    made.graph, made.leaf, made.made = learns, learns is True, node
    made.inference = run.graphs.inference
    made.strides = memory.in_order(made.shape)
    if "dtype" in given.named:
        made.dtype = dtype_named(given.named["dtype"])
    made.state["device"] = placed(given.named.get("device"), run.home)
    return made


def placed(value: Any, home: str | None) -> Any:
    if value is None:
        return home
    if value == "cpu":
        return "cpu"
    if isinstance(value, Known) and isinstance(value.value, str):
        return device_named(value.value)
    if isinstance(value, Known) and value.value is None:
        return home
    return value if isinstance(value, Device) else None


def drawn(run: "Run", given: Given, node: ast.AST) -> Any:
    """`randint(high, size)` and `randint(low, high, size)`."""
    plain = list(given.plain)
    low = given.named.get("low", Known(0))
    high = given.named.get("high")
    shape = given.named.get("size")
    numbers = [one for one in plain if not isinstance(one, Listed)]
    shapes = [one for one in plain if isinstance(one, Listed)]
    if any(isinstance(one, Unknown) for one in numbers) and not shapes and shape is None:
        return finished(run, given, node, Tensor(ANY, "int64"))
    if len(numbers) == 2:
        low, high = numbers
    elif len(numbers) == 1 and high is None:
        high = numbers[0]
    elif len(numbers) == 1:
        low = numbers[0]
    shape = shapes[0] if shapes else shape
    made = finished(run, given, node, Tensor(sizes_of(shape), "int64"))
    top, bottom = whole(high), whole(low)
    made.high = None if top is None else top - 1
    made.low = bottom
    made.everywhere = True
    return made


def counted(run: "Run", given: Given, node: ast.AST) -> Any:
    from surefit.evidence.imagined.values import as_size

    numbers = list(given.plain)
    floats = [one for one in numbers if isinstance(one, Known) and isinstance(one.value, float)]
    dtype = run.dtype if floats else "int64"
    if any(not isinstance(one, Known | Whole) for one in numbers):
        dtype = None
    if len(numbers) == 1 and not floats:
        size = as_size(numbers[0])
        made = finished(run, given, node, Tensor(Shape((size,)), dtype))
        if isinstance(size, int) and size > 0:
            made.low, made.high, made.counts = 0, size - 1, True
        return made
    ends = [whole(one) for one in numbers]
    if len(ends) == 2 and None not in ends and not floats:
        low, high = ends[0] or 0, ends[1] or 0
        made = finished(run, given, node, Tensor(Shape((max(high - low, 0),)), dtype))
        if high > low:
            made.low, made.high, made.counts = low, high - 1, True
        return made
    return finished(run, given, node, Tensor(Shape((None,)), dtype))


def literal(run: "Run", given: Given, node: ast.AST) -> Any:
    """`torch.tensor(...)`: a new tensor without a graph, whatever it is made from."""
    value = given.get("data", 0, UNKNOWN)
    if isinstance(value, Tensor) and value.state.get("array"):
        return finished(run, given, node, as_tensor(value, node, run.home))
    shape, found, cut = described(value)
    dtype = None
    if found and all(type(one) is int for one in found):
        dtype = "int64"
    elif found and all(isinstance(one, float) for one in found):
        dtype = run.dtype
    made = finished(run, given, node, Tensor(shape, dtype))
    if cut is not None:
        made.cut = Cut("value", node, node)
    if isinstance(value, Unknown):
        made.shape = ANY
    if dtype == "int64" and found:
        made.low, made.high = min(found), max(found)
    return made


def described(value: Any, deep: int = 0) -> tuple[Shape, list[Any], Tensor | None]:
    """The shape of nested lists, the numbers in them, and a tensor with a graph among them."""
    if isinstance(value, Known) and isinstance(value.value, int | float | bool):
        return SCALAR, [value.value], None
    if isinstance(value, Tensor):
        cut = value if graph_of(value) or (value.cut and value.cut.how == "value") else None
        return value.shape, [], cut
    items = members(value)
    if items is None or deep > 3 or not items:
        return (ANY, [], None) if items is None else (Shape((0,)), [], None)
    inner = [described(one, deep + 1) for one in items]
    numbers = [one for each in inner for one in each[1]]
    cut = next((each[2] for each in inner if each[2] is not None), None)
    shapes = {each[0] for each in inner}
    shape = shapes.pop() if len(shapes) == 1 else ANY
    known = not shape.more
    complete = all(each[1] for each in inner)
    result = Shape((len(items), *shape.sizes)) if known else ANY
    return result, numbers if complete else [], cut


def padded(_run: "Run", given: Given, node: ast.AST) -> Any:
    """`pad_sequence`: rows are filled up with one number."""
    number = given.get("padding_value", 2, Known(0))
    made = Tensor(ANY, None, graph=None, made=node)
    filled = number.value if isinstance(number, Known) else None
    if isinstance(filled, int | float) and filled < 0 and float(filled).is_integer():
        made.low, made.everywhere = int(filled), True
        made.padding = number.node or node
    made.state["device"] = None
    return made


def checkpointed(run: "Run", given: Given, node: ast.AST) -> Any:
    """Reentrant checkpointing asks its inputs alone whether anything wants a gradient."""
    inner = given.plain[0] if given.plain else UNKNOWN
    rest = given.after_first()
    named = {
        key: one
        for key, one in rest.named.items()
        if key not in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check")
    }
    reentrant = given.named.get("use_reentrant")
    result = run.call(inner, Given(rest.plain, named, rest.nodes, rest.open), node)
    if not isinstance(result, Tensor):
        return UNKNOWN
    inputs = [one for one in rest.plain if isinstance(one, Tensor)]
    frozen = bool(inputs) and all(graph_of(one) is False for one in inputs)
    known = len(inputs) == len([one for one in rest.plain if not isinstance(one, Known)])
    is_reentrant = isinstance(reentrant, Known) and reentrant.value is True
    learns = [
        one.state["trainable"] is not False for one in all_layers(inner) if hasattr(one, "kind")
    ]
    if is_reentrant and frozen and known and any(learns) and run.graphs.recording is True:
        made = derived(run, node, result.shape, [], result.dtype)
        made.graph, made.cut = False, Cut("checkpoint", node, node)
        return made
    if not isinstance(reentrant, Known):
        result.graph = None
    result.parts = frozenset()
    result.unsure = True
    return result
