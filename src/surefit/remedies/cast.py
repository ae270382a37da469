"""Another dtype for a value, as its type takes it: tensor, array, column, list, number."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Value
from surefit.doctor.violations import Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.operations.dtypes import TENSOR_CASTS
from surefit.remedies.alike import in_every_call
from surefit.remedies.change import Operator
from surefit.source.edits import appended, argument_added, replaced, wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

FLOAT_TYPES = ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor")
"""Constructors of torch that make floats of every number."""
ARRAYS = ("ndarray", "memmap", "Series", "DataFrame", "Index", "RangeIndex")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Operator):
    """Where the expression itself names a dtype, that is replaced; otherwise a cast is added."""

    at: Written | None
    to: str
    """`int64`, `float32`."""
    value: Value | None = None
    """What the expression evaluates to; without it, a tensor."""

    @property
    def words(self) -> str:
        where = f", {self.at.place}" if self.at is not None else ""
        text = f": {code(self.at.text)}" if self.at is not None and self.at.text else ""
        return f"Convert to {self.to}{where}{text}."

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at.place) if self.at else None
        if node is None or source is None:
            return None
        return in_every_call(source, node, lambda expression: self.cast(source, expression))

    def cast(self, source: Source, node: ast.expr) -> Edit | None:
        named = self.dtype_replaced(source, node)
        if named is not None:
            return named
        if self.value is None or (self.value.shape is not None and self.value.kind not in ARRAYS):
            return appended(source, node, self.tensor_cast)
        if self.value.kind in ARRAYS:
            return appended(source, node, f'.astype("{self.to}")')
        return self.items_converted(source, node)

    @property
    def tensor_cast(self) -> str:
        method = TENSOR_CASTS.get(self.to)
        return f".{method}()" if method else f".to(torch.{self.to})"

    @property
    def scalar_type(self) -> str:
        return "int" if self.to.startswith("int") else "float"

    def dtype_replaced(self, source: Source, node: ast.expr) -> Edit | None:
        """`.float()`, `astype("float64")`, `dtype=torch.float32`."""
        if not isinstance(node, ast.Call):
            return None
        dtype = source.argument(node, "dtype")
        if dtype is not None:
            written = f'"{self.to}"' if isinstance(dtype, ast.Constant) else None
            name = written or f"{alias(source, dtype)}.{self.to}"
            return argument_added(source, node, "dtype", name)
        plain = node.func.id if isinstance(node.func, ast.Name) else ""
        if plain in ("int", "float", "bool") and len(node.args) == 1:
            return replaced(source, node.func, self.scalar_type)
        if self.to == "int64" and called(node) in FLOAT_TYPES:
            prefix = source.segment(node.func).removesuffix(called(node))
            return replaced(source, node.func, f"{prefix}LongTensor")
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method is not None and called(node) in TENSOR_CASTS.values() and not node.args:
            return replaced(source, node, f"{source.segment(method.value)}{self.tensor_cast}")
        if method is not None and called(node) == "astype" and len(node.args) == 1:
            return replaced(source, node.args[0], f'"{self.to}"')
        return None

    def items_converted(self, source: Source, node: ast.expr) -> Edit | None:
        """Of a number `int(...)`, of a list of numbers each of them."""
        function, value = self.scalar_type, self.value
        if value is not None and value.scalar is not None:
            return wrapped(source, node, f"{function}(", ")")
        if value is None or value.kind not in ("list", "tuple"):
            return None
        if value.lengths:
            inner = f"[{function}(item) for item in row]"
            return wrapped(source, node, f"[{inner} for row in ", "]")
        return wrapped(source, node, f"[{function}(item) for item in ", "]")


def alias(source: Source, dtype: ast.expr) -> str:
    """`torch` of `torch.float32`, `np` of `np.float64`."""
    return source.segment(dtype.value) if isinstance(dtype, ast.Attribute) else "torch"
