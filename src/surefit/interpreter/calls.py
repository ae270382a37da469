"""Calls: what is called, what it is passed, what it returns."""

import ast
from collections.abc import Callable
from typing import TypeVar

from surefit.interpreter.attributes import attribute_of
from surefit.interpreter.classes import (
    DATACLASS,
    class_chain,
    decorated_by,
    find_in_class,
    is_decorated,
)
from surefit.interpreter.evaluator import DEEPEST, CallFrame, Evaluator
from surefit.interpreter.imported_calls import call_imported
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.journal import merge_values
from surefit.interpreter.layer_calls import call_layer
from surefit.interpreter.methods import call_method
from surefit.interpreter.modules import is_module
from surefit.interpreter.value_queries import Arguments, dict_value, sequence
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
    LayerValue,
    Scope,
    SequenceValue,
    TensorValue,
)

Result = TypeVar("Result")


def evaluate_call(run: Evaluator, node: ast.Call, scope: Scope) -> AbstractValue:
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            return call_super(run, name, arguments_of(run, node, scope), node)
    function = run.evaluate(node.func, scope)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
        known = isinstance(function, BoundMethod) and isinstance(function.receiver, TensorValue)
        run.graphs.lost = run.graphs.lost or not known
    return run.call(function, arguments_of(run, node, scope), node)


def call_super(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    frame = next((frame for frame in reversed(run.frames) if frame.function is not None), None)
    owner = frame.function.owner if frame and frame.function else None
    receiver = frame.receiver if frame else None
    if owner is None or receiver is None:
        return UNKNOWN
    for class_ in class_chain(owner)[1:]:
        result = class_.scope.names.get(name)
        if isinstance(result, FunctionValue):
            return run.call_function(result, arguments, node, receiver)
    if name == "__init__":
        return Constant(None)
    return call_method(run, receiver, name, arguments, node) if is_module(receiver) else UNKNOWN


def arguments_of(run: Evaluator, node: ast.Call, scope: Scope) -> Arguments:
    arguments = Arguments()
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            result = run.evaluate(argument.value, scope)
            iterations = iterations_of(run, result)
            if iterations.all_known:
                arguments.positional += iterations.items
            else:
                run.escape(result)
                arguments.open = True
                break
        else:
            arguments.nodes[len(arguments.positional)] = argument
            arguments.positional.append(run.evaluate(argument, scope))
    for word in node.keywords:
        result = run.evaluate(word.value, scope)
        if word.arg is not None:
            arguments.nodes[word.arg] = word.value
            arguments.named[word.arg] = result
        elif isinstance(result, DictValue) and result.items is not None:
            arguments.named |= {str(key): value for key, value in result.items.items()}
        else:
            arguments.open = True
    return arguments


def call_value(
    run: Evaluator, function: AbstractValue, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    match function:
        case FunctionValue():
            return run.call_function(function, arguments, node)
        case BoundMethod(receiver=to, name=name, function=None):
            return call_method(run, to, name, arguments, node)
        case BoundMethod(receiver=to, function=FunctionValue() as inner):
            return run.call_function(inner, arguments, node, to)
        case ClassValue():
            return run.instantiate(function, arguments, node)
        case ImportedName(name=name):
            return call_imported(run, name, arguments, node)
        case LayerValue():
            return call_layer(run, function, arguments, node)
        case InstanceValue():
            return call_instance(run, function, arguments, node)
    run.escape_all(arguments.values)
    return UNKNOWN


def call_instance(
    run: Evaluator, instance: InstanceValue, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    for name in ("__call__", "forward"):
        if name == "forward" and not is_module(instance):
            break
        function = attribute_of(run, instance, name, node)
        if isinstance(function, BoundMethod) and function.function is not None:
            return run.call_function(function.function, arguments, node, instance)
    run.escape_all(arguments.values)
    return UNKNOWN


def instantiate(
    run: Evaluator, class_: ClassValue, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    result = InstanceValue(class_, node)
    run.constructor_arguments.setdefault(class_.node, arguments)
    maker = find_in_class(class_, "__init__")
    if isinstance(maker, FunctionValue):
        run.call_function(maker, arguments, node, result)
    elif maker is not ABSENT:
        return UNKNOWN
    elif any(is_dataclass(run, base) for base in class_chain(class_)):
        fill_fields(run, result, arguments)
    elif not is_module(result):
        run.escape_all(arguments.values)
    if find_in_class(class_, "__new__") is not ABSENT:
        return UNKNOWN
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


def call_function(
    run: Evaluator,
    function: FunctionValue,
    arguments: Arguments,
    node: ast.AST,
    receiver: AbstractValue | None = None,
) -> AbstractValue:
    run.step()
    code = function.node
    running = sum(
        frame.function is not None and frame.function.node is code for frame in run.frames
    )
    if len(run.frames) > DEEPEST or running > 2:
        run.escape_all(arguments.values)
        return UNKNOWN
    scope = Scope(function.scope)
    if receiver is not None and is_decorated(code, "staticmethod"):
        receiver = None
    bind_arguments(run, code, arguments, scope, receiver)
    if isinstance(code, ast.Lambda):
        return in_frame(run, CallFrame(function, receiver), lambda: run.evaluate(code.body, scope))
    run.evaluated.add(code)
    frame = CallFrame(function, receiver)
    previous = run.graphs.mode
    for decorator in code.decorator_list:
        enter_decorator(run, decorator, scope)
    decorated = run.graphs.mode != previous
    run.sites.append(node)
    try:
        flow = in_frame(run, frame, lambda: run.block(code.body, scope))
    finally:
        if decorated:
            run.graphs.mode = previous
        run.sites.pop()
    for changes in frame.early:
        run.journal.merge_into_now(changes)
    if flow != "return":
        frame.returns.append(Constant(None))
    result = frame.returns[0]
    for item in frame.returns[1:]:
        result = merge_values(result, item)
    return result


def bind_arguments(
    run: Evaluator,
    code: ast.FunctionDef | ast.Lambda,
    arguments: Arguments,
    scope: Scope,
    receiver: AbstractValue | None,
) -> None:
    declared = code.args
    positional = [*declared.posonlyargs, *declared.args]
    values = [*([] if receiver is None else [receiver]), *arguments.positional]
    required = [None] * (len(positional) - len(declared.defaults))
    defaults = [*required, *declared.defaults, *declared.kw_defaults]
    names = [parameter.arg for parameter in (*positional, *declared.kwonlyargs)]
    for number, (name, default) in enumerate(zip(names, defaults, strict=True)):
        if number < min(len(positional), len(values)):
            scope.names[name] = values[number]
        elif name in arguments.named:
            scope.names[name] = arguments.named[name]
        elif default is not None and not arguments.open:
            scope.names[name] = run.evaluate(default, scope.outer or scope)
        else:
            scope.names[name] = UNKNOWN
    if declared.vararg:
        more = values[len(positional) :]
        scope.names[declared.vararg.arg] = sequence("tuple", None if arguments.open else more)
    if declared.kwarg:
        extra = {key: value for key, value in arguments.named.items() if key not in names}
        scope.names[declared.kwarg.arg] = DictValue(None) if arguments.open else dict_value(extra)


def in_frame(run: Evaluator, frame: CallFrame, body: Callable[[], Result]) -> Result:
    run.frames.append(frame)
    depth = len(run.frames)
    try:
        return body()
    finally:
        del run.frames[depth - 1 :]


def enter_decorator(run: Evaluator, node: ast.expr, scope: Scope) -> None:
    value = run.evaluate(decorated_by(node), scope)
    if isinstance(value, ImportedName):
        arguments = node.args if isinstance(node, ast.Call) else []
        mode = run.evaluate(arguments[0], scope) if arguments else None
        run.graphs.enter(value.name, mode, node)


def is_dataclass(run: Evaluator, class_: ClassValue) -> bool:
    return any(
        run.source.imported(decorated_by(node)) == DATACLASS.name
        for node in class_.node.decorator_list
    )
