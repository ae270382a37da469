"""Arrays of numpy, as far as they become tensors: their shapes and dtypes."""

import ast

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.shapes import ANY, Shape
from surefit.interpreter.value_queries import integer_of, items_of, shape_from, size_of, text_in
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    ImportedName,
    LibraryObject,
    TensorValue,
)

FILLED_ARRAYS = ("zeros", "ones", "empty")
SIZE_POSITION = {
    "random": 0,
    "random_sample": 0,
    "standard_normal": 0,
    "normal": 2,
    "uniform": 2,
    "integers": 2,
    "randint": 2,
}
"""Where `size` stands among the arguments of what draws numbers."""
DRAWS_INTEGERS = ("integers", "randint")
ELEMENTWISE_NUMPY = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "log1p")
NUMPY_DTYPES = {
    **{name: name for name in ("float16", "float32", "float64", "int32", "int64", "uint8")},
    "single": "float32",
    "double": "float64",
    "float": "float64",
}
GENERATOR = "numpy.random.Generator"


def call_numpy(name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    """UNKNOWN where it is nothing that creates an array of which something is known."""
    last = name.rpartition(".")[2]
    first = arguments.first
    if last in ("default_rng", "RandomState") and ".random." in name:
        return LibraryObject(GENERATOR, {}, node)
    if ".random." in name:
        return draw_array(last, arguments, node)
    if last in FILLED_ARRAYS:
        shape = shape_of_size(arguments.get("shape", 0, UNKNOWN))
        return array_from(arguments, shape, "float64", node)
    if last == "arange" and len(arguments.positional) == 1:
        known = not isinstance(first, Constant) or integer_of(first) is not None
        return array_from(arguments, Shape((size_of(first),)), "int64" if known else None, node)
    if last == "linspace":
        return array_from(arguments, Shape((arguments.number("num", 2, 50),)), "float64", node)
    if last in ELEMENTWISE_NUMPY and isinstance(first, TensorValue) and first.is_array:
        dtype = "float64" if first.dtype == "int64" else first.dtype
        return new_array(first.shape, dtype, node, node)
    return UNKNOWN


def draw_array(name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if name in ("rand", "randn"):
        sizes = shape_from(arguments.positional)
        return array_from(arguments, ANY if sizes is None else Shape(sizes), "float64", node)
    if name not in SIZE_POSITION or arguments.open:
        return UNKNOWN
    size = arguments.get("size", SIZE_POSITION[name], None)
    if size is None:
        return UNKNOWN
    dtype = "int64" if name in DRAWS_INTEGERS else "float64"
    return array_from(arguments, shape_of_size(size), dtype, node)


def shape_of_size(value: AbstractValue) -> Shape:
    items, size = items_of(value), size_of(value)
    if items is not None:
        return Shape(tuple(size_of(item) for item in items))
    return ANY if size is None else Shape((size,))


def array_from(arguments: Arguments, shape: Shape, dtype: str | None, node: ast.AST) -> TensorValue:
    if "dtype" in arguments.named:
        dtype = numpy_dtype(arguments.named["dtype"])
    return new_array(shape, dtype, node, node)


def new_array(
    shape: Shape, dtype: str | None, dtype_at: ast.AST | None, node: ast.AST
) -> TensorValue:
    array = TensorValue(shape, dtype, graph=False, node=node, dtype_at=dtype_at)
    array.is_array = True
    return array


def numpy_dtype(value: AbstractValue) -> str | None:
    name = value.name.rpartition(".")[2] if isinstance(value, ImportedName) else text_in(value)
    return NUMPY_DTYPES.get(name or "")


def array_method(
    tensor: TensorValue, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    """Of an array; nothing is known of most."""
    if name == "astype" and arguments.positional:
        return new_array(tensor.shape, numpy_dtype(arguments.first), node, node)
    if name == "copy":
        return new_array(tensor.shape, tensor.dtype, tensor.dtype_at, node)
    return UNKNOWN
