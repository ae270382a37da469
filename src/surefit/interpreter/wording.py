"""Violations of a script that is only read, and words for what they are about."""

import ast
from collections.abc import Iterator
from typing import TypeVar

from surefit.doctor.causes import was_only_read
from surefit.doctor.findings import Fact, Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.words import code
from surefit.interpreter.evaluation import violations_of
from surefit.interpreter.modules import class_name_of
from surefit.interpreter.values import LayerValue, Module, TensorValue
from surefit.interpreter.violations import GraphFreed, SourceViolation
from surefit.source.reading import Source

NAMED = ast.Name | ast.Attribute
Kind = TypeVar("Kind", bound=SourceViolation)
ONLY_READ = "the script was read, not run"


def violations_in(
    script: Script, recording: Recording, kind: type[Kind]
) -> Iterator[tuple[Source, Kind]]:
    """Violations of one kind, with the source that they are in; none where the script was run."""
    source = recording.source(script.file) if was_only_read(recording) else None
    for violation in violations_of(source) if source is not None else ():
        if isinstance(violation, kind) and source is not None:
            yield source, violation


def place_of(source: Source, node: ast.AST) -> Place:
    line = getattr(node, "lineno", None)
    return Place(source.file, line, getattr(node, "end_lineno", line))


def text_of(source: Source, node: ast.AST) -> str:
    """As it is written, on one line, in backticks."""
    return code(source.segment(node))


def line_at(source: Source, node: ast.AST) -> str:
    """`train.py:12  loss = ...`."""
    statement = source.statement_of(node)
    text = statement if not hasattr(statement, "body") else node
    return f"{source.file}:{getattr(node, 'lineno', 0)}  {' '.join(source.segment(text).split())}"


def layer_name(source: Source, node: ast.AST, layer: LayerValue) -> str:
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


def layer_fact(source: Source, name: str, layer: LayerValue) -> Fact:
    """What a layer is, and where it is created."""
    return Fact(name, f"{describe_layer(layer)}, made at {place_of(source, layer.node)}")


def describe_layer(layer: LayerValue) -> str:
    """`Linear(32 → 40)`, `Embedding(300, 48)`."""
    if layer.kind in WIDTHS:
        sizes = [layer.number(name) for name in WIDTHS[layer.kind]]
        between = ", " if layer.kind == "Embedding" else " → "
        shown = ["?" if size is None else str(size) for size in sizes]
        return f"{layer.kind}({between.join(shown)})"
    numbers = [str(number) for name in layer.arguments if (number := layer.number(name))]
    return f"{layer.kind}({', '.join(numbers[:2])})"


def describe_tensor(source: Source, tensor: TensorValue) -> str:
    """`(n, 40), from Linear(32 → 40), made at train.py:14`."""
    layer = tensor.source_layer
    if layer is None:
        return str(tensor.shape)
    return f"{tensor.shape}, from {describe_layer(layer)}, made at {place_of(source, layer.node)}"


def carried_value(source: Source, violation: GraphFreed) -> tuple[ast.AST, str]:
    """What is carried from iteration to iteration: the outermost call on the path whose statement
    gives a name, or an attribute, a value that is computed from the one before."""
    for node in violation.operation.calls:
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign):
            continue
        read = {ast.unparse(item) for item in ast.walk(statement.value) if isinstance(item, NAMED)}
        for target in statement.targets:
            for item in ast.walk(target):
                if isinstance(item, NAMED) and ast.unparse(item) in read - {"self"}:
                    return node, ast.unparse(item)
    node = violation.birth
    names = assigned_names(source, node)
    return node, names[-1] if names else ""


def assigned_names(source: Source, node: ast.AST) -> list[str]:
    """Names that the statement around an expression gives a value."""
    statement = source.statement_of(node)
    if not isinstance(statement, ast.Assign):
        return []
    return [
        item.id
        for target in statement.targets
        for item in ast.walk(target)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    ]


def model_name(model: Module) -> str:
    return f"`{class_name_of(model)}`"


def first_use_before(
    source: Source, shared: ast.AST, first: ast.AST, second: ast.AST
) -> ast.AST | None:
    """Where a value that two losses share is first used, if a step is taken between them: there
    the loss of the other model takes it in."""
    names = assigned_names(source, shared)
    lines = [getattr(node, "lineno", 0) for node in (shared, first, second)]
    steps = [
        item
        for item in source.every(ast.Call)
        if isinstance(item.func, ast.Attribute)
        and item.func.attr == "step"
        and lines[1] < item.lineno < lines[2]
    ]
    if not names or not steps or source.scope_of(shared) is not source.scope_of(first):
        return None
    uses = [
        item
        for item in source.every(ast.Name)
        if item.id in names
        and isinstance(item.ctx, ast.Load)
        and lines[0] < item.lineno <= lines[1]
        and source.scope_of(item) is source.scope_of(first)
    ]
    return min(uses, key=lambda left: (left.lineno, left.col_offset), default=None)


AttributeAssignment = tuple[ast.ClassDef, ast.Assign, ast.Attribute]


def attribute_assignment(source: Source, node: ast.AST) -> AttributeAssignment | None:
    """The class, and where it sets the attribute of `self` that an expression reads."""
    for item in ast.walk(node):
        if not isinstance(item, ast.Attribute) or not isinstance(item.value, ast.Name):
            continue
        owner = next((up for up in source.up(node) if isinstance(up, ast.ClassDef)), None)
        if owner is None or item.value.id != "self":
            continue
        for statement in ast.walk(owner):
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute) and target.attr == item.attr:
                        return owner, statement, target
    return None


def last_move_before(source: Source, node: ast.AST) -> ast.AST | None:
    """The last statement before an expression, in the same function, that moves a tensor."""
    line, scope = getattr(node, "lineno", 0), source.scope_of(node)
    moves = [
        item
        for item in source.every(ast.Assign)
        if isinstance(item.value, ast.Call)
        and isinstance(item.value.func, ast.Attribute)
        and item.value.func.attr in ("to", "cuda")
        and isinstance(item.value.func.value, ast.Name)
        and item.lineno < line
        and source.scope_of(item) is scope
        and any(isinstance(up, ast.For | ast.While) for up in source.up(item))
    ]
    return max(moves, key=lambda left: left.lineno, default=None)
