"""Functions and classes that a script defines."""

import ast

from surefit.interpreter.evaluator import Evaluator
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
)
from surefit.source.returns import gives_one_by_one

MODULES = (
    *("torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.modules.Module"),
    *("lightning.LightningModule", "lightning.pytorch.LightningModule"),
    *("pytorch_lightning.LightningModule", "transformers.PreTrainedModel"),
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


DATACLASS = ImportedName("dataclasses.dataclass")
KNOWN_DECORATORS = (
    *("staticmethod", "property", "torch.no_grad", "torch.inference_mode", "torch.enable_grad"),
    *("override", "typing.override", "abc.abstractmethod"),
)
"""Those that are known not to change what a function gives."""


def define_function(
    run: Evaluator, node: ast.FunctionDef, scope: Scope, owner: ClassValue | None = None
) -> AbstractValue:
    decorators = decorators_of(run, node, scope)
    known = all(
        isinstance(value, ImportedName) and value.name in KNOWN_DECORATORS for value in decorators
    )
    return FunctionValue(node, scope, owner) if known and not gives_one_by_one(node) else UNKNOWN


def decorators_of(
    run: Evaluator, node: ast.FunctionDef | ast.ClassDef, scope: Scope
) -> list[AbstractValue]:
    """Without the calls: `functools.wraps` of `@functools.wraps(f)`."""
    return [run.evaluate(decorated_by(part), scope) for part in node.decorator_list]


def decorated_by(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def define_class(run: Evaluator, node: ast.ClassDef, scope: Scope) -> AbstractValue:
    bases = tuple(run.evaluate(base, scope) for base in node.bases)
    decorators = decorators_of(run, node, scope)
    if any(value != DATACLASS for value in decorators) or node.keywords:
        return UNKNOWN
    inner = Scope(scope, is_class=True)
    result = ClassValue(node, inner, bases)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            inner.names[statement.name] = define_function(run, statement, scope, result)
        else:
            run.block([statement], inner)
    return result
