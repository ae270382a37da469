"""The expression that makes floats of whole numbers, found in the source, and how to mend it."""

import ast
from dataclasses import dataclass, replace

from surefit.doctor.findings import Place
from surefit.source.classes import set_on_self
from surefit.source.edits import appended, argument_added, replaced
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called
from surefit.source.spans import Span

FLOAT_METHODS = ("float", "double", "half", "bfloat16")
FLOAT_TYPES = ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor")
MAKERS = ("tensor", "as_tensor", "asarray")
ZEROS = ("zeros", "ones", "empty", "full", "rand", "zeros_like", "ones_like")
FLOATS = ("float", "double", "half", "float16", "float32", "float64", "single", "bfloat16")
PASSES = (
    *("to", "cuda", "cpu", "view", "reshape", "unsqueeze", "squeeze", "contiguous", "clone"),
    *("detach", "flatten", "values", "to_numpy", "copy", "permute", "transpose", "t", "numpy"),
)
"""Methods and attributes that give the same numbers."""
MOST = 12


@dataclass(frozen=True, slots=True)
class Maker:
    """An expression that gives floats, and the change that gives whole numbers."""

    source: Source
    node: ast.expr
    text: str
    """What it is mended to, as a person writes it."""
    edit: Edit | None
    sure: bool = False
    """It asks for floats; others only keep what they are given."""
    divides: bool = False
    shared: bool = False
    """It makes a whole table, of which the ids are a part."""

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.node.lineno)


def float_maker(source: Source, node: ast.expr) -> Maker | None:
    """The first on the way back that asks for floats; otherwise the last that makes a tensor."""
    passed: Maker | None = None
    at: ast.expr | None = node
    shared = False
    for _ in range(MOST):
        if at is None:
            break
        made = maker_at(source, at)
        if made is not None and (made.sure or made.divides):
            return replace(made, shared=shared)
        passed = passed or made
        shared = shared or is_column(at)
        at = before(source, at)
    return passed


def is_column(node: ast.expr) -> bool:
    """`row[0]`, `row["user"]`, `table[:, 0]`: a part of what has others."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(one, ast.Constant) for one in parts)


def maker_at(source: Source, node: ast.expr) -> Maker | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        whole = f"{source.segment(node.left)} // {source.segment(node.right)}"
        return Maker(source, node, whole, divided_whole(source, node), divides=True)
    if not isinstance(node, ast.Call):
        return None
    name, full = called(node), source.imported(node.func)
    if name in FLOAT_METHODS and isinstance(node.func, ast.Attribute) and not full:
        text = source.segment(node)
        whole = f"{text[: text.rindex(f'.{name}')]}.long()"
        return Maker(source, node, whole, replaced(source, node, whole), sure=True)
    if name in FLOAT_TYPES and full.startswith("torch."):
        prefix = source.segment(node.func).removesuffix(name)
        edit = replaced(source, node.func, f"{prefix}LongTensor")
        return Maker(source, node, f"{prefix}LongTensor(...)", edit, sure=True)
    if name in ("astype", "to", "type") and not full:
        return cast(source, node)
    if full.startswith(("torch.", "numpy.")):
        return made_by(source, node, name, full)
    return None


def divided_whole(source: Source, node: ast.BinOp) -> Edit | None:
    """With `//` for `/`."""
    span, right = source.span(node.left), source.span(node.right)
    for one in source.tokens:
        if one.string == "/" and (span.end_line, span.end_column) <= one.start:
            if one.end > (right.line, right.column):
                return None
            at = Span(one.start[0], one.start[1], one.end[0], one.end[1])
            return Edit(source.file, (Replace(at, "//"),))
    return None


def cast(source: Source, node: ast.Call) -> Maker | None:
    """`.astype(np.float32)`, `.to(torch.float32)`."""
    given = [*node.args, *(one.value for one in node.keywords if one.arg == "dtype")]
    for one in given:
        if is_float(one):
            whole = whole_like(source, one)
            text = f".{called(node)}({whole})"
            return Maker(source, node, text, replaced(source, one, whole), sure=True)
    return None


def is_float(node: ast.expr) -> bool:
    """`float`, `np.float32`, `torch.float`, `"float32"`."""
    if isinstance(node, ast.Constant):
        return node.value in FLOATS
    if isinstance(node, ast.Attribute):
        return node.attr in FLOATS or node.attr == "FloatTensor"
    return isinstance(node, ast.Name) and node.id == "float"


def whole_like(source: Source, node: ast.expr) -> str:
    """The same for whole numbers of 64 bits, as the source writes it."""
    text = source.segment(node)
    if isinstance(node, ast.Attribute):
        library = source.imported(node).partition(".")[0]
        kind = "int64" if library == "numpy" else "long"
        return f"{source.segment(node.value)}.{kind}"
    return '"int64"' if isinstance(node, ast.Constant) else "int" if text == "float" else text


def made_by(source: Source, node: ast.Call, name: str, full: str) -> Maker | None:
    torch = full.startswith("torch.")
    library = source.segment(node.func).rpartition(".")[0]
    if name == "from_numpy":
        return Maker(source, node, ".long()", appended(source, node, ".long()"))
    arrays = ("array", "asarray", *ZEROS)
    if name not in (MAKERS + ZEROS if torch else arrays) or not library:
        return None
    whole = f"{library}.{'long' if torch else 'int64'}"
    edit = argument_added(source, node, "dtype", whole)
    said = source.argument(node, "dtype")
    if said is not None and not is_float(said):
        return None
    sure = said is not None or name in ZEROS
    return Maker(source, node, f"dtype={whole}", edit, sure=sure)


def before(source: Source, node: ast.expr) -> ast.expr | None:
    """What an expression has its numbers from."""
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Name):
        return assigned(source, node)
    if isinstance(node, ast.Attribute):
        return set_on_self(source, node) or (node.value if node.attr in PASSES else None)
    if isinstance(node, ast.BinOp):
        return node.left
    if not isinstance(node, ast.Call):
        return None
    if source.imported(node.func).startswith(("torch.", "numpy.")):
        return node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and called(node) in (*PASSES, "astype", "long"):
        return node.func.value
    return None


def assigned(source: Source, name: ast.Name) -> ast.expr | None:
    """The last plain assignment to a name above the line that reads it, in the same function."""
    line = name.lineno
    found = [
        one
        for one in source.bound_by(name)
        if isinstance(one, ast.Assign) and (one.end_lineno or one.lineno) < line
    ]
    if not found or not all(isinstance(one, ast.Name) for one in found[-1].targets):
        return None
    return found[-1].value
