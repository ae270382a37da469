"""An optimizer is given no parameters at all.

## What happens
A module does not look into a plain list or dict of layers, so that `parameters()` is empty. A
generator such as `model.parameters()` can be iterated once: counted before, it gives the optimizer
nothing. And a filter for parameters that require grad keeps none where all of them were frozen.

## Why it matters
With one layer registered and the others in a list it runs, and the others are never trained.

## What to do
`nn.ModuleList([...])` and `nn.ModuleDict({...})` for layers, `nn.ParameterList` for parameters;
`list(model.parameters())` where they are used twice; freeze before the new head is created.

## How it is recognised
The optimizer failed where it looks at its parameters, and has none. The model that they were asked
of is looked at: what it has registered, what requires grad, what is in plain lists; and the source
for an earlier use of the same generator.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.held_parameters import ParametersAreHeld
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.contracts.optimizers import GIVES_ALL, NoParameters, OwnParameters
from surefit.laws.layers.freezing import freezing_in
from surefit.laws.layers.registration import attribute_assignments, registered_in
from surefit.remedies.change import Change
from surefit.remedies.wrap import Wrap
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"optimizer got an empty parameter list",
    "what the model has registered, what is frozen, and whether a generator was used up",
)
RULE = Rule("SF602", "no-parameters", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

EVERYTHING = "Train everything: take the line out that freezes."


@RULE.on(NoParameters)
def nothing_to_optimize(broken: NoParameters, case: Case) -> Finding:
    module = broken.module
    if module is not None and module.hidden and not module.parameters:
        return in_plain_lists(broken, case, module)
    iterated = iterated_before(broken, case)
    if iterated is not None and (module is None or module.trainable):
        return used_up(broken, case, *iterated)
    given, place, remedies = code(broken.params.text), broken.use.place, []
    headline = f"{given} gives the optimizer no parameters."
    words = "Give it what should be trained: `model.parameters()`."
    if module is not None and module.parameters and not module.trainable:
        frozen = list(freezing_in(case.recording))
        if len(frozen) == 1:
            place, must = frozen[0].place, ParametersAreHeld(module.parameters)
            remedies = [Change(to=frozen[0].without, words=EVERYTHING, must=must, choice=True)]
        headline = (
            f"All {counted(module.parameters, 'parameter')} of `{module.kind}` are frozen, and"
            f" {given} keeps only those that are not."
        )
        words = (
            "Freeze only the part that must stay frozen, `model.encoder.parameters()` say, or"
            " create the new layer after the loop that freezes."
        )
    return case.finding(
        place,
        headline,
        facts=(*known(module), *fact_at("asked for at", broken.use)),
        why="An optimizer needs at least one tensor that requires grad.",
        remedies=(*remedies, Fix(words, choice=True)),
    )


def known(module: OwnParameters | None) -> Iterator[Fact]:
    if module is not None:
        yield Fact(f"`{module.kind}` has", counted(module.parameters, "parameter"))
        if module.parameters:
            yield Fact("that require grad", str(module.trainable))


def in_plain_lists(broken: NoParameters, case: Case, module: OwnParameters) -> Finding:
    first = module.hidden[0]
    assigned = attribute_assignments(case, (first.owner,), first.name)
    value = assigned[0].statement.value if len(assigned) == 1 else None
    words, edit = f"`nn.{first.registering}(...)` around it.", None
    if value is not None and len(module.hidden) == 1:
        edit = registered_in(first.registering, assigned[0].source, value)
    must = ParametersAreHeld(first.parameters)
    registering = Change(to=edit, words=words, must=must)
    kinds = ("module", first.modules) if first.modules else ("parameter", first.parameters)
    return case.finding(
        (assigned[0] if value is not None else broken.use).place,
        f"`self.{first.name}` of `{first.owner}` is a plain {first.holder}: the"
        f" {counted(kinds[1], kinds[0])} in it are not registered, and `parameters()` gives none.",
        facts=(
            *known(module),
            Fact(f"in `self.{first.name}`", counted(first.parameters, "parameter")),
            *fact_at("asked for at", broken.use),
        ),
        why="A module knows only what is assigned to it as a module or a parameter; it does not"
        f" look into a {first.holder}. `.to(device)` and `state_dict()` leave them out, too.",
        remedies=(registering if edit else Fix(words, choice=True),),
    )


def iterated_before(broken: NoParameters, case: Case) -> tuple[Expression, Expression] | None:
    """The generator that a name was assigned, and the line that iterated it before."""
    source, name = case.source(broken.params.place), case.node(broken.params)
    if source is None or not isinstance(name, ast.Name):
        return None
    bound = source.bound_by(name)
    assigned = bound[0] if len(bound) == 1 else None
    if not isinstance(assigned, ast.Assign) or not is_generator(assigned.value):
        return None
    for other in source.every(ast.Name):
        between = assigned.lineno < other.lineno <= name.lineno and other is not name
        reads = isinstance(other.ctx, ast.Load) and source.bound_by(other) == bound
        if between and reads and other.id == name.id:
            line = source.lines[other.lineno - 1]
            earlier = Expression(case.expression(source, other).place, text=line)
            return case.expression(source, assigned.value), earlier
    return None


def is_generator(node: ast.expr) -> bool:
    calls = isinstance(node, ast.Call) and called(node) in (*GIVES_ALL, "filter", "map", "chain")
    return calls or isinstance(node, ast.GeneratorExp)


def used_up(
    broken: NoParameters, case: Case, generator: Expression, earlier: Expression
) -> Finding:
    name = broken.params.text
    return case.finding(
        generator.place,
        f"{code(name)} can be iterated once, and line {earlier.place.line} has done so;"
        " nothing is left for the optimizer.",
        facts=(
            *known(broken.module),
            *fact_at("used up at", earlier),
            Fact("given to the optimizer at", str(broken.use.place)),
        ),
        why="A generator gives each of its items once, and then ends.",
        remedies=(
            Wrap(
                at=generator,
                before="list(",
                after=")",
                words=f"Make it a list: {code(f'{name} = list({generator.text})')}.",
                must=ParametersAreHeld(broken.module.trainable if broken.module else 1),
                alike=False,
            ),
        ),
    )
