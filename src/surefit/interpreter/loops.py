"""Loops: every iteration where the members are known, two where they are not."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from surefit.interpreter.classes import truth_of
from surefit.interpreter.control import MOST_ITERATIONS, Flow
from surefit.interpreter.iteration import UNKNOWN_ITERATIONS, Iterations, iterations_of
from surefit.interpreter.journal import Changes, Journal
from surefit.interpreter.value_queries import sequence
from surefit.interpreter.values import UNKNOWN, AbstractValue, EachParameter, ParameterSet, Scope

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


def run_for(run: "Evaluator", node: ast.For, scope: Scope) -> Flow:
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


def run_while(run: "Evaluator", node: ast.While, scope: Scope) -> Flow:
    if truth_of(run.evaluate(node.test, scope)) is False:
        return None
    return iterate(run, node, scope, UNKNOWN_ITERATIONS, lambda _: None)


def iterate(
    run: "Evaluator",
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
