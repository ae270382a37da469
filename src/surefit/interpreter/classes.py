"""Functions and classes that a script defines."""

import ast

from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.value_queries import Arguments
from surefit.interpreter.values import (
    ABSENT,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    ClassValue,
    Constant,
    DictValue,
    FunctionValue,
    ImportedName,
    InstanceValue,
    LibraryObject,
    Scope,
    SequenceValue,
    TensorValue,
)

MODULES = (
    "torch.nn.Module",
    "torch.nn.modules.module.Module",
    "torch.nn.modules.Module",
    "lightning.LightningModule",
    "lightning.pytorch.LightningModule",
    "pytorch_lightning.LightningModule",
    "transformers.PreTrainedModel",
)


def class_chain(class_: ClassValue) -> list[ClassValue]:
    """A class and those of the file that it is made from, nearest first."""
    results = [class_]
    for base in class_.bases:
        if isinstance(base, ClassValue):
            results += [class_ for class_ in class_chain(base) if class_ not in results]
    return results


def find_in_class(class_: ClassValue, name: str) -> AbstractValue:
    for item in class_chain(class_):
        if name in item.scope.names:
            return item.scope.names[name]
    return ABSENT


def is_module_class(class_: ClassValue) -> bool:
    return any(
        isinstance(base, ImportedName)
        and (base.name in MODULES or base.name.startswith("torch.nn."))
        for class_ in class_chain(class_)
        for base in class_.bases
    )


def has_foreign_bases(class_: ClassValue) -> bool:
    """Attributes and methods can come from elsewhere."""
    known = (*MODULES, "object", "torch.utils.data.Dataset", "torch.utils.data.IterableDataset")
    return any(
        not isinstance(base, ClassValue)
        and not (isinstance(base, ImportedName) and base.name in known)
        for class_ in class_chain(class_)
        for base in class_.bases
    )


def is_decorated(node: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """By a plain name: `property`, `staticmethod`."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(part, ast.Name) and part.id == name for part in decorators)


def truth_of(value: AbstractValue) -> bool | None:
    match value:
        case Constant(value=inner):
            return bool(inner)
        case SequenceValue() | DictValue():
            return None if value.items is None else bool(value.items)
        case FunctionValue() | ClassValue() | LibraryObject():
            return True
        case BoundMethod(function=FunctionValue()):
            return True
        case InstanceValue(of=class_):
            special = [find_in_class(class_, name) for name in ("__bool__", "__len__")]
            return True if all(method is ABSENT for method in special) else None
    return None


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
    run: Evaluator, node: ast.FunctionDef, scope: Scope, owner: ClassValue | None = None
) -> AbstractValue:
    names = [known_decorator(run, decorator, scope) for decorator in node.decorator_list]
    if any(name is None for name in names) or is_generator(node):
        return UNKNOWN
    return FunctionValue(node, scope, owner)


def known_decorator(run: Evaluator, node: ast.expr, scope: Scope) -> str | None:
    """The name of one that is known not to change what a function gives."""
    called = node.func if isinstance(node, ast.Call) else node
    value = run.evaluate(called, scope)
    name = value.name if isinstance(value, ImportedName) else ""
    return name if name in KNOWN_DECORATORS else None


def define_class(run: Evaluator, node: ast.ClassDef, scope: Scope) -> AbstractValue:
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


def fill_fields(run: Evaluator, instance: InstanceValue, arguments: Arguments) -> None:
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


def is_dataclass(run: Evaluator, class_: ClassValue) -> bool:
    return any(
        run.source.imported(node.func if isinstance(node, ast.Call) else node)
        == "dataclasses.dataclass"
        for node in class_.node.decorator_list
    )


def enter_decorator(run: Evaluator, node: ast.expr, scope: Scope) -> None:
    value = run.evaluate(node.func if isinstance(node, ast.Call) else node, scope)
    if isinstance(value, ImportedName):
        mode = (
            run.evaluate(node.args[0], scope) if isinstance(node, ast.Call) and node.args else None
        )
        run.graphs.enter(value.name, mode, node)
