"""Arrays of NumPy that a script makes of sizes."""

import ast

from surefit.evidence.known_tensors import Array, Sizes, Tensor
from surefit.evidence.read_operations import wanted_sizes
from surefit.source.constants import text, whole
from surefit.source.outcomes import maker
from surefit.source.reading import Source

KINDS = {
    "float32": "float",
    "float64": "double",
    "float": "double",
    "float16": "half",
    "int64": "long",
    "int": "long",
    "int32": "int",
    "bool": "bool",
}
GENERATOR = {"normal": "double", "random": "double", "uniform": "double", "integers": "long"}
"""Methods of `default_rng()` with a `size`."""
OF_SIZES = {"numpy.zeros": "double", "numpy.ones": "double", "numpy.empty": "double"}
OF_AXES = {"numpy.random.randn": "double", "numpy.random.rand": "double"}
WITH_SIZE = {
    "numpy.random.randint": "long",
    "numpy.random.normal": "double",
    "numpy.random.uniform": "double",
    "numpy.random.choice": "",
}


def made_array(source: Source, call: ast.Call) -> Array | None:
    if any(one.arg is None for one in call.keywords):
        return None
    name = source.imported(call.func)
    if name in OF_SIZES:
        dtype = source.argument(call, "dtype", 1)
        kind = kind_given(source, dtype) if dtype is not None else OF_SIZES[name]
        return Array(Tensor(size_of(source, source.argument(call, "shape", 0)), kind))
    if name in OF_AXES:
        return Array(Tensor(wanted_sizes(source, call.args), OF_AXES[name]))
    if name in WITH_SIZE:
        return Array(Tensor(size_of(source, source.argument(call, "size")), WITH_SIZE[name]))
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in GENERATOR and isinstance(call.func, ast.Attribute):
        made = maker(source, call.func.value)
        if made is not None and source.imported(made.func) == "numpy.random.default_rng":
            size = source.argument(call, "size", 0 if method == "random" else 2)
            kind = GENERATOR[method] if source.argument(call, "dtype") is None else ""
            return Array(Tensor(size_of(source, size), kind))
    return None


def size_of(source: Source, node: ast.expr | None) -> Sizes | None:
    """Of `size=(8, 3)` or `size=8`."""
    if node is None:
        return None
    number = whole(source, node)
    return (number,) if number is not None else wanted_sizes(source, [node])


def kind_given(source: Source, node: ast.expr) -> str:
    """Of `np.float32`, `"float32"` or `float`; empty for what is not known."""
    written = text(source, node)
    name = source.imported(node).removeprefix("numpy.")
    plain = node.id if isinstance(node, ast.Name) and not source.bound_by(node) else ""
    return KINDS.get(written or name or plain, "")
