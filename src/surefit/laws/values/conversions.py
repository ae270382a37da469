"""Conversions of a value, by what it is and by what it is given to."""

import ast
import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from surefit.doctor.observations import Value
from surefit.laws.case import Case
from surefit.laws.values.failing_values import ITERATORS, FailingValue
from surefit.lineage.properties import (
    FLOATING,
    Property,
    alike,
    dtype,
    in_a_graph,
    negative_strides,
    not_contiguous,
    read_only,
    repeated_elements,
)

ARRAYS = ("ndarray", "memmap")
NUMPY_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
)
TENSORS = ("Tensor", "Parameter")
TABLES = ("Series", "DataFrame", "Index")
PATHS = ("PosixPath", "WindowsPath", "PurePosixPath")
AS_TEXT = frozenset({*PATHS, "dtype", "device", "datetime", "date", "UUID"})
"""Kinds whose text says all of them."""
OF_TENSORS = frozenset(
    {
        "unsqueeze", "to", "float", "long", "double", "half", "bool", "cuda", "cpu", "detach",
        "requires_grad_", "numel", "dim", "permute", "expand", "backward", "scatter_",
        "masked_fill", "softmax", "sigmoid", "log_softmax", "contiguous", "device", "chunk",
        "unbind", "gather",
    }
)  # fmt: skip
OF_ARRAYS = frozenset({"astype", "shape", "size", "mean", "reshape", "max", "min", "sum", "ndim"})
OF_LISTS = frozenset({"append", "extend", "insert", "sort", "pop", "index", "reverse", "copy"})
OF_PATHS = frozenset(
    {"exists", "mkdir", "glob", "parent", "stem", "suffix", "name", "read_text", "write_text",
     "is_file", "is_dir", "open", "iterdir", "joinpath", "with_suffix", "unlink", "resolve"}
)  # fmt: skip
NUMERIC = ("torch", "numpy", "pandas", "scipy", "sklearn", "jax", "xgboost", "lightgbm")
"""Libraries that take arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Text around an expression, and what it changes."""

    of: FailingValue
    noun: str
    """What the value is, in a headline: `an array with negative strides`."""
    verb: str
    """What to do with it: `Copy it`."""
    has: Property
    """What it loses by that."""
    why: str
    before: str = ""
    after: str = ""
    imports: str = ""
    written_to: bool = False
    """What fails is to write to it."""
    at_birth: bool = True
    """Tried where the property comes up first; otherwise where the value is handed over, as it is
    used in its present form until then."""


@dataclass(frozen=True)
class Taker:
    """What a value is given to: the user's failing expression and the library's function."""

    node: ast.expr | None
    callee: str
    """Full name of what the expression calls, as far as it is imported or built in; `method` of a
    text."""
    library: str
    """The package of the innermost frame; `own` for the user's code, `python` for the standard
    library."""
    is_layer: bool
    values: tuple[Value, ...] = field(default=())
    """Of the user's expression."""
    writes: bool = False
    """The failing statement assigns to a part of a value, or changes it."""
    in_backward: bool = False
    function: str = ""

    @property
    def package(self) -> str:
        return self.callee.partition(".")[0]

    @property
    def takes_tensors(self) -> bool:
        return self.package == "torch" or self.is_layer or self.library == "torch"

    @property
    def takes_arrays(self) -> bool:
        return self.package == "numpy" or self.library == "numpy"

    @property
    def takes_plain_data(self) -> bool:
        """Code that knows nothing of arrays."""
        if self.library != "own":
            return self.library not in NUMERIC
        return self.package in sys.stdlib_module_names or self.package == "builtins"


def taker(case: Case) -> Taker:
    own, node, source = case.own, case.node(case.own), case.source(case.own)
    assert own is not None
    innermost = case.frames[-1]
    function = node.func if isinstance(node, ast.Call) else None
    callee = source.imported(function) if source is not None and function is not None else ""
    if isinstance(function, ast.Name) and not callee and hasattr(builtins, function.id):
        callee = f"builtins.{function.id}"
    known = own.value(ast.unparse(function)) if function is not None else None
    statement = source.statement_at(own.place.line or 0) if source is not None else None
    return Taker(
        node=node,
        callee=callee,
        library="own" if innermost.own else package_of(innermost.place.file),
        is_layer=known is not None and known.layer is not None,
        values=own.values,
        writes=writes(statement),
        in_backward=bool(case.crash and case.crash.in_backward),
        function=innermost.function.rpartition(".")[2],
    )


def package_of(file: str) -> str:
    """Of a library's file, as it is shown: without the folder that libraries are installed in."""
    return "python" if file.startswith(("/", "<")) or file[1:2] == ":" else file.partition("/")[0]


def writes(statement: ast.stmt | None) -> bool:
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in statement.targets)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return isinstance(function, ast.Attribute) and function.attr.endswith(("_", "sort", "fill"))
    return isinstance(statement, ast.AugAssign)


def conversions(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    """All that could make the value fit, the one that changes the least first."""
    for family in (
        of_memory,
        of_graphs,
        of_receivers,
        to_plain_data,
        to_lists,
        to_texts,
        to_tensors,
        to_arrays,
        of_dtypes,
        of_layout,
    ):
        yield from family(side, taker)


def of_memory(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    value = side.value
    copy = ".copy()" if value.device is None else ".clone()"
    if negative_strides.holds(value):
        yield Conversion(
            of=side,
            noun="an array with negative strides",
            verb="Copy it",
            has=negative_strides,
            after=copy,
            why="A reversed slice is a view that reads the same memory backwards. Its copy has"
            " positive strides.",
        )
    if value.read_only and taker.writes:
        yield Conversion(
            of=side,
            noun="a read-only array",
            verb="Copy it",
            has=read_only,
            after=copy,
            written_to=True,
            why="It shares the memory of something that must not change. A copy can be written to.",
        )
    if repeated_elements.holds(value) and taker.writes:
        yield Conversion(
            of=side,
            noun="a view whose elements share their memory",
            verb="Copy it",
            has=repeated_elements,
            after=copy,
            written_to=True,
            why="An expanded axis repeats the same elements. A copy has each of them once.",
        )


def of_graphs(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    """For what copies, stores or converts a tensor by a protocol of Python: `__deepcopy__`."""
    converts = taker.function.startswith("__") and not side.own
    if in_a_graph.holds(side.value) and converts and not taker.in_backward:
        yield Conversion(
            of=side,
            noun="a tensor that is part of a graph",
            verb="Detach it",
            has=in_a_graph,
            after=".detach()",
            why="It was computed from parameters while gradients were recorded, and it holds that"
            " graph. Its values alone are enough here.",
            at_birth=False,
        )


def of_receivers(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    """Another class has the attribute."""
    node, value = taker.node, side.value
    if not side.own or not isinstance(node, ast.Attribute) or ast.unparse(node.value) != value.text:
        return
    name, why = node.attr, f"Its class has no `{node.attr}`."
    if name in OF_LISTS and value.kind in (*ITERATORS, "tuple"):
        yield listed(side, why)
    if name in OF_PATHS and value.kind == "str":
        yield path_of(side, why)
    if name in OF_TENSORS or (name in OF_ARRAYS and value.kind in ("list", "tuple")):
        yield from tensor_of(side, why)
    if name in ("astype", "copy") and value.kind in TENSORS:
        yield array_of(side, why)


def path_of(side: FailingValue, why: str) -> Conversion:
    return Conversion(
        of=side, noun="a text", verb="Make a path of it", has=alike(side.value),
        before="pathlib.Path(", after=")", imports="pathlib", why=why,
    )  # fmt: skip


def to_plain_data(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    value = side.value
    index = isinstance(taker.node, ast.Subscript) and ast.unparse(taker.node.slice) == value.text
    if not (taker.takes_plain_data or index):
        return
    single = value.shape is None or prod(value.shape) == 1
    is_numpy = value.kind in ARRAYS or is_numpy_number(value)
    if is_numpy or value.kind in TENSORS:
        what = "NumPy array" if value.kind in ARRAYS else "tensor"
        yield Conversion(
            of=side,
            noun="a NumPy number" if value.shape is None else f"a {what}",
            verb="Give the plain number" if single else "Make a list of plain numbers of it",
            has=alike(value),
            after=".item()" if single else ".tolist()",
            why="A tensor is no key: it is equal to none of the numbers."
            if index
            else "What raised takes Python's own numbers, texts, lists and dictionaries.",
            at_birth=False,
        )


def a_kind(name: str) -> str:
    return f"an `{name}`" if name[:1].lower() in "aeiou" or name == "ndarray" else f"a `{name}`"


def is_numpy_number(value: Value) -> bool:
    boolean = value.kind in ("bool", "bool_") and value.scalar is None
    return value.kind in NUMPY_NUMBERS or boolean


def to_lists(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    value = side.value
    if value.kind in ITERATORS:
        yield listed(side, why_listed(value.kind))
    if value.kind == "tuple" and taker.writes:
        yield replace(listed(side, "A tuple cannot be changed."), written_to=True)


def why_listed(kind: str) -> str:
    if kind in ("set", "frozenset"):
        return "A set has no order and no index."
    if kind.startswith("dict_"):
        return "A view of a dictionary is no sequence: it has no index."
    return "It has no length and no index, and can be read only once."


def listed(side: FailingValue, why: str) -> Conversion:
    kind = side.value.kind
    is_set = kind in ("set", "frozenset")
    return Conversion(
        of=side,
        noun=a_kind(kind),
        verb="Make a sorted list of it" if is_set else "Make a list of it",
        has=alike(side.value),
        before="sorted(" if is_set else "list(",
        after=")",
        why=why,
    )


def to_texts(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    value, has = side.value, alike(side.value)
    others = [other for other in taker.values if other.text != value.text]
    beside_text = any(other.kind == "str" for other in others) or has_text(taker.node)
    adds = isinstance(taker.node, ast.BinOp) and isinstance(taker.node.op, ast.Add)
    if divides_texts(taker.node) and value.kind == "str" and side.own:
        yield path_of(side, "`/` joins paths, not texts.")
    if value.kind == "bytes":
        yield Conversion(
            of=side, noun="bytes", verb="Decode it", has=has, after=".decode()",
            why="Bytes are no text.",
        )  # fmt: skip
    is_number = type(value.scalar) in (int, float)
    if (value.kind in AS_TEXT and (adds or not side.own)) or (is_number and adds and beside_text):
        yield Conversion(
            of=side,
            noun=a_kind(value.kind),
            verb="Make a text of it",
            has=has,
            before="str(",
            after=")",
            why="What raised takes a text.",
            at_birth=False,
        )
    joins = isinstance(taker.node, ast.Call) and ast.unparse(taker.node.func).endswith(".join")
    if joins and side.own and value.kinds and set(value.kinds) != {"str"}:
        yield Conversion(
            of=side, noun="a list of items that are no texts", verb="Make texts of them", has=has,
            before="map(str, ", after=")", why="`join` takes texts.", at_birth=False,
        )  # fmt: skip
    if value.kind == "Namespace" and not side.own:
        yield Conversion(
            of=side, noun="a `Namespace`", verb="Make a dictionary of it", has=has,
            before="vars(", after=")", why="What raised takes a dictionary.", at_birth=False,
        )  # fmt: skip


def divides_texts(node: ast.expr | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def has_text(node: ast.expr | None) -> bool:
    inside = ast.walk(node) if node is not None else ()
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in inside
    )


def to_tensors(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    if taker.takes_tensors and taker.callee != "torch.from_numpy":
        yield from tensor_of(side, "What raised takes tensors.")


def tensor_of(side: FailingValue, why: str) -> Iterator[Conversion]:
    value = side.value
    has, noun = alike(value), a_kind(value.kind)
    if value.kind in TABLES:
        yield Conversion(
            of=side, noun=noun, verb="Take its array", has=has, after=".to_numpy()",
            why="torch does not read tables of pandas; their arrays it does.",
            at_birth=False,
        )  # fmt: skip
    plain = set(value.kinds) <= {"int", "float", "bool", "list", *NUMPY_NUMBERS}
    is_array = value.kind in ARRAYS and value.dtype != "object"
    if is_array or (value.kind in ("list", "tuple") and value.kinds and plain):
        for dtype_of in ("", ", dtype=torch.float32"):
            yield Conversion(
                of=side,
                noun=noun,
                verb="Make a tensor of it",
                has=has,
                before="torch.as_tensor(",
                after=f"{dtype_of})",
                imports="torch",
                why=why,
                at_birth=False,
            )
    if value.kind in ("list", "tuple") and set(value.kinds) == {"Tensor"}:
        yield Conversion(
            of=side, noun=f"a {value.kind} of tensors", verb="Stack them", has=has,
            before="torch.stack(", after=")", imports="torch", why=why, at_birth=False,
        )  # fmt: skip


def to_arrays(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    value = side.value
    wants_array = taker.takes_arrays or taker.callee == "torch.from_numpy"
    if wants_array and value.kind in TENSORS:
        yield array_of(side, "What raised takes arrays.")
    if taker.callee == "torch.from_numpy" and value.kind in TABLES:
        yield from tensor_of(side, "What raised takes arrays.")


def array_of(side: FailingValue, why: str) -> Conversion:
    suffix = ".detach().cpu().numpy()" if side.value.requires_grad else ".numpy()"
    return Conversion(
        of=side, noun="a tensor", verb="Make an array of it", has=alike(side.value),
        after=suffix, why=why, at_birth=False,
    )  # fmt: skip


def of_dtypes(side: FailingValue, taker: Taker) -> Iterator[Conversion]:
    """One that torch has not; a floating point dtype that the other values do not have."""
    value = side.value
    if value.kind in ARRAYS and value.dtype == "object" and taker.takes_tensors:
        for name in ("float32", "int64"):
            yield Conversion(
                of=side,
                noun="an array of Python objects (dtype object)",
                verb=f"Convert it to {name}",
                has=dtype("object"),
                after=f'.astype("{name}")',
                why="An array is of objects where rows or columns of different types are joined.",
            )
    floats = [
        other.dtype
        for other in taker.values
        if other.shape is not None and other.dtype in FLOATING and other.text != value.text
    ]
    if value.dtype in FLOATING and value.shape is not None and len(set(floats)) == 1:
        name = floats[0]
        cast = f'.astype("{name}")' if value.kind in ARRAYS else f".to(torch.{name})"
        if name != value.dtype and name is not None:
            yield Conversion(
                of=side,
                noun=f"{value.dtype} beside {name}",
                verb=f"Convert it to {name}",
                has=dtype(value.dtype),
                after=cast,
                imports="" if value.kind in ARRAYS else "torch",
                why="Both must have the same dtype here.",
            )


def of_layout(side: FailingValue, _taker: Taker) -> Iterator[Conversion]:
    value = side.value
    if not_contiguous.holds(value) and not negative_strides.holds(value):
        copy = ".contiguous()" if value.device is not None else ".copy()"
        yield Conversion(
            of=side, noun="a view that is not contiguous", verb="Make it contiguous",
            has=not_contiguous, after=copy,
            why="A transposed or sliced view keeps the order in memory that it was made from.",
        )  # fmt: skip
