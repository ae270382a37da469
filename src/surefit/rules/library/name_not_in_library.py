"""The script asks a library for a name that the installed version does not have.

## What happens
Libraries move and drop what they hold: `transformers.AdamW` is gone, `numpy.float` is, and so is
`DataFrame.append`. A script that was written for another version stops with an `ImportError` or an
`AttributeError`.

## Why it matters
An older version of the library often does not go with the rest of what is installed. The message
does not say what stands in the name's place.

## What to do
Use what stands in its place: `torch.optim.AdamW`, Python's own `float`, `pandas.concat`.

## How it is recognised
The failing statement imports a name, or asks a module or a value of a library for one, which the
installed library does not have; or it calls one that is kept only to raise. What stands in its
place is proposed only if it is installed.

In a script that is only read: the same of imports and of attributes of modules, by the source of
the installed library, which is not imported. Where names can come into a module without being
written in it, only those are reported that are known to be given up. Passed over is what stands in
a `try`, or under an `if` that asks for a version or an attribute.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.names import NamesExist
from surefit.doctor.conditions.optimizers import OptimizerSteps
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Question
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.library_names import NamesAbsent, OnlyRaises
from surefit.laws.libraries.name_successors import (
    NOT_TAKEN_BY_TORCH,
    RIGHT_SIDE_FIRST,
    STANDS_FOR,
    is_optimizer,
)
from surefit.remedies.change import Change
from surefit.remedies.concat import Concat
from surefit.remedies.names import of_linear_algebra, renamed

SYMPTOM = Symptom(
    r"ImportError: cannot import name|AttributeError: module '[\w.]+' has no attribute",
    "whether the installed version of the library has the name",
)
RULE = Rule("SF852", "name-not-in-library", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NamesAbsent)
def a_name_is_gone(broken: NamesAbsent, case: Case) -> Finding:
    return case.finding(
        broken.use.place,
        headline(broken),
        facts=facts(broken),
        why=f"{broken.installed} is installed: another version had the name, or it is misspelled.",
        remedies=(remedy(broken, case),),
    )


def headline(broken: NamesAbsent) -> str:
    wanted, names = broken.wanted, list(broken.instead)
    asked = f"A `{broken.kind}`" if wanted.of_value else f"`{wanted.owner}`"
    said = f"{asked} of {broken.installed} has no {spoken(map(code, names))}"
    if len(names) == 1 and broken.instead[names[0]]:
        return f"{said}: `{broken.instead[names[0]].lstrip('.')}` stands in its place."
    return f"{said}."


def facts(broken: NamesAbsent) -> Iterator[Fact]:
    for name, new in broken.instead.items():
        alike = broken.near.get(name, ())
        if new:
            own = "" if "." in new else ", Python's own"
            yield Fact(code(name), f"is `{new.lstrip('.')}`{own}, which is installed")
        elif alike:
            yield Fact(code(name), f"the nearest names are {spoken(map(code, alike))}")


def remedy(broken: NamesAbsent, case: Case) -> Remedy | Fix:
    wanted, instead = broken.wanted, broken.instead
    if not all(instead.values()):
        node = wanted.node
        if isinstance(node, ast.Attribute) and "append" in instead and case.own is not None:
            return Concat(wanted.source, node, case.own)
        return without_successor(broken)
    whole = wanted.of_value or wanted.by_import
    pairs = [
        f"`{new.lstrip('.')}` in place of `{name if whole else f'{wanted.owner}.{name}'}`"
        for name, new in instead.items()
    ]
    statement = wanted.source.statement_of(wanted.node)
    return Change(
        to=renamed(wanted, instead),
        words=f"Use {spoken(pairs)}.{'' if case.read else without_bias(broken)}",
        must=must(broken, statement, broken.question) if broken.question else None,
    )


def without_successor(broken: NamesAbsent) -> Fix:
    wanted, name = broken.wanted, next(iter(broken.instead))
    new = STANDS_FOR.get(f"{wanted.owner}.{name}", "")
    if new and not wanted.of_value:
        package = new.partition(".")[0]
        return Fix(
            f"`{new}` took its place: `pip install {package}`, and `import {package}`.",
            why_not_tried=f"`{package}` is not installed here",
        )
    gone = spoken(code(name) for name, new in broken.instead.items() if not new)
    version = "the version of the library that the script was written for"
    return Fix(f"Do without {gone}, or install {version}.", choice=True)


def without_bias(broken: NamesAbsent) -> str:
    """What an argument did that is removed with it."""
    words = [word.arg for word in broken.wanted.source.every(ast.keyword)]
    if NOT_TAKEN_BY_TORCH[0] not in words or not any(map(is_optimizer, broken.instead.values())):
        return ""
    return " It takes no `correct_bias`: the bias of its averages is always corrected."


def must(broken: NamesAbsent, statement: ast.stmt, question: Question) -> Condition:
    """The names are there, and what is created with them is as it must be."""
    source, new = broken.wanted.source, tuple(broken.instead.values())
    exist = NamesExist(question, new, Place(source.file, statement.lineno), targets(statement))
    kinds = [name.rpartition(".")[2] for name in new if is_optimizer(name)]
    steps = [OptimizerSteps(kind) for kind in kinds if ".step(" in source.text]
    return All((exist, *steps)) if steps else exist


def targets(statement: ast.stmt) -> tuple[str, ...]:
    """Names and attributes that a statement assigns; of a tuple the first."""
    nodes = statement.targets if isinstance(statement, ast.Assign) else []
    first = [node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node for node in nodes]
    return tuple(ast.unparse(node) for node in first if isinstance(node, ast.Name | ast.Attribute))


@RULE.on(OnlyRaises)
def a_function_only_raises(broken: OnlyRaises, case: Case) -> Finding:
    name, new = broken.name, broken.new
    order = ", with the matrix first" if name in RIGHT_SIDE_FIRST else ""
    statement = broken.source.statement_of(broken.call)
    place = Place(broken.source.file, statement.lineno)
    return case.finding(
        Place(broken.source.file, broken.call.lineno),
        f"`{name}` of torch {broken.version} only raises: `{new}` stands in its place.",
        facts=(Fact(code(name), f"is {code(new)}{order}, which is installed"),),
        why="The library keeps the name to say that it is gone.",
        remedies=(
            Change(
                to=of_linear_algebra(broken.source, broken.call, name, new),
                words=f"Use `{new}`{order}{result_of(name)}.",
                must=NamesExist(broken.question, (new,), place, targets(statement)),
            ),
        ),
    )


def result_of(name: str) -> str:
    if name == RIGHT_SIDE_FIRST[0]:
        return "; it returns the solution alone, without the factors"
    return "" if name == "torch.matrix_rank" else "; what it returns is another thing"
