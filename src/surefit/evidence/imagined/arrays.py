"""Arrays of numpy, as far as they become tensors: their shapes and dtypes."""

import ast
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.shapes import ANY, Shape
from surefit.evidence.imagined.values import (
    UNKNOWN,
    External,
    Known,
    Listed,
    Made,
    Tensor,
    as_size,
    members,
    shape_given,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

FILLED = ("zeros", "ones", "empty")
BY_SIZE = {
    "random": 0,
    "random_sample": 0,
    "standard_normal": 0,
    "normal": 2,
    "uniform": 2,
    "integers": 2,
    "randint": 2,
}
"""Where `size` stands among the arguments of what draws numbers."""
WHOLE = ("integers", "randint")
ELEMENTWISE = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "log1p")
DTYPES = {
    "float32": "float32",
    "float64": "float64",
    "float16": "float16",
    "int64": "int64",
    "int32": "int32",
    "uint8": "uint8",
    "single": "float32",
    "double": "float64",
    "float": "float64",
}
GENERATOR = "numpy.random.Generator"


def called(_run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    """None where it is nothing that makes an array of which something is known."""
    last = name.rpartition(".")[2]
    if last in ("default_rng", "RandomState") and ".random." in name:
        return Made(GENERATOR, {}, node)
    if ".random." in name:
        return drawn(last, given, node)
    if last in FILLED:
        return array(sized(given.get("shape", 0, UNKNOWN)), given, node, "float64")
    if last == "arange" and len(given.plain) == 1:
        number = given.plain[0]
        is_whole = not (isinstance(number, Known) and type(number.value) is not int)
        return array(Shape((as_size(number),)), given, node, "int64" if is_whole else None)
    if last == "linspace":
        return array(Shape((given.number("num", 2, 50),)), given, node, "float64")
    first = given.plain[0] if given.plain else None
    if last in ELEMENTWISE and isinstance(first, Tensor) and first.state.get("array"):
        dtype = "float64" if first.dtype in ("int64", "float64") else first.dtype
        return array(first.shape, Given(), node, dtype)
    return None


def drawn(last: str, given: Given, node: ast.AST) -> Any:
    if last in ("rand", "randn"):
        found = shape_given(given.plain)
        return array(ANY if found is None else Shape(found), given, node, "float64")
    if last not in BY_SIZE or given.open:
        return None
    size = given.get("size", BY_SIZE[last], None)
    if size is None:
        return UNKNOWN
    return array(sized(size), given, node, "int64" if last in WHOLE else "float64")


def sized(value: Any) -> Shape:
    several = members(value)
    if several is not None:
        return Shape(tuple(as_size(one) for one in several))
    return ANY if isinstance(value, Listed) or as_size(value) is None else Shape((as_size(value),))


def array(shape: Shape, given: Given, node: ast.AST, dtype: str | None) -> Tensor:
    if "dtype" in given.named:
        dtype = dtype_of(given.named["dtype"])
    state = {"version": 0, "device": None, "array": True}
    return Tensor(shape, dtype, graph=False, made=node, state=state)


def dtype_of(value: Any) -> str | None:
    if isinstance(value, External):
        return DTYPES.get(value.name.rpartition(".")[2])
    return DTYPES.get(value.value) if isinstance(value, Known) else None


METHODS = ("copy", "astype")


def method(tensor: Tensor, name: str, given: Given, node: ast.AST) -> Any:
    """Of an array; nothing is known of most."""
    if name == "astype" and given.plain:
        return array(tensor.shape, Given(), node, dtype_of(given.plain[0]))
    if name == "copy":
        return array(tensor.shape, Given(), node, tensor.dtype)
    return UNKNOWN


def as_tensor(tensor: Tensor, node: ast.AST, home: str | None) -> Tensor:
    state = {"version": 0, "device": home}
    return Tensor(tensor.shape, tensor.dtype, graph=False, made=node, state=state)
