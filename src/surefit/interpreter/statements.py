"""Statements, in order."""

import ast
from collections.abc import Callable, Sequence
from functools import partial

from surefit.interpreter.attributes import set_attribute, set_item
from surefit.interpreter.backward import write_in_place
from surefit.interpreter.classes import define_class, define_function, truth_of
from surefit.interpreter.devices import chosen_device
from surefit.interpreter.evaluator import (
    MOST_ITERATIONS,
    Evaluator,
    Flow,
    PathEnded,
    until_raise,
)
from surefit.interpreter.iteration import UNKNOWN_ITERATIONS, Iterations, iterations_of, unpack
from surefit.interpreter.journal import Changes, Journal, merge_values
from surefit.interpreter.layer_creation import check_own_division
from surefit.interpreter.methods import check_discarded_move
from surefit.interpreter.operators import binary
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    EachParameter,
    ImportedName,
    LibraryObject,
    ParameterSet,
    Scope,
    SequenceValue,
    TensorValue,
)

HARMLESS = {
    *("KeyboardInterrupt", "ImportError", "ModuleNotFoundError", "FileNotFoundError", "EOFError"),
    *("FileExistsError", "OSError", "IOError", "StopIteration", "SystemExit", "UnicodeDecodeError"),
}
"""Exceptions that are caught for other reasons than a violation in a model."""
EXPECTS_A_FAILURE = ("raises", "suppress", "fail", "warns", "expect")


def run_block(run: Evaluator, body: Sequence[ast.stmt], scope: Scope) -> Flow:
    for statement in body:
        flow = run_statement(run, statement, scope)
        if flow is not None:
            return flow
    return None


def run_statement(run: Evaluator, node: ast.stmt, scope: Scope) -> Flow:
    run.step()
    match node:
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            if isinstance(value, ast.Call):
                check_discarded_move(run, value, scope)
            run.evaluate(value, scope)
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
            if truth_of(run.evaluate(node.test, scope)) is not False:
                return iterate(run, node, scope, UNKNOWN_ITERATIONS, lambda _: None)
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
            if truth_of(run.evaluate(test, scope)) is False:
                check_own_division(run, test, scope, test)
                raise PathEnded
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
                elif isinstance(target, ast.Attribute | ast.Subscript):
                    run.escape(run.evaluate(target.value, scope))
        case ast.Match():
            forget_names(run, node, scope)
    return None


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


def bind_imports(run: Evaluator, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    before = ""
    if isinstance(node, ast.ImportFrom):
        before = "." * node.level + (f"{node.module}." if node.module else "")
    for alias in node.names:
        name = alias.name if alias.asname or before else alias.name.partition(".")[0]
        bind_name(run, alias.asname or name, ImportedName(before + name), scope)


def forget_names(run: Evaluator, node: ast.AST, scope: Scope) -> None:
    """Names that a statement binds which is not followed."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
            bind_name(run, name.id, UNKNOWN, scope)
        elif isinstance(name, ast.Name):
            run.escape(scope.find(name.id))


def run_if(run: Evaluator, node: ast.If, scope: Scope) -> Flow:
    test = truth_of(run.evaluate(node.test, scope))
    if test is None:
        return run_either(
            run, lambda: run.block(node.body, scope), lambda: run.block(node.orelse, scope)
        )
    if test and isinstance(node.body[-1], ast.Raise):
        check_own_division(run, node.test, scope, node)
    return run.block(node.body if test else node.orelse, scope)


def run_either(run: Evaluator, first: Callable[[], Flow], second: Callable[[], Flow]) -> Flow:
    flow, left = run.explore(first)
    other, right = run.explore(second)
    if flow is None and other is None:
        run.journal.merge_paths(left, right)
        return None
    if flow == other == "raise":
        raise PathEnded
    for way, changes in ((flow, left), (other, right)):
        if way is None:
            run.journal.apply(changes)
        else:
            run.keep_for_later(way, changes)
    if flow is None or other is None:
        return None
    return flow if other == "raise" else other


def run_try(run: Evaluator, node: ast.Try, scope: Scope) -> Flow:
    caught = any(catches(handler) for handler in node.handlers)
    run.guard += caught
    try:
        flow, changes = run.journal.watched(
            lambda: until_raise(lambda: run.block(node.body, scope))
        )
    finally:
        run.guard -= caught
    if flow == "raise" and not node.handlers:
        run.block(node.finalbody, scope)
        raise PathEnded

    def handle(handler: ast.ExceptHandler) -> Flow:
        if handler.name:
            run.assign(ast.Name(handler.name), UNKNOWN, scope)
        return run.block(handler.body, scope)

    handled = [run.explore(partial(handle, handler)) for handler in node.handlers]
    if any(way is None for way, _ in handled):
        run.journal.merge_with_before(changes)
    for way, changed in handled:
        if way is None:
            run.journal.merge_into_now(changed)
        else:
            run.keep_for_later(way, changed)
    if flow is None and node.orelse:
        flow = run.block(node.orelse, scope)
    run.block(node.finalbody, scope)
    if flow != "raise":
        return flow
    if all(way == "raise" for way, _ in handled):
        raise PathEnded
    return next((way for way, _ in handled if way != "raise"), None)


def catches(handler: ast.ExceptHandler) -> bool:
    """Whether it can be a violation that is caught there."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [kind.id if isinstance(kind, ast.Name) else "" for kind in kinds]
    return not all(name in HARMLESS for name in names)


def evaluate_if(run: Evaluator, node: ast.IfExp, scope: Scope) -> AbstractValue:
    test = truth_of(run.evaluate(node.test, scope))
    if test is not None:
        return run.evaluate(node.body if test else node.orelse, scope)
    first, second = (explore_value(run, part, scope) for part in (node.body, node.orelse))
    return chosen_device(first, second) or merge_values(first, second)


def explore_value(run: Evaluator, node: ast.expr, scope: Scope) -> AbstractValue:
    """The value of an expression that may not be evaluated."""
    values: list[AbstractValue] = []
    _, changes = run.explore(lambda: values.append(run.evaluate(node, scope)))
    run.journal.merge_into_now(changes)
    return values[0] if values else UNKNOWN


def evaluate_bool(run: Evaluator, node: ast.BoolOp, scope: Scope) -> AbstractValue:
    ends = isinstance(node.op, ast.Or)
    value: AbstractValue = UNKNOWN
    unsure = False
    for operand in node.values:
        run.guard += unsure
        try:
            value = run.evaluate(operand, scope)
        finally:
            run.guard -= unsure
        known = truth_of(value)
        if known is ends:
            if not unsure:
                return value
            return Constant(ends) if isinstance(value, Constant) else UNKNOWN
        unsure = unsure or known is None
    return UNKNOWN if unsure else value


def run_for(run: Evaluator, node: ast.For, scope: Scope) -> Flow:
    over = run.evaluate(node.iter, scope)
    if isinstance(over, ParameterSet):
        each: AbstractValue = EachParameter(over)
        iterations = Iterations((sequence("tuple", (UNKNOWN, each)) if over.named else each,), True)
    else:
        iterations = iterations_of(run, over)

    def begin(number: int) -> None:
        run.assign(node.target, iterations.item(number), scope)

    flow = iterate(run, node, scope, iterations, begin)
    if flow is None and not isinstance(over, ParameterSet):
        return run.block(node.orelse, scope)
    return flow


def iterate(
    run: Evaluator,
    node: ast.For | ast.While,
    scope: Scope,
    iterations: Iterations,
    begin: Callable[[int], None],
) -> Flow:
    frame, before = run.frames[-1], run.moment
    exact = iterations.all_known and len(iterations.items) <= MOST_ITERATIONS
    count = len(iterations.items) if exact else 2
    run.loops += 1
    loop = run.loops
    frame.loops.append([])
    results: list[Changes] = []
    flow: Flow = None
    for number in range(count):
        run.moment = (*before, (loop, number))

        def iteration(at: int = number) -> Flow:
            begin(at)
            return run.block(node.body, scope)

        flow, changes = run.journal.watched(iteration)
        results.append(changes)
        if flow in ("break", "return"):
            break
    run.moment = before
    left_early = frame.loops.pop()
    if not exact and len(results) == 2:
        merge_iterations(run.journal, *results)
    for changes in left_early:
        run.journal.merge_into_now(changes)
    return "return" if flow == "return" else None


def merge_iterations(journal: Journal, first: Changes, second: Changes) -> None:
    """What no iteration, one and two leave, as far as it is the same."""
    for where, change in {**second, **first}.items():
        if where in first:
            journal.merge(change, first[where].new, change.now)
        journal.merge(change, change.old, change.now)
