"""A checkpoint was loaded with `strict=False`, and its tensors have names that the model has not.

## What happens
A model that was wrapped when it was saved (`DataParallel`, `torch.compile`, a class that holds it)
has names with a prefix: `module.`, `_orig_mod.`, `model.`. With `strict=False`, names that the
model does not have are passed over, all of them. Filtering the entries by name before does the
same.

## Why it matters
No error is raised, and training starts from random weights. It often works, only worse.

## What to do
Take the prefix off the names, or load into the module inside. Look at what `load_state_dict`
returns: `missing_keys` and `unexpected_keys`.

## How it is recognised
`load_state_dict` came back, and the model has none of the names that it was given; or hardly any,
where with one prefix taken off or put before them names and shapes fit. A backbone whose names
match, with a new head, is as it should be.
"""

import ast

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.invariants.saving import NothingLoaded
from surefit.laws.runs import law_holds
from surefit.remedies.wrap import Wrap
from surefit.source.reading import Source, called

RULE = Rule("SF963", "nothing-loaded-by-strict-false", Severity.ERROR, __doc__)


@RULE.on(NothingLoaded)
def no_name_is_one_of_the_model(broken: NothingLoaded, case: Case) -> Finding:
    load = broken.load
    fits = f"{load.would_match:,} of {load.given:,}"
    prefix = load.drop or load.add
    how = (
        f"with `{prefix}` taken off the names, {fits} fit"
        if load.drop
        else f"with `{prefix}` before the names, {fits} fit"
    )
    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why=f"The names of the checkpoint have another prefix: {how}."
        if prefix
        else "Entries whose names the model does not have are passed over.",
        remedies=remedies(broken, case) if prefix else (),
    )


def remedies(broken: NothingLoaded, case: Case) -> tuple[Wrap, ...]:
    load = broken.load
    name = f'name.removeprefix("{load.drop}")' if load.drop else f'"{load.add}" + name'
    must = law_holds(broken)
    at = loaded_from(broken, case)
    return (
        Wrap(
            at=at,
            before=f"{{{name}: tensor for name, tensor in ",
            after=".items()}",
            words=f"Give the entries the names of the model: `{name}`.",
            must=must,
            alike=False,
        ),
    )


def loaded_from(broken: NothingLoaded, case: Case) -> Expression | None:
    """What is loaded; where it was filtered, the call that read the file."""
    load = broken.load
    place = load.read_at if load.own else load.place
    source = case.source(place)
    if source is None or place is None or place.line is None:
        return None
    names = ("load", "load_file") if load.own else ("load_state_dict",)
    calls = [call for call in source.calls_in(place.line) if called(call) in names]
    if len(calls) != 1:
        return None
    if not load.own:
        return case.argument(case.expression(source, calls[0]), "state_dict", 0)
    return case.expression(source, with_subscripts(source, calls[0]))


def with_subscripts(source: Source, node: ast.expr) -> ast.expr:
    """`torch.load("best.pt")["model"]` of the call in it."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return with_subscripts(source, parent)
    return node
