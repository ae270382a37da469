"""Parameters were frozen when the optimizer was created, and are not in it now that they are free.

## What happens
`AdamW(p for p in model.parameters() if p.requires_grad)` takes what is free at that moment. Layers
that are unfrozen later get gradients, but the optimizer was created without them: no step ever
changes their weights.

## Why it matters
The second stage of a training trains the head alone, as the first did. The loss may still fall, and
nothing is raised.

## What to do
Call `optimizer.add_param_group({"params": ...})` after the line that unfreezes them. Or create the
optimizer with all parameters: it skips those without a gradient.

## How it is recognised
A parameter did not require a gradient when the optimizer was created. At later steps it gets fresh
gradients, no optimizer holds it or ever has, and its values do not change. A line of the script
that runs after the optimizer is created sets `requires_grad`. Embeddings alone are not reported:
they can be set free so that checkpointed layers have a gradient.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.measures.set_free import FreedParameter, SetFree
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, some
from surefit.laws.layers.freezing import callers_with, is_set_to, value_set
from surefit.laws.layers.parameter_groups import smallest_groups
from surefit.laws.training.creation_order import Outside, runs, stands_still
from surefit.laws.training.made_names import name_at
from surefit.source.edits import inserted_after, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called, dotted, names_within
from surefit.source.selection import nodes_within

RULE = Rule("SF617", "unfrozen-outside-the-optimizer", Severity.ERROR, __doc__)

MORE_STEPS = 20
"""That a proof takes beyond the step at which the parameters were seen to be free."""

ADDED = """\
held = {{id(weight) for group in {optimizer}.param_groups for weight in group["params"]}}
free = [weight for weight in {model}.parameters() if weight.requires_grad]
{optimizer}.add_param_group({{"params": [weight for weight in free if id(weight) not in held]}})"""


@dataclass(frozen=True, slots=True)
class Freeing:
    """A statement that sets `requires_grad`, with the loops over what it sets it on."""

    source: Source
    statement: ast.stmt

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)

    @property
    def part(self) -> str:
        """`model.backbone`, where it is all parameters of that."""
        match self.statement:
            case ast.For(iter=ast.Call(func=ast.Attribute(value=part, attr="parameters"), args=[])):
                plain = len(self.statement.body) == 1 and isinstance(
                    self.statement.body[0], ast.Assign | ast.Expr
                )
                return dotted(part) if plain else ""
            case ast.Expr(ast.Call(func=ast.Attribute(value=part, attr="requires_grad_"))):
                return dotted(part)
        return ""


@RULE.on(Steps)
def freed_parameters_never_move(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    freed = {
        known.serial: known
        for measure in recording.all(SetFree)
        if measure.process.pid == steps.process.pid
        for known in measure.freed
    }
    outside = [known for known in steps.outside if known.serial in freed and is_meant(known, steps)]
    if not outside or all("Embedding" in known.layer for known in outside):
        return
    last = max((freed[known.serial] for known in outside), key=lambda known: known.by)
    for optimizer in steps.optimizers:
        if optimizer.serial == last.optimizer and optimizer.steps:
            yield from created_while_frozen(outside, steps, optimizer, last, recording)


def is_meant(known: ParameterSeen, steps: Steps) -> bool:
    """It is a part of a model that learns, not of one that only judges."""
    evaluated = any(
        root.serial == known.root and not root.held and not root.training for root in steps.roots
    )
    return stands_still(known) and known.registered and not evaluated


def created_while_frozen(
    outside: Outside,
    steps: Steps,
    optimizer: OptimizerSeen,
    last: FreedParameter,
    recording: Recording,
) -> Iterator[Finding]:
    at = optimizer.made_at
    source = recording.source(at)
    created = source.statement_at(at.line) if source and at and at.line else None
    freeing = freed_after(source, created) if source and created else None
    if source is None or created is None or freeing is None:
        return
    name = name_at(source, at) or ""
    names = [known.name for known in outside]
    every = [known.name for known in steps.parameters]
    these = some(smallest_groups(names, [*names, *every]))
    wanted = min(steps.steps, max(2 * last.by, last.by + MORE_STEPS))
    must = Moves(tuple(names), steps=wanted)
    added = added_to(freeing, created, name, own_part(freeing, names, every)) if name else None
    words = (
        f"Give them to the optimizer when they are free: `{name or 'optimizer'}.add_param_group`."
    )
    fixes = [Fix(words, added, must) if added else Fix(words, choice=True)]
    whole = all_from_the_start(source, created)
    if whole is not None:
        words = "Create the optimizer with all parameters: it skips those without a gradient."
        fixes.append(Fix(words, whole, must))
    yield RULE.finding(
        freeing.place,
        f"`{name or optimizer.kind}` was created with {these} still frozen: now"
        f" {counted(len(outside), 'unfrozen tensor')} get gradients and are not in the optimizer.",
        facts=(
            Fact(f"`{name or optimizer.kind}`", f"{optimizer.kind}, created at {at}"),
            Fact("free", f"with gradients by step {last.by:,}"),
            Fact("in the optimizer", counted(len(every), "other tensor")),
        ),
        why="An optimizer holds the parameters that it was given when it was created. To set"
        " `requires_grad` later does not add any.",
        fixes=tuple(fixes if added or whole is None else fixes[::-1]),
    )


def own_part(freeing: Freeing, names: list[str], held: list[str]) -> str:
    """`model.backbone`, if that is what was set free and the optimizer holds nothing of it."""
    part = freeing.part
    prefix = part.partition(".")[2] + "."
    inside = all(name.startswith(prefix) for name in names)
    mixed = any(name.startswith(prefix) for name in held)
    return part if len(prefix) > 1 and inside and not mixed else ""


def freeing_in(source: Source) -> Iterator[Freeing]:
    for statement in source.every(ast.stmt):
        value = value_set(statement)
        match statement:
            case ast.Expr(ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[])):
                yield Freeing(source, with_loops(source, statement))
        if value is None or is_set_to(value, False):
            continue
        calls = list(callers_with(source, statement, True))
        for caller in calls:
            yield Freeing(source, caller)
        if not calls:
            yield Freeing(source, with_loops(source, statement))


def with_loops(source: Source, statement: ast.stmt) -> ast.stmt:
    """The outermost loop whose variable the statement needs, or a loop inside it."""
    outermost = statement
    for node in source.up(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            break
        if isinstance(node, ast.For) and names_in(node.target) & names_in(outermost):
            outermost = node
    return outermost


def names_in(node: ast.AST) -> set[str]:
    return set(names_within(node))


def freed_after(source: Source, created: ast.stmt) -> Freeing | None:
    """The statement that runs after an optimizer is created, in its function or called from there:
    the first where there are several."""
    for freeing in freeing_in(source):
        if caller_after(freeing, created) is not None:
            return freeing
    return None


def caller_after(freeing: Freeing, created: ast.stmt) -> ast.stmt | None:
    """The statement in the function of the optimizer by which parameters are set free."""
    source, statement = freeing.source, freeing.statement
    ways = [statement, *runs(source, Place(source.file, statement.lineno))]
    scope, end = source.scope_of(created), created.end_lineno or created.lineno
    later = [way for way in ways if source.scope_of(way) is scope and way.lineno > end]
    return later[0] if later else None


def added_to(freeing: Freeing, created: ast.stmt, name: str, part: str) -> Edit | None:
    """`optimizer.add_param_group(...)` behind that statement; `part`: what the optimizer holds
    nothing of yet."""
    source, after = freeing.source, caller_after(freeing, created)
    if after is None or shares_lines(source, after):
        return None
    if part and after is freeing.statement:
        text = f'{name}.add_param_group({{"params": {part}.parameters()}})'
        return inserted_after(source, after, text)
    model = filtered_model(created)
    text = ADDED.format(optimizer=name, model=model)
    return inserted_after(source, after, text) if model else None


def filtered_model(created: ast.stmt) -> str:
    """`model`, of whose parameters the optimizer was given those that require a gradient."""
    owners = {
        dotted(node.func.value)
        for node in nodes_within(created, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "parameters"
    }
    return owners.pop() if len(owners) == 1 else ""


def all_from_the_start(source: Source, created: ast.stmt) -> Edit | None:
    """`model.parameters()` in the place of a filter on `requires_grad`."""
    model = filtered_model(created)
    for call in ast.walk(created):
        given = source.argument(call, "params", 0) if isinstance(call, ast.Call) else None
        chooses = isinstance(given, ast.GeneratorExp | ast.ListComp) or (
            isinstance(given, ast.Call) and called(given) == "filter"
        )
        if given is not None and chooses and model and "requires_grad" in source.segment(given):
            return replaced(source, given, f"{model}.parameters()")
    return None
