"""Functions and classes that a script defines."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.classes import class_chain
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    ClassValue,
    Constant,
    FunctionValue,
    ImportedName,
    InstanceValue,
    Scope,
    SequenceValue,
    TensorValue,
)

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


KNOWN_DECORATORS = (
    "staticmethod",
    "property",
    "torch.no_grad",
    "torch.inference_mode",
    "torch.enable_grad",
    "override",
    "typing.override",
    "abc.abstractmethod",
)


def define_function(
    run: "Evaluator", node: ast.FunctionDef, scope: Scope, owner: ClassValue | None = None
) -> AbstractValue:
    names = [known_decorator(run, decorator, scope) for decorator in node.decorator_list]
    if any(name is None for name in names) or is_generator(node):
        return UNKNOWN
    return FunctionValue(node, scope, owner)


def known_decorator(run: "Evaluator", node: ast.expr, scope: Scope) -> str | None:
    """The name of one that is known not to change what a function gives."""
    called = node.func if isinstance(node, ast.Call) else node
    value = run.evaluate(called, scope)
    name = value.name if isinstance(value, ImportedName) else ""
    return name if name in KNOWN_DECORATORS else None


def define_class(run: "Evaluator", node: ast.ClassDef, scope: Scope) -> AbstractValue:
    bases = tuple(run.evaluate(base, scope) for base in node.bases)
    decorators = [
        run.evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator, scope)
        for decorator in node.decorator_list
    ]
    data = [
        isinstance(decorator, ImportedName) and decorator.name == "dataclasses.dataclass"
        for decorator in decorators
    ]
    if not all(data) or node.keywords:
        return UNKNOWN
    inner = Scope(scope, is_class=True)
    result = ClassValue(node, inner, bases)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            inner.names[statement.name] = define_function(run, statement, scope, result)
        else:
            run.block([statement], inner)
    return result


def fill_fields(run: "Evaluator", instance: InstanceValue, arguments: Arguments) -> None:
    """The fields of a dataclass, in order; a default that is made by a call is not known."""
    position = 0
    for class_ in reversed(class_chain(instance.of)):
        for statement in class_.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                default = class_.scope.names.get(name, UNKNOWN)
                if not isinstance(default, Constant | SequenceValue | TensorValue):
                    default = UNKNOWN
                value = arguments.get(name, position, default)
                run.set(instance.attributes, name, value)
                position += 1


def is_generator(node: ast.FunctionDef) -> bool:
    pending: list[ast.AST] = list(node.body)
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(
            inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            pending += ast.iter_child_nodes(inner)
    return False


def is_dataclass(run: "Evaluator", class_: ClassValue) -> bool:
    return any(
        run.source.imported(node.func if isinstance(node, ast.Call) else node)
        == "dataclasses.dataclass"
        for node in class_.node.decorator_list
    )


def enter_decorator(run: "Evaluator", node: ast.expr, scope: Scope) -> None:
    value = run.evaluate(node.func if isinstance(node, ast.Call) else node, scope)
    if isinstance(value, ImportedName):
        mode = (
            run.evaluate(node.args[0], scope) if isinstance(node, ast.Call) and node.args else None
        )
        run.graphs.enter(value.name, mode, node)
