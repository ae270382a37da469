"""`model.eval()` around an evaluation, `model.train()` before what a model learns by."""

import ast

from surefit.doctor.observations import CallSite
from surefit.laws.case import Case
from surefit.laws.losses.loss_sources import call_at
from surefit.laws.training.rounds import outermost_loop
from surefit.source.callers import given_in
from surefit.source.edits import Edit, inserted_after, inserted_before
from surefit.source.line_edits import leaves, shares_lines
from surefit.source.reading import Function, Source, called, dotted

Around = ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith


def evaluation_around(source: Source, call: ast.Call) -> ast.stmt:
    """The outermost loop or `with` around a call that no backward pass is in; otherwise its own
    statement."""
    found = source.statement_of(call)
    for outer in source.up(call):
        if isinstance(outer, Function):
            break
        if isinstance(outer, Around):
            if runs_backward(outer):
                break
            found = outer
    return found


def runs_backward(node: ast.AST) -> bool:
    """It trains; a function of the file that does is not followed."""
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(called(call) == "backward" for call in calls)


def evaluated_so(source: Source, call: ast.Call, name: str) -> Edit | None:
    """`eval()` before an evaluation and `train()` after it, where that is not left by a return."""
    statement = evaluation_around(source, call)
    if shares_lines(source, statement):
        return None
    before = inserted_before(source, statement, f"{name}.eval()")
    if leaves_by_return([statement]):
        return before
    after = inserted_after(source, statement, f"{name}.train()")
    return Edit(source.file, (*before.changes, *after.changes))


def name_in_caller(source: Source, call: ast.Call, caller: ast.Call) -> str:
    """What the caller of a function knows a model by that the function calls; empty where that is
    not known."""
    name = dotted(call.func)
    function = source.scope_of(call)
    if not isinstance(function, ast.FunctionDef):
        return name
    if name.startswith("self."):
        known = source.scope_of(caller)
        return name if source.parents.get(known) is source.parents.get(function) else ""
    plain = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    argument = next((entry for entry in plain if entry.arg == name), None)
    given = given_in(source, function, caller, argument) if argument is not None else None
    return dotted(given) if given is not None else "" if argument is not None else name


def leaves_by_return(statements: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for entry in statements for node in ast.walk(entry))


def before_it_learns(case: Case, site: CallSite | None, name: str = "") -> Edit | None:
    """`train()` before the statement of a call that a model learns by."""
    source = case.source(site.place) if site is not None else None
    call = call_at(source, site) if source is not None and site is not None else None
    if source is None or call is None or not dotted(call.func):
        return None
    statement = source.statement_of(call)
    if shares_lines(source, statement):
        return None
    return inserted_before(source, statement, f"{name or dotted(call.func)}.train()")


def before_the_loop(case: Case, site: CallSite | None) -> Edit | None:
    """`train()` before the outermost loop around a call that a model learns by."""
    source = case.source(site.place) if site is not None else None
    call = call_at(source, site) if source is not None and site is not None else None
    if source is None or call is None or not dotted(call.func):
        return None
    outermost = outermost_loop(source, call)
    if outermost is None or shares_lines(source, outermost):
        return None
    return inserted_before(source, outermost, f"{dotted(call.func)}.train()")


def at_the_end_of_evaluation(source: Source, switch: ast.Call) -> Edit | None:
    """`train()` as the last thing that the function does which calls `eval()`; before its return,
    which must be the only one. A call in that return is still part of the evaluation."""
    function = source.scope_of(switch)
    owner = dotted(switch.func.value) if isinstance(switch.func, ast.Attribute) else ""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not owner:
        return None
    final = function.body[-1]
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    if runs_backward(function) or shares_lines(source, final):
        return None
    if not returns and not leaves([final]):
        return inserted_after(source, final, f"{owner}.train()")
    if returns == [final] and not any(
        isinstance(node, ast.Call) and calls_a_model(node, owner) for node in ast.walk(final)
    ):
        return inserted_before(source, final, f"{owner}.train()")
    return None


def calls_a_model(call: ast.Call, owner: str) -> bool:
    return dotted(call.func) == owner
