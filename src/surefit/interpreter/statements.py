"""Statements, in order."""

import ast
from collections.abc import Sequence

from surefit.interpreter.arithmetic import binary
from surefit.interpreter.attributes import set_attribute
from surefit.interpreter.backward import write_in_place
from surefit.interpreter.classes import define_class, define_function, truth_of
from surefit.interpreter.control import EXPECTS_A_FAILURE, Flow, PathEnded
from surefit.interpreter.control_flow import run_for, run_if, run_try, run_while
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.indexing import set_item
from surefit.interpreter.iteration import unpack
from surefit.interpreter.layer_creation import check_own_division
from surefit.interpreter.methods import check_discarded_move
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    ImportedName,
    LibraryObject,
    Scope,
    SequenceValue,
    TensorValue,
)


def run_block(run: Evaluator, statements: Sequence[ast.stmt], scope: Scope) -> Flow:
    for statement in statements:
        flow = run_statement(run, statement, scope)
        if flow is not None:
            return flow
    return None


def run_statement(run: Evaluator, node: ast.stmt, scope: Scope) -> Flow:
    run.step()
    match node:
        case ast.Expr(value=value):
            run_expression(run, value, scope)
        case ast.Assign(targets=targets, value=value):
            result = run.evaluate(value, scope)
            for target in targets:
                run.assign(target, result, scope)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                run.assign(target, run.evaluate(value, scope), scope)
        case ast.AugAssign():
            run_augmented(run, node, scope)
        case ast.If():
            return run_if(run, node, scope)
        case ast.For():
            return run_for(run, node, scope)
        case ast.While():
            return run_while(run, node, scope)
        case ast.With():
            return run_with(run, node, scope)
        case ast.Try():
            return run_try(run, node, scope)
        case ast.Return(value=value):
            result = run.evaluate(value, scope) if value else Constant(None)
            run.frames[-1].returns.append(result)
            return "return"
        case ast.Break():
            return "break"
        case ast.Continue():
            return "continue"
        case ast.Raise():
            raise PathEnded
        case ast.Assert(test=test):
            run_assert(run, test, scope)
        case ast.FunctionDef():
            bind_name(run, node.name, define_function(run, node, scope), scope)
        case ast.AsyncFunctionDef():
            bind_name(run, node.name, UNKNOWN, scope)
        case ast.ClassDef():
            bind_name(run, node.name, define_class(run, node, scope), scope)
        case ast.Import() | ast.ImportFrom():
            bind_imports(run, node, scope)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            scope.shared |= set(names)
        case ast.Delete(targets=targets):
            for target in targets:
                if isinstance(target, ast.Name):
                    bind_name(run, target.id, UNKNOWN, scope)
                else:
                    forget_target(run, target, scope)
        case ast.Match():
            forget_names(run, node, scope)
    return None


def run_expression(run: Evaluator, value: ast.expr, scope: Scope) -> None:
    if isinstance(value, ast.Constant):
        return
    if isinstance(value, ast.Call):
        check_discarded_move(run, value, scope)
    run.evaluate(value, scope)


def bind_name(run: Evaluator, name: str, value: AbstractValue, scope: Scope) -> None:
    owner = scope
    if name in scope.shared:
        outer = scope.outer
        while outer is not None and name not in outer.names:
            outer = outer.outer
        owner = outer or scope.root
    run.set(owner.names, name, value)


def assign_target(run: Evaluator, target: ast.expr, value: AbstractValue, scope: Scope) -> None:
    match target:
        case ast.Name(id=name):
            bind_name(run, name, value, scope)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            assign_parts(run, parts, value, scope)
        case ast.Starred(value=inner):
            run.assign(inner, UNKNOWN, scope)
        case ast.Attribute(value=owner, attr=name):
            set_attribute(run, run.evaluate(owner, scope), name, value, target)
        case ast.Subscript(value=owner, slice=index):
            holder = run.evaluate(owner, scope)
            set_item(run, holder, run.evaluate(index, scope), value, target)


def assign_parts(
    run: Evaluator, parts: Sequence[ast.expr], value: AbstractValue, scope: Scope
) -> None:
    starred = any(isinstance(item, ast.Starred) for item in parts)
    items = None if starred else unpack(run, value, len(parts))
    for number, part in enumerate(parts):
        run.assign(part, items[number] if items else UNKNOWN, scope)


def run_augmented(run: Evaluator, node: ast.AugAssign, scope: Scope) -> None:
    old = run.evaluate(node.target, scope)
    right = run.evaluate(node.value, scope)
    if isinstance(old, TensorValue):
        write_in_place(run, old, node, node.target)
    value = binary(run, old, node.op, right, (node.target, node.value), node)
    if isinstance(old, SequenceValue) and old.kind == "list":
        run.set(old, "items", value.items if isinstance(value, SequenceValue) else None)
        return
    if isinstance(old, TensorValue) and isinstance(value, TensorValue):
        if run.graphs.recording is not True or old.leaf:
            return  # it is the same tensor, with other numbers in it
        value.device = old.device
    run.assign(node.target, value, scope)


def run_with(run: Evaluator, node: ast.With, scope: Scope) -> Flow:
    mode, autocast, guard, device = run.graphs.mode, run.autocast, run.guard, run.default_device
    for item in node.items:
        context = run.evaluate(item.context_expr, scope)
        enter_context(run, context, item.context_expr)
        if item.optional_vars is not None:
            run.assign(item.optional_vars, UNKNOWN, scope)
    try:
        return run.block(node.body, scope)
    finally:
        run.graphs.mode = mode
        run.autocast, run.guard, run.default_device = autocast, guard, device


def enter_context(run: Evaluator, context: AbstractValue, node: ast.expr) -> None:
    if isinstance(context, LibraryObject):
        if run.graphs.enter(context.name, context.arguments.get("mode"), node):
            return
        if "autocast" in context.name:
            run.autocast = None
            return
        if context.name.startswith(("torch.", "open", "tqdm")):
            return
    text = run.source.segment(node).lower()
    if any(word in text for word in EXPECTS_A_FAILURE):
        run.guard += 1
    if not text.startswith("open("):
        run.graphs.forget_mode()
        run.autocast = run.default_device = None


def run_assert(run: Evaluator, test: ast.expr, scope: Scope) -> None:
    if truth_of(run.evaluate(test, scope)) is False:
        check_own_division(run, test, scope, test)
        raise PathEnded


def bind_imports(run: Evaluator, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            before = "." * node.level + (f"{node.module}." if node.module else "")
            name = before + alias.name
            bind_name(run, alias.asname or alias.name, ImportedName(name), scope)
        else:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            bind_name(run, alias.asname or name, ImportedName(name), scope)


def forget_target(run: Evaluator, target: ast.expr, scope: Scope) -> None:
    if isinstance(target, ast.Attribute | ast.Subscript):
        run.escape(run.evaluate(target.value, scope))


def forget_names(run: Evaluator, node: ast.AST, scope: Scope) -> None:
    """Names that a statement binds which is not followed."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
            bind_name(run, name.id, UNKNOWN, scope)
        elif isinstance(name, ast.Name):
            run.escape(scope.find(name.id))
