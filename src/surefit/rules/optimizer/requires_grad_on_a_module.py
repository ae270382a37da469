"""`requires_grad` was set on a module, which changes none of its parameters.

## What happens
`module.requires_grad = True` adds a plain attribute to the module. Parameters have a
`requires_grad` of their own, and keep it: a layer that was to be set free stays frozen, and one
that was to be frozen learns on.

## Why it matters
Nothing is raised, and printing the attribute shows the wanted value.

## What to do
Call `module.requires_grad_(True)`, with an underscore and as a call: it sets every parameter.

## How it is recognised
A module has an attribute `requires_grad`, and parameters of it have the other value.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.invariants.gradient_flags import FlagOnModule
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, names_within

RULE = Rule("SF616", "requires-grad-on-a-module", Severity.ERROR, __doc__)


@RULE.on(FlagOnModule)
def a_flag_reaches_no_parameter(broken: FlagOnModule, case: Case) -> Finding:
    module = broken.module
    written = [
        pair for source in case.recording.sources() for pair in settings(source, module.flag)
    ]
    remedies: list[Change | Fix] = [Fix(f"Call `requires_grad_({module.flag})` on the module.")]
    place = broken.use.place
    if written:
        source, statement, target = written[0]
        place = Place(source.file, statement.lineno, statement.end_lineno)
        owner = source.segment(target.value)
        text = f"{owner}.requires_grad_({module.flag})"
        edit = Edit(source.file, (Replace(source.span(statement), text),))
        words = f"Set the parameters of the module: `{text}`."
        remedies = [Change(to=edit, words=words, must=law_holds(broken))]
    state = "stay frozen" if module.flag else "learn on"
    return case.finding(
        place,
        f"`requires_grad = {module.flag}` on a `{module.kind}` changes none of its parameters:"
        f" {module.otherwise:,} of {counted(module.parameters, 'parameter')} {state}.",
        facts=(
            Fact("parameters", f"{module.otherwise:,} have requires_grad={not module.flag}"),
            Fact("modules treated so", f"{broken.modules:,}"),
        ),
        why="A module has no `requires_grad`: the assignment adds a plain attribute to it. Only"
        " parameters have one that counts.",
        remedies=remedies,
    )


def settings(source: Source, flag: bool) -> Iterator[tuple[Source, ast.Assign, ast.Attribute]]:
    """`x.requires_grad = True`, but for loops over parameters, where it is right."""
    for statement in source.every(ast.Assign):
        match statement:
            case ast.Assign(
                targets=[ast.Attribute(attr="requires_grad") as target],
                value=ast.Constant(value=bool(value)),
            ) if value is flag and not of_parameters(source, statement, target):
                yield source, statement, target


def of_parameters(source: Source, statement: ast.AST, target: ast.Attribute) -> bool:
    node: ast.AST | None = statement
    while node is not None:
        if isinstance(node, ast.For) and isinstance(target.value, ast.Name):
            names = set(names_within(node.target))
            if target.value.id in names and "parameters" in source.segment(node.iter):
                return True
        node = source.parents.get(node)
    return False
