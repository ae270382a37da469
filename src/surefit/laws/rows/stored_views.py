"""Where a dataset's `__getitem__` takes a view of a stored array, and what writes into it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.source.in_place import chain, is_writing_method
from surefit.source.reading import Source, called
from surefit.source.selection import nodes_within

SHARING = frozenset(
    ("from_numpy", "as_tensor", "asarray", "view", "view_as", "reshape", "unsqueeze", "squeeze")
    + ("flatten", "ravel", "permute", "transpose", "swapaxes", "movedim", "numpy", "detach")
    + ("contiguous", "float", "to", "ascontiguousarray", "expand_dims", "atleast_2d", "narrow")
)
"""What gives back the same memory, or can."""
TENSORS = frozenset(("from_numpy", "as_tensor"))
SHUFFLES = frozenset(("shuffle", "sort", "fill", "put", "partition", "itemset"))


@dataclass(frozen=True)
class StoredView:
    """The expression that reads the stored array, and the first statement that writes into it."""

    source: Source
    read: ast.expr
    unpacked: bool
    """It is a tuple or a dictionary that holds the array."""
    write: ast.stmt | None
    name: str
    """That the write goes through; empty where it has none."""
    is_tensor: bool
    """What is written into is a tensor, also where an array is stored."""
    is_returned: bool
    """The row, or what is computed from it, is what the function gives back."""


def stored_view(source: Source, line: int, attribute: str) -> StoredView | None:
    """`line`: of the `__getitem__`. None where no read of the attribute is in it, or what it stores
    is set on purpose."""
    function = function_at(source, line)
    if function is None or not function.args.args:
        return None
    stored = f"{function.args.args[0].arg}.{attribute.partition('[')[0]}"
    reads = [node for node in reads_in(function) if ast.unparse(base_of(node)) == stored]
    if is_set(function, stored):
        return None
    for read in reads:
        names = ViewNames(source, function, read)
        write = next(names.writes(), None)
        if write is not None:
            return names.view(write)
    return ViewNames(source, function, reads[0]).view(None) if reads else None


def function_at(source: Source, line: int) -> ast.FunctionDef | None:
    return next((known for known in source.every(ast.FunctionDef) if starts_at(known, line)), None)


def starts_at(function: ast.FunctionDef, line: int) -> bool:
    return line in (function.lineno, *(node.lineno for node in function.decorator_list))


def reads_in(function: ast.FunctionDef) -> Iterator[ast.Subscript]:
    """Outermost subscripts that are read or written into."""
    inner = {
        node.value
        for node in nodes_within(function, ast.Subscript)
        if isinstance(node.value, ast.Subscript)
    }
    for node in nodes_within(function, ast.Subscript):
        if node not in inner:
            yield node


def base_of(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def is_set(function: ast.FunctionDef, stored: str) -> bool:
    """`self.cache[i] = ...` stores something new, on purpose."""
    targets = (
        target
        for node in nodes_within(function, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    )
    return any(ast.unparse(base_of(target)) == stored for target in targets)


class ViewNames:
    """ViewNames of one function that stand for a stored array or a part of it."""

    def __init__(self, source: Source, function: ast.FunctionDef, read: ast.expr) -> None:
        self.source = source
        self.function = function
        self.read = read
        self.known: dict[str, bool] = {}
        """With whether the name is that of a tensor."""
        self.unpacked = False
        self.collect()

    def collect(self) -> None:
        for node in ast.walk(self.function):
            if not isinstance(node, ast.Assign) or not self.is_view(node.value):
                continue
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.known[target.id] = self.wraps(node.value)
                elif isinstance(target, ast.Tuple):
                    self.unpacked = True
                    parts = [part.id for part in target.elts if isinstance(part, ast.Name)]
                    self.known.update(dict.fromkeys(parts, False))

    def is_view(self, node: ast.expr) -> bool:
        if node is self.read or (isinstance(node, ast.Name) and node.id in self.known):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self.is_view(node.value)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and self.is_view(node.func.value):
            return called(node) in SHARING or is_writing_method(node.func)
        return called(node) in SHARING and any(self.is_view(part) for part in node.args[:1])

    def wraps(self, node: ast.expr) -> bool:
        """Makes a tensor of it on the way, or goes on with one."""
        return any(
            (isinstance(part, ast.Call) and called(part) in TENSORS)
            or (isinstance(part, ast.Name) and self.known.get(part.id, False))
            for part in ast.walk(node)
        )

    def writes(self) -> Iterator[ast.stmt]:
        """Statements that write into what is stored, in order."""
        statements = list(nodes_within(self.function, ast.stmt))
        for node in sorted(statements, key=lambda known: known.lineno):
            if self.is_write(node):
                yield node

    def is_write(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.AugAssign):
            return self.is_view(node.target)
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Subscript) and self.is_view(target.value)
            for target in node.targets
        ):
            return True
        if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try | ast.FunctionDef):
            return False
        return any(self.is_writing_call(call) for call in nodes_within(node, ast.Call))

    def is_writing_call(self, call: ast.Call) -> bool:
        links = [link for link in chain(call) if is_writing_method(link.func)]
        if any(self.is_view(part) for link in links for part in [owner_of(link)] if part):
            return True
        if called(call) in SHUFFLES:
            owner = owner_of(call)
            return any(self.is_view(part) for part in [*call.args[:1], *([owner] if owner else [])])
        outs = [word.value for word in call.keywords if word.arg == "out"]
        inplace = any(
            word.arg == "inplace" and isinstance(word.value, ast.Constant) and word.value.value
            for word in call.keywords
        )
        return any(self.is_view(part) for part in (*outs, *(call.args[:1] if inplace else ())))

    def view(self, write: ast.stmt | None) -> StoredView:
        names = [
            node.id
            for node in (ast.walk(write) if write is not None else ())
            if isinstance(node, ast.Name) and node.id in self.known
        ]
        name = names[0] if names else ""
        tensor = self.known.get(name, False) or (write is not None and has_writing_method(write))
        return StoredView(
            self.source, self.read, self.unpacked, write, name, tensor, self.reaches_return()
        )

    def reaches_return(self) -> bool:
        names = set(self.known)
        for node in nodes_within(self.function, ast.Assign):
            if self.is_read_by(node.value, names):
                parts = (part for target in node.targets for part in ast.walk(target))
                names |= {part.id for part in parts if isinstance(part, ast.Name)}
        returns = (node.value for node in nodes_within(self.function, ast.Return))
        return any(self.is_read_by(value, names) for value in returns if value is not None)

    def is_read_by(self, node: ast.expr, names: set[str]) -> bool:
        stored = ast.unparse(base_of(self.read))
        return any(
            (isinstance(part, ast.Name) and part.id in names)
            or (isinstance(part, ast.Subscript) and ast.unparse(base_of(part)) == stored)
            for part in ast.walk(node)
        )


def owner_of(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def has_writing_method(write: ast.stmt) -> bool:
    return any(is_writing_method(node.func) for node in nodes_within(write, ast.Call))
