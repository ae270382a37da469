"""Tests and loops: the path that is certain, or all, of which only what they share stays known."""

import ast
from collections.abc import Callable

from surefit.interpreter.classes import truth_of
from surefit.interpreter.control import (
    MOST_ITERATIONS,
    Flow,
    PathEnded,
    catches,
    ends_in_raise,
    until_raise,
)
from surefit.interpreter.devices import chosen_device
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.iteration import UNKNOWN_ITERATIONS, Iterations, iterations_of
from surefit.interpreter.journal import Changes, Journal, merge_values
from surefit.interpreter.layer_creation import check_own_division
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    EachParameter,
    ParameterSet,
    Scope,
)


def run_if(run: Evaluator, node: ast.If, scope: Scope) -> Flow:
    test = truth_of(run.evaluate(node.test, scope))
    if test is None:
        return run_either(
            run, lambda: run.block(node.body, scope), lambda: run.block(node.orelse, scope)
        )
    if test and ends_in_raise(node.body):
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
    handled = [run_handler(run, handler, scope) for handler in node.handlers]
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


def run_handler(run: Evaluator, handler: ast.ExceptHandler, scope: Scope) -> tuple[Flow, Changes]:
    def path() -> Flow:
        if handler.name:
            run.assign(ast.Name(handler.name), UNKNOWN, scope)
        return run.block(handler.body, scope)

    return run.explore(path)


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


def run_while(run: Evaluator, node: ast.While, scope: Scope) -> Flow:
    if truth_of(run.evaluate(node.test, scope)) is False:
        return None
    return iterate(run, node, scope, UNKNOWN_ITERATIONS, lambda _: None)


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
