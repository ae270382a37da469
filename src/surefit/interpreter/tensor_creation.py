"""Tensors that a script creates: drawn, filled, counted, padded."""

import ast
from dataclasses import dataclass

from surefit.interpreter.devices import device_from, dtype_named
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import graph_of
from surefit.interpreter.memory_layout import contiguous
from surefit.interpreter.shapes import ANY, SCALAR, Shape
from surefit.interpreter.value_queries import (
    Arguments,
    is_array,
    is_none,
    items_of,
    origin_of,
    shape_from,
    size_of,
    text_in,
)
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    GraphCut,
    ImportedName,
    Integer,
    LibraryObject,
    SequenceValue,
    TensorValue,
    Unknown,
    integer_of,
)

FILLED = ("zeros", "ones", "rand", "randn", "empty")


def create_tensor(
    run: Evaluator, name: str, arguments: Arguments, node: ast.AST
) -> TensorValue | None:
    """None where it is not a function that creates a tensor."""
    number = arguments.number
    match name:
        case "tensor" | "as_tensor":
            return tensor_literal(run, arguments, node)
        case "randint":
            result = random_integers(arguments)
        case "arange":
            result = arange(run, arguments)
        case "from_numpy":
            first = arguments.first
            if not is_array(first) or not isinstance(first, TensorValue):
                return TensorValue(node=node)
            result = TensorValue(first.shape, first.dtype, dtype_at=first.dtype_at)
        case _ if name in FILLED:
            result = TensorValue(sizes_passed(arguments), run.dtype)
        case "full":
            result = TensorValue(shape_of_size(arguments.get("size", 0, UNKNOWN)))
        case "eye":
            square = len(arguments.positional) < 2 and "m" not in arguments.named
            rows, columns = number("n", 0, None), number("m", 1, None)
            result = TensorValue(Shape((rows, rows if square else columns)), run.dtype)
        case "linspace":
            result = TensorValue(Shape((number("steps", 2, None),)))
        case "randperm":
            result = TensorValue(Shape((number("n", 0, None),)), "int64")
        case _:
            return None
    return with_options(run, arguments, node, result)


def sizes_passed(arguments: Arguments) -> Shape:
    if "size" in arguments.named:
        return shape_of_size(arguments.named["size"])
    sizes = shape_from(arguments.positional)
    return ANY if arguments.open or sizes is None else Shape(sizes)


def shape_of_size(value: AbstractValue | None) -> Shape:
    sizes = None if value is None or is_none(value) else shape_from((value,))
    return ANY if sizes is None else Shape(sizes)


def with_options(
    run: Evaluator, arguments: Arguments, node: ast.AST, result: TensorValue
) -> TensorValue:
    """`dtype`, `device` and `requires_grad` of what is created."""
    learns = arguments.flag("requires_grad", None, False)
    result.graph, result.leaf, result.node = learns, learns is True, node
    result.inference = run.graphs.mode.inference
    result.strides = contiguous(result.shape)
    result.dtype_at = result.dtype_at or node
    if "dtype" in arguments.named:
        result.dtype, result.dtype_at = dtype_named(arguments.named["dtype"]), node
    result.device = device_from(arguments.named.get("device"), run.default_device)
    return result


def random_integers(arguments: Arguments) -> TensorValue:
    """`randint(high, size)` and `randint(low, high, size)`."""
    low = arguments.named.get("low", Constant(0))
    high, size = arguments.named.get("high"), arguments.named.get("size")
    numbers = [value for value in arguments.positional if not isinstance(value, SequenceValue)]
    shapes = [value for value in arguments.positional if isinstance(value, SequenceValue)]
    if any(isinstance(number, Unknown) for number in numbers) and not shapes and size is None:
        return TensorValue(ANY, "int64")
    if len(numbers) == 2:
        low, high = numbers
    elif len(numbers) == 1 and high is None:
        high = numbers[0]
    elif len(numbers) == 1:
        low = numbers[0]
    top = integer_of(high)
    return TensorValue(
        shape_of_size(shapes[0] if shapes else size),
        "int64",
        low=integer_of(low),
        high=None if top is None else top - 1,
        everywhere=True,
    )


def arange(run: Evaluator, arguments: Arguments) -> TensorValue:
    values = arguments.positional
    floats = any(isinstance(value, Constant) and isinstance(value.value, float) for value in values)
    known = all(isinstance(value, Constant | Integer) for value in values)
    dtype = (run.dtype if floats else "int64") if known else None
    if floats or len(values) not in (1, 2):
        return TensorValue(Shape((None,)), dtype)
    low, high = integer_of(values[0]) if values[1:] else 0, integer_of(values[-1])
    if low is None or high is None:
        return TensorValue(Shape((None if values[1:] else size_of(values[0]),)), dtype)
    if high <= low:
        return TensorValue(Shape((0,)), dtype)
    return TensorValue(Shape((high - low,)), dtype, low=low, high=high - 1, counts=True)


def tensor_literal(run: Evaluator, arguments: Arguments, node: ast.AST) -> TensorValue:
    """`torch.tensor(...)`: a new tensor without a graph, whatever it is created from."""
    value = arguments.get("data", 0, UNKNOWN)
    if isinstance(value, TensorValue) and value.is_array:
        array = TensorValue(value.shape, value.dtype, dtype_at=value.dtype_at)
        return with_options(run, arguments, node, array)
    literal = read_literal(value)
    integers = [number for number in literal.numbers if type(number) is int]
    dtype = None
    if literal.numbers and len(integers) == len(literal.numbers):
        dtype = "int64"
    elif literal.numbers and all(isinstance(number, float) for number in literal.numbers):
        dtype = run.dtype
    result = with_options(run, arguments, node, TensorValue(literal.shape, dtype))
    if literal.has_graph:
        result.cut = GraphCut("value", node, node)
    if dtype == "int64":
        result.low, result.high = min(integers), max(integers)
    return result


@dataclass(frozen=True, slots=True)
class LiteralNumbers:
    """Nested lists: their shape, all numbers in them, whether a tensor with a graph is among."""

    shape: Shape = ANY
    numbers: tuple[int | float, ...] = ()
    has_graph: bool = False


def read_literal(value: AbstractValue, deep: int = 0) -> LiteralNumbers:
    if isinstance(value, Constant) and isinstance(value.value, int | float):
        return LiteralNumbers(SCALAR, (value.value,))
    if isinstance(value, TensorValue):
        was_cut = value.cut is not None and value.cut.how == "value"
        return LiteralNumbers(value.shape, has_graph=graph_of(value) is True or was_cut)
    items = items_of(value)
    if items is None:
        return LiteralNumbers()
    if deep > 3 or not items:
        return LiteralNumbers(Shape((0,)))
    inner = [read_literal(item, deep + 1) for item in items]
    shapes = {literal.shape for literal in inner}
    shape = shapes.pop() if len(shapes) == 1 else ANY
    complete = all(literal.numbers for literal in inner)
    return LiteralNumbers(
        ANY if shape.more else Shape((len(items), *shape.sizes)),
        tuple(number for literal in inner for number in literal.numbers) if complete else (),
        any(literal.has_graph for literal in inner),
    )


def pad_sequence(arguments: Arguments, node: ast.AST) -> TensorValue:
    """Rows are padded with one number."""
    padding = arguments.get("padding_value", 2, Constant(0))
    result = TensorValue(node=node)
    number = padding.value if isinstance(padding, Constant) else None
    if isinstance(number, int | float) and number < 0 and float(number).is_integer():
        result.low, result.everywhere = int(number), True
        result.padding = origin_of(padding) or node
    return result


FILLED_ARRAYS = ("zeros", "ones", "empty")
SIZE_POSITION = {
    **dict.fromkeys(("random", "random_sample", "standard_normal"), 0),
    **dict.fromkeys(("normal", "uniform", "integers", "randint"), 2),
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
        return array_from(arguments, sizes_passed(arguments), "float64", node)
    if name not in SIZE_POSITION or arguments.open:
        return UNKNOWN
    size = arguments.get("size", SIZE_POSITION[name], None)
    if size is None:
        return UNKNOWN
    dtype = "int64" if name in DRAWS_INTEGERS else "float64"
    return array_from(arguments, shape_of_size(size), dtype, node)


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
