"""Every parameter on the way to the loss is frozen, those that the optimizer holds among them.

## What happens
`requires_grad = False` was set on more than was meant: on the whole model after its new head was
put in, or on the adapters as well. No parameter wants a gradient, so no operation records a graph,
and `backward` says "element 0 of tensors does not require grad".

## Why it matters
Where one forgotten parameter stays trainable, nothing fails, and that one alone is trained.
`loss.requires_grad_(True)` silences the error, and trains nothing.

## What to do
Unfreeze what shall be trained, behind the line that freezes: `model.head.requires_grad_(True)`; or
freeze first, and make the new head afterwards.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds that nothing on the way to it
ever had one, that parameters were used on the way, and that the optimizer holds parameters of which
none wants a gradient.

In a script that is only read: every layer on the way to a loss is frozen by a line that is certain
to run, and `backward` is called on the loss.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.graph_stories import GraphStory, story_of_lost_graph
from surefit.interpreter import violations, wording
from surefit.source.edits import both, inserted_before, removed
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, called

RULE = Rule(
    "SF627",
    "frozen-parameters-to-train",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"element 0 of tensors does not require grad",
            "whether any parameter that the optimizer holds wants a gradient",
        ),
    ),
)


@RULE.on(Crash)
def nothing_wants_a_gradient(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_lost_graph(seen, crash) if is_cause(crash, seen) else None
    lost = story.lost if story else None
    if story is None or lost is None or lost.cuts or not lost.frozen or lost.numbers:
        return
    held, wanting = story.optimized if len(story.optimized) == 2 else (0, 0)
    places = list(freezing(seen))
    frame = crash.own_frame
    if not held or wanting or frame is None:
        return
    source, node = chosen(seen, *places[0], crash.steps) if len(places) == 1 else (None, None)
    place = Place(source.file, node.lineno, node.end_lineno) if source and node else frame.place
    yield RULE.finding(
        place,
        f"All {counted(held, 'parameter')} that the optimizer holds are frozen: none wants a"
        " gradient, so that the loss has no graph.",
        facts=tuple(facts(story, places)),
        why="Operations on tensors that want no gradient record nothing."
        " `loss.requires_grad_(True)` would silence the error and train nothing.",
        fixes=tuple(fixes(crash, seen, places)),
        python_said=crash.said,
        about=crash.id,
    )


def freezing(seen: Recording) -> Iterator[tuple[Source, ast.stmt]]:
    """Statements that set `requires_grad` to False; of a loop over parameters, the inner line."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in source.every(ast.stmt) if source else ():
            if source and (is_set_off(node) or is_call_off(node)):
                yield source, node
            elif source:
                yield from ((source, one) for one in told_to_freeze(source, node))


def told_to_freeze(source: Source, node: ast.stmt) -> Iterator[ast.stmt]:
    """Calls with False for the argument of a function that sets `requires_grad` to it."""
    value = value_set(node)
    bound = source.bound_by(value) if isinstance(value, ast.Name) else []
    function = source.scope_of(node)
    if not isinstance(value, ast.Name) or not isinstance(function, ast.FunctionDef):
        return
    names = [one.arg for one in function.args.args if one.arg != "self"]
    if len(bound) != 1 or not isinstance(bound[0], ast.arg) or value.id not in names:
        return
    for call in source.every(ast.Call):
        if called(call) == function.name:
            given = source.argument(call, value.id, names.index(value.id))
            if isinstance(given, ast.Constant) and given.value is False:
                yield source.statement_of(call)


def value_set(node: ast.stmt) -> ast.expr | None:
    """What `requires_grad` becomes, by an assignment or by `requires_grad_`."""
    if isinstance(node, ast.Assign):
        named = [one for one in node.targets if isinstance(one, ast.Attribute)]
        return node.value if any(one.attr == "requires_grad" for one in named) else None
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and called(call) == "requires_grad_" and call.args:
        return call.args[0]
    return None


def chosen(seen: Recording, source: Source, node: ast.stmt, steps: int) -> tuple[Source, ast.stmt]:
    """The only call of a function that freezes whatever module it is given: there it was chosen."""
    function = source.scope_of(node)
    if (
        steps
        or not isinstance(function, ast.FunctionDef)
        or not freezes_an_argument(node, function)
    ):
        return source, node
    calls = [
        (where, where.statement_of(call))
        for where in filter(None, (seen.source(script.file) for script in seen.all(Script)))
        for call in where.every(ast.Call)
        if called(call) == function.name
    ]
    return calls[0] if len(calls) == 1 else (source, node)


def freezes_an_argument(node: ast.stmt, function: ast.FunctionDef) -> bool:
    """`for p in module.parameters(): ...` or `module.requires_grad_(False)`, where it is given."""
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For)]
    frozen = next((one.iter for one in loops if node in one.body), node)
    given = {one.arg for one in function.args.args if one.arg != "self"}
    parts = [one.value for one in ast.walk(frozen) if isinstance(one, ast.Attribute)]
    return len(parts) == 1 and isinstance(parts[0], ast.Name) and parts[0].id in given


def is_set_off(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return False
    named = [one for one in node.targets if isinstance(one, ast.Attribute)]
    return node.value.value is False and any(one.attr == "requires_grad" for one in named)


def is_call_off(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or called(call) != "requires_grad_":
        return False
    given = call.args[:1]
    return bool(given) and isinstance(given[0], ast.Constant) and given[0].value is False


def facts(story: GraphStory, places: list[tuple[Source, ast.stmt]]) -> Iterator[Fact]:
    if story.lost:
        yield Fact("on the way to the loss", f"{story.lost.frozen} uses of frozen parameters")
        yield Fact("trainable on the way", "none")
    if len(places) > 1:
        lines = ", ".join(f"{source.file}:{node.lineno}" for source, node in places)
        yield Fact("frozen at", lines)


def fixes(crash: Crash, seen: Recording, places: list[tuple[Source, ast.stmt]]) -> Iterator[Fix]:
    if crash.steps and len(places) == 1:
        yield from frozen_on_the_way(crash.steps, *places[0])
        return
    chosen = list(modules_given(seen))
    if len(chosen) == 1:
        source, statement, module = chosen[0]
        line = f"{module}.requires_grad_(True)"
        yield Fix(
            f"The optimizer was given {code(module)}: unfreeze it, {code(line)}.",
            inserted_before(source, statement, line),
            GradientsStay(),
        )
        return
    yield Fix(
        "Freeze only what shall stay as it is, or unfreeze, behind this, what shall be trained:"
        " `requires_grad_(True)` on the new head.",
        why_not_tried="which part shall be trained only you know",
    )


def frozen_on_the_way(steps: int, source: Source, node: ast.stmt) -> Iterator[Fix]:
    """They were trained before: some function, of evaluation mostly, has frozen them since."""
    function = source.scope_of(node)
    if isinstance(function, ast.FunctionDef) and not shares_lines(source, node):
        edit = both(removed(source, node), inserted_before(source, function, "@torch.no_grad()"))
        yield Fix(
            f"They were trained for {counted(steps, 'step')}, and `{function.name}` has frozen them"
            " since: let it record nothing while it runs, by `@torch.no_grad()`.",
            edit,
            GradientsStay(),
        )
        return
    yield Fix(
        f"They were trained for {counted(steps, 'step')}: take this line out, or unfreeze behind.",
        why_not_tried="what shall be trained from then on only you know",
    )


def modules_given(seen: Recording) -> Iterator[tuple[Source, ast.stmt, str]]:
    """A part of a model that an optimizer was given: `Adam(model.head.parameters())`."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            if source is None or not source.imported(call.func).startswith("torch.optim."):
                continue
            given = source.argument(call, "params", 0)
            is_part = (
                isinstance(given, ast.Call)
                and called(given) == "parameters"
                and isinstance(given.func, ast.Attribute)
                and isinstance(given.func.value, ast.Attribute)
            )
            statement = source.statement_of(call)
            if is_part and isinstance(given, ast.Call) and not shares_lines(source, statement):
                module = given.func.value if isinstance(given.func, ast.Attribute) else given
                yield source, statement, source.segment(module)


@RULE.on(Script)
def all_on_the_way_is_frozen_in_the_source(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.BackwardWithoutGraph):
        cut = one.tensor.cut
        if cut is None or cut.how != "frozen":
            continue
        yield RULE.finding(
            wording.place_of(source, cut.node),
            "Every parameter on the way to the loss is frozen, by"
            f" {wording.text_of(source, source.statement_of(cut.node))}: none"
            " wants a gradient, so that the loss has no graph.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="Operations on tensors that want no gradient record nothing."
            " `loss.requires_grad_(True)`"
            " would silence the error and train nothing.",
            fixes=(
                Fix(
                    "Freeze only what shall stay as it is, or unfreeze, behind this, what shall be"
                    " trained: `requires_grad_(True)` on the new head.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
