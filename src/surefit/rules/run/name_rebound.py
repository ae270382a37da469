"""A name is bound again, to a value that cannot do what the name is used for.

## What happens
`loss = loss(output, target)` overwrites the function with its result: the first step works, the
second calls a tensor. The same happens with built-ins and imports: `time = time() - start`,
`list = [...]`, `max = scores.max()`, and with `loss = loss.item()` before `loss.backward()`.

## Why it matters
The error comes one step, one epoch or one cell later, often at a line that is right. Its message
says that a float or a tensor is not callable, and not which line put it there.

## What to do
Give the new value a name of its own.

## How it is recognised
What the failing line calls, or asks for an attribute, is a number, a text, a list or a tensor. The
name has a meaning from before: it is imported, defined, a built-in, or assigned elsewhere. The
assignment that put the value there is in the source.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.rebound_names import NameRebound
from surefit.laws.values.value_words import in_words
from surefit.remedies.rename import Rename

RULE = Rule(
    "SF856",
    "name-rebound",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"object is not callable|'(float|int|Tensor|list|str)' object has no attribute",
            "whether the name was bound again, to a result",
        ),
    ),
)


@RULE.on(NameRebound)
def name_was_bound_to_something_else(broken: NameRebound, case: Case) -> Finding:
    node = case.node(case.own)
    attribute = node.attr if isinstance(node, ast.Attribute) else ""
    new = f"{broken.name.rpartition('.')[2]}_value"
    owner = broken.name.rpartition(".")[0]
    new = f"{owner}.{new}" if owner else new
    use = "calls it" if broken.is_called else f"asks it for `{attribute}`"
    return case.finding(
        broken.rebound.place,
        f"{code(broken.name)} is rebound here to a {broken.value.kind}, and line"
        f" {broken.use.place.line} still {use}.",
        facts=(
            Fact(f"{code(broken.name)} before", broken.first),
            *fact_at("bound again at", broken.rebound),
            Fact(f"{code(broken.name)} now", in_words(broken.value)),
            *fact_at("fails at", broken.use),
        ),
        why=f"The assignment overwrites what {code(broken.name)} was: every later use of the name"
        " gets the new value.",
        remedies=(
            Rename(
                at=broken.rebound,
                name=broken.name,
                new=new,
                attribute=attribute,
                words=f"Rename the variable: {code(new)}.",
            ),
        ),
    )
