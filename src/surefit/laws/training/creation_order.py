"""Parameters that no optimizer holds, and what was created before them: optimizer, then layer."""

import ast
from collections.abc import Sequence

from surefit.doctor.findings import Place
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Steps
from surefit.source.edits import Edit, moved_after
from surefit.source.line_edits import block_of, bound_by, moved_together, used_by
from surefit.source.reading import Source, dotted, names_within, targets
from surefit.source.selection import the_only

MOST_CALLERS = 3
"""How far a line inside functions is followed out to who calls them."""
READY = (".eval(", "from_pretrained", "pretrained=", "weights=", "load")
"""In the line that creates a model: it comes as it should stay."""
Outside = Sequence[ParameterSeen]


def stands_still(parameter: ParameterSeen) -> bool:
    """Nobody moves it by hand, and no optimizer held it in an earlier stage."""
    moves = parameter.changed or parameter.unchanged < parameter.sampled
    return not moves and parameter.held_by is None


def comes_ready(outside: Outside, steps: Steps, source: Source | None) -> bool:
    """Another model, none of whose parameters is trained, that is only evaluated, or was loaded: a
    judge of images, an encoder of text."""
    root = next((root for root in steps.roots if root.serial == outside[0].root), None)
    if root is None or root.held or not root.serial:
        return False
    line = outside[0].made_at.line if outside[0].made_at else None
    statement = source.statement_at(line) if source and line else None
    written = source.segment(statement) if source and statement else ""
    return not root.training or any(word in written for word in READY)


def created_before(outside: Outside, steps: Steps) -> OptimizerSeen | None:
    """The last optimizer created before these parameters, if none was created after them."""
    first = min(parameter.serial for parameter in outside)
    stepping = [optimizer for optimizer in steps.optimizers if optimizer.steps]
    if not first or any(optimizer.serial > first for optimizer in stepping):
        return None
    known = [optimizer for optimizer in stepping if optimizer.serial]
    return max(known, key=lambda optimizer: optimizer.serial, default=None)


def both_in_one_block(
    source: Source, first: Place, then: Place
) -> tuple[ast.stmt, ast.stmt] | None:
    """The statements of one block by which two lines are run, the first before the second; None
    where there is not exactly one such pair."""
    return the_only(
        (earlier, later)
        for earlier in runs(source, first)
        for later in runs(source, then)
        if later in (block := block_of(source, earlier))
        and block.index(earlier) < block.index(later)
    )


def runs(source: Source, place: Place) -> list[ast.stmt]:
    """The statement at a line, and those that call the function or class that it stands in."""
    statement = source.statement_at(place.line or 0)
    statements = [statement] if statement else []
    newest = list(statements)
    for _ in range(MOST_CALLERS):
        names = {name for caller in newest if (name := name_around(source, caller))}
        callers = [source.statement_of(call) for call in source.calls_named(*names)]
        newest = [caller for caller in callers if caller not in statements]
        statements += newest
    return statements


def name_around(source: Source, statement: ast.stmt) -> str:
    """The function that a statement is in; of an `__init__`, the class."""
    scope = source.scope_of(statement)
    owner = source.parents.get(scope)
    if isinstance(owner, ast.ClassDef) and getattr(scope, "name", "") == "__init__":
        return owner.name
    return scope.name if isinstance(scope, ast.FunctionDef) else ""


def put_in_order(source: Source, optimizer: ast.stmt, layer: ast.stmt) -> Edit | None:
    """The optimizer after the layer, with the lists that it was given and what in between needs it;
    if that cannot be, the layer before it."""
    collected = [*collecting(source, optimizer, layer), optimizer]
    moved = moved_together(source, collected, layer)
    if moved is not None or len(collected) > 1:
        return moved
    block = block_of(source, optimizer)
    before = block.index(optimizer) - 1
    return moved_after(source, layer, block[before]) if before >= 0 else None


def collecting(source: Source, optimizer: ast.stmt, layer: ast.stmt) -> list[ast.stmt]:
    """Statements before the optimizer that take parameters out of what the layer changes, and give
    them to it by a name: `trainable = [p for p in model.parameters()]`."""
    block, changed = block_of(source, optimizer), changed_by(layer)
    needed, found = used_by(source, [optimizer]), list[ast.stmt]()
    for known in reversed(block[: block.index(optimizer)]):
        uses = used_by(source, [known])
        if isinstance(known, ast.Assign) and bound_by(known) & needed and uses & changed:
            if bound_by(known) & changed:
                break
            found.insert(0, known)
            needed |= uses
    return found


def changed_by(layer: ast.stmt) -> set[str]:
    """`model` of `model.head = ...`; of a call, all that it is given."""
    if isinstance(layer, ast.Assign | ast.AnnAssign):
        return {dotted(part).partition(".")[0] for part in targets(layer)}
    return set(names_within(layer))
