"""An optimizer is given no parameters at all.

## What happens
A module registers what is assigned to it: parameters, modules, `nn.ModuleList`. Layers in a plain
list or dict are not looked into, so that `parameters()` is empty. A generator such as
`model.parameters()` can be iterated once: counted before, it gives nothing to the optimizer. And a
filter for parameters that require grad keeps none where all of them were frozen.

## Why it matters
With one layer registered and the others in a list it runs, and the others are never trained.

## What to do
`nn.ModuleList([...])` and `nn.ModuleDict({...})` for layers, `nn.ParameterList` for parameters;
`list(model.parameters())` where they are used twice; freeze before the new head is created.

## How it is recognised
The optimizer failed where it looks at its parameters, and has none. The model that they were asked
of is looked at: what it has registered, what requires grad, what is in plain lists; and the source
for an earlier use of the same generator. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.held_parameters import ParametersAreHeld
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.optimizers import GIVES_ALL, NoParameters, OwnParameters
from surefit.laws.freezing import freezing_in
from surefit.laws.registration import attribute_value, torch_nn_in
from surefit.remedies.change import Change
from surefit.remedies.wrap import Wrap
from surefit.source.patches import Edit
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"optimizer got an empty parameter list",
    "what the model has registered, what is frozen, and whether a generator was used up",
)
RULE = Rule("SF602", "no-parameters", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoParameters)
def nothing_to_optimize(broken: NoParameters, case: Case) -> Finding:
    module = broken.module
    if module is not None and module.hidden and not module.parameters:
        return in_plain_lists(broken, case, module)
    iterated = iterated_before(broken, case)
    if iterated is not None and (module is None or module.trainable):
        return used_up(broken, case, *iterated)
    if module is not None and module.parameters and not module.trainable:
        return all_frozen(broken, case, module)
    return case.finding(
        broken.use.place,
        f"{code(broken.params.text)} gives the optimizer no parameters.",
        facts=known(module),
        why="An optimizer needs at least one tensor to step.",
        remedies=(Fix("Give it what should be trained: `model.parameters()`.", choice=True),),
    )


def known(module: OwnParameters | None) -> Iterator[Fact]:
    if module is not None:
        yield Fact(f"`{module.kind}` has", counted(module.parameters, "parameter"))
        if module.parameters:
            yield Fact("that require grad", str(module.trainable))


def in_plain_lists(broken: NoParameters, case: Case, module: OwnParameters) -> Finding:
    first = module.hidden[0]
    value = attribute_value(case, first.owner, first.name)
    prefix = torch_nn_in(case, value) if value else ""
    kinds = ("module", first.modules) if first.modules else ("parameter", first.parameters)
    words = f"`nn.{first.registering}(...)` around it."
    single = value is not None and prefix and len(module.hidden) == 1
    return case.finding(
        (value or broken.use).place,
        f"`self.{first.name}` of `{first.owner}` is a plain {first.holder}: the"
        f" {counted(kinds[1], kinds[0])} in it are not registered, and `parameters()` gives none.",
        facts=(
            *known(module),
            Fact(f"in `self.{first.name}`", counted(first.parameters, "parameter")),
            *fact_at("asked for at", broken.use),
        ),
        why="A module knows only what is assigned to it as a module or a parameter; it does not"
        f" look into a {first.holder}. `.to(device)` and `state_dict()` leave them out, too.",
        remedies=(
            Wrap(
                at=value,
                before=f"{prefix}.{first.registering}(",
                after=")",
                words=words,
                must=ParametersAreHeld(first.parameters),
                alike=False,
            )
            if single
            else Fix(words, choice=True),
        ),
    )


def iterated_before(broken: NoParameters, case: Case) -> tuple[Expression, Expression] | None:
    """The generator that a name was assigned, and what iterated it before the optimizer."""
    source, name = case.source(broken.params.place), case.node(broken.params)
    if source is None or not isinstance(name, ast.Name):
        return None
    bound = source.bound_by(name)
    assigned = bound[0] if len(bound) == 1 else None
    if not isinstance(assigned, ast.Assign) or not is_generator(assigned.value):
        return None
    for other in source.every(ast.Name):
        between = assigned.lineno < other.lineno <= name.lineno and other is not name
        reads = other.id == name.id and isinstance(other.ctx, ast.Load)
        if between and reads and source.bound_by(other) == bound:
            return case.expression(source, assigned.value), case.expression(source, other)
    return None


def is_generator(node: ast.expr) -> bool:
    if isinstance(node, ast.GeneratorExp):
        return True
    return isinstance(node, ast.Call) and called(node) in (*GIVES_ALL, "filter", "map", "chain")


def used_up(
    broken: NoParameters, case: Case, generator: Expression, earlier: Expression
) -> Finding:
    source = case.source(earlier.place)
    line = " ".join(source.lines[(earlier.place.line or 1) - 1].split()) if source else ""
    count = broken.module.trainable if broken.module else 1
    return case.finding(
        generator.place,
        f"{code(earlier.text)} can be iterated once, and line {earlier.place.line} has done so;"
        " nothing is left for the optimizer.",
        facts=(
            *known(broken.module),
            Fact("used up at", f"{earlier.place}  {line}"),
            Fact("given to the optimizer at", str(broken.use.place)),
        ),
        why="A generator gives each of its items once, and then ends.",
        remedies=(
            Wrap(
                at=generator,
                before="list(",
                after=")",
                words=f"Make it a list: {code(f'{earlier.text} = list({generator.text})')}.",
                must=ParametersAreHeld(count),
                alike=False,
            ),
        ),
    )


def all_frozen(broken: NoParameters, case: Case, module: OwnParameters) -> Finding:
    frozen = list(freezing_in(case.recording))
    return case.finding(
        frozen[0].place if len(frozen) == 1 else broken.use.place,
        f"All {counted(module.parameters, 'parameter')} of `{module.kind}` are frozen, and"
        f" {code(broken.params.text)} keeps only those that are not.",
        facts=(*known(module), *fact_at("asked for at", broken.use)),
        why="A parameter without `requires_grad` gets no gradient, and cannot be trained.",
        remedies=all_frozen_remedies(frozen[0].without if len(frozen) == 1 else None, module),
    )


def all_frozen_remedies(edit: Edit | None, module: OwnParameters) -> Iterator[Remedy | Fix]:
    if edit is not None:
        yield Change(
            to=edit,
            words="Train everything: take the line out that freezes.",
            must=ParametersAreHeld(module.parameters),
            choice=True,
        )
    yield Fix(
        "Freeze only the part that must stay frozen, `model.encoder.parameters()` say, or create"
        " the new layer after the loop that freezes.",
        choice=True,
    )
