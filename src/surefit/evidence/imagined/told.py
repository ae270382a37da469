"""What goes wrong in a script that is only read, for the rules that name it."""

import ast
from collections.abc import Iterator
from typing import Any, TypeVar

from surefit.doctor.causes import was_only_read
from surefit.doctor.findings import Fact, Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.words import code
from surefit.evidence.imagined.mishaps import Freed, Mishap
from surefit.evidence.imagined.story import mishaps
from surefit.evidence.imagined.values import Instance, Known, Layer, Tensor, whole
from surefit.source.reading import Source

Kind = TypeVar("Kind", bound=Mishap)

ONLY_READ = "the script was read, not run"


def gone_wrong(script: Script, seen: Recording, kind: type[Kind]) -> Iterator[tuple[Source, Kind]]:
    """Mishaps of one kind, with the source that they are in; none where the script was run."""
    source = seen.source(script.file) if was_only_read(seen) else None
    for one in mishaps(source) if source is not None else ():
        if isinstance(one, kind) and source is not None:
            yield source, one


def place_of(source: Source, node: ast.AST) -> Place:
    line = getattr(node, "lineno", None)
    return Place(source.file, line, getattr(node, "end_lineno", line))


def text_of(source: Source, node: ast.AST) -> str:
    """As it is written, on one line, in backticks."""
    return code(source.segment(node))


def seen_at(source: Source, node: ast.AST) -> str:
    """`train.py:12  loss = ...`."""
    statement = source.statement_of(node)
    text = statement if not hasattr(statement, "body") else node
    return f"{source.file}:{getattr(node, 'lineno', 0)}  {' '.join(source.segment(text).split())}"


def layer_name(source: Source, node: ast.AST, layer: Layer) -> str:
    """What the source calls a layer where it is called; how it is made where it has no name."""
    if isinstance(node, ast.Call) and node is not layer.node:
        return text_of(source, node.func)
    return text_of(source, layer.node)


WIDTHS = {
    "Linear": ("in_features", "out_features"),
    "Conv1d": ("in_channels", "out_channels"),
    "Conv2d": ("in_channels", "out_channels"),
    "Conv3d": ("in_channels", "out_channels"),
    "Embedding": ("num_embeddings", "embedding_dim"),
}


def made(source: Source, name: str, layer: Layer) -> Fact:
    """What a layer is, and where it was made."""
    return Fact(name, f"{described(layer)}, made at {place_of(source, layer.node)}")


def described(layer: Layer) -> str:
    """`Linear(32 → 40)`, `Embedding(300, 48)`."""
    if layer.kind in WIDTHS:
        one, other = (layer.number(name) for name in WIDTHS[layer.kind])
        between = ", " if layer.kind == "Embedding" else " → "
        shown = ["?" if size is None else str(size) for size in (one, other)]
        return f"{layer.kind}({between.join(shown)})"
    numbers = [
        str(whole(one)) for one in layer.given.values() if isinstance(one, Known) and whole(one)
    ]
    return f"{layer.kind}({', '.join(numbers[:2])})"


def comes_from(source: Source, tensor: Tensor) -> str:
    """`(n, 40), from Linear(32 → 40), made at train.py:14`."""
    by = tensor.by
    made = ""
    if isinstance(by, Layer):
        made = f", from {described(by)}, made at {place_of(source, by.node)}"
    return f"{tensor.shape}{made}"


def parting(mishap: Freed) -> ast.AST:
    """Where the way to what was freed parts from the way to the `backward` that needs it."""
    for at, node in enumerate(mishap.part.calls):
        if at >= len(mishap.calls) or mishap.calls[at] is not node:
            return node
    return mishap.part.node


def carrier(source: Source, mishap: Freed) -> tuple[ast.AST, str]:
    """What is carried from round to round: the outermost call on the way whose statement gives a
    name, or an attribute, a value that is made from the one before."""
    for node in mishap.part.calls:
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign):
            continue
        read = {ast.unparse(one) for one in ast.walk(statement.value) if isinstance(one, NAMED)}
        for target in statement.targets:
            for one in ast.walk(target):
                if isinstance(one, NAMED) and ast.unparse(one) in read - {"self"}:
                    return node, ast.unparse(one)
    node = parting(mishap)
    names = bound_names(source, node)
    return node, names[-1] if names else ""


NAMED = ast.Name | ast.Attribute


def bound_names(source: Source, node: ast.AST) -> list[str]:
    """Names that the statement around an expression gives a value."""
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign):
        return []
    return [
        one.id
        for target in statement.targets
        for one in ast.walk(target)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]


def model_name(model: Any) -> str:
    if isinstance(model, Instance):
        return f"`{model.of.node.name}`"
    return f"`{model.kind}`" if isinstance(model, Layer) else "the model"


def number_place(_source: Source, value: Any, otherwise: ast.AST) -> ast.AST:
    """Where a number is written."""
    node = value.node if isinstance(value, Known) else None
    return node if node is not None else otherwise


def use_before(source: Source, shared: ast.AST, first: ast.AST, second: ast.AST) -> ast.AST | None:
    """Where a value that two losses share is first used, if a step is taken between them: there
    the loss of the other model takes it in."""
    names = bound_names(source, shared)
    lines = [getattr(node, "lineno", 0) for node in (shared, first, second)]
    steps = [
        one
        for one in source.every(ast.Call)
        if isinstance(one.func, ast.Attribute)
        and one.func.attr == "step"
        and lines[1] < one.lineno < lines[2]
    ]
    if not names or not steps or source.scope_of(shared) is not source.scope_of(first):
        return None
    uses = [
        one
        for one in source.every(ast.Name)
        if one.id in names
        and isinstance(one.ctx, ast.Load)
        and lines[0] < one.lineno <= lines[1]
        and source.scope_of(one) is source.scope_of(first)
    ]
    return min(uses, key=lambda one: (one.lineno, one.col_offset), default=None)


MovedBy = tuple[ast.ClassDef, ast.Assign, ast.Attribute]


def plain_attribute(source: Source, node: ast.AST) -> MovedBy | None:
    """The class, and where it sets the attribute of `self` that an expression reads."""
    for one in ast.walk(node):
        if not isinstance(one, ast.Attribute) or not isinstance(one.value, ast.Name):
            continue
        owner = next((up for up in source.up(node) if isinstance(up, ast.ClassDef)), None)
        if owner is None or one.value.id != "self":
            continue
        for statement in ast.walk(owner):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute) and target.attr == one.attr:
                        return owner, statement, target
    return None


def move_before(source: Source, node: ast.AST) -> ast.AST | None:
    """The last statement before an expression, in the same function, that moves a tensor."""
    line, scope = getattr(node, "lineno", 0), source.scope_of(node)
    moves = [
        one
        for one in source.every(ast.Assign)
        if isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Attribute)
        and one.value.func.attr in ("to", "cuda")
        and isinstance(one.value.func.value, ast.Name)
        and one.lineno < line
        and source.scope_of(one) is scope
        and any(isinstance(up, ast.For | ast.While) for up in source.up(one))
    ]
    return max(moves, key=lambda one: one.lineno, default=None)
