"""A library unpacks what a method of the script returns, and it is not that many values.

## What happens
A subclass overrides a method of a library and returns something else than the original: only the
loss, where the caller asks for the loss and the outputs. Often the caller asks with an argument
(`return_outputs=True`) that the override takes and ignores.

## Why it matters
The error comes in the library, after the method has returned; sometimes only at the first
evaluation, after an epoch of training. No line of the override is in the traceback.

## What to do
Return what the overridden method returns, in the same order, whenever the caller asks for it.

## How it is recognised
A library's frame failed while it unpacked the result of a method that a class of the user's
overrides, and just one `return` of it has another number of values. What the library's own method
returns is read from its installed source.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.overrides import OverrideReturnsOther
from surefit.laws.values.value_origins import shortened
from surefit.remedies.replace import ReplaceWith
from surefit.source.overrides import ReturnedOnRequest, returned_on_request, signature
from surefit.source.reading import names_within

RULE = Rule(
    "SF854",
    "override-returns-something-else",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"iteration over a 0-d tensor|values to unpack|cannot unpack non-iterable",
            "whether a library unpacks what an overridden method returns",
        ),
    ),
)

LONGEST = 100


@RULE.on(OverrideReturnsOther)
def an_override_returns_something_else(broken: OverrideReturnsOther, case: Case) -> Finding:
    override, returned = broken.override, broken.returned
    place = Place(override.source.file, returned.lineno) if returned else override.place
    text = code(override.source.segment(returned)) if returned else "something else"
    base = override.base
    request = returned_on_request(base.function, len(broken.wanted)) if base else None
    return case.finding(
        place,
        f"`{override.name}` ends with {text}, but `{broken.caller.function}` unpacks"
        f" {counted(len(broken.wanted), 'value')} from it: {code(', '.join(broken.wanted))}.",
        facts=tuple(facts(broken, request)),
        why=why(request),
        remedies=remedies(broken, request, case),
    )


def why(request: ReturnedOnRequest | None) -> str:
    if request is None:
        return "An override must return what the overridden method returns."
    return (
        f"Called with `{request.asked_by}`, the overridden method returns"
        f" `({', '.join(request.parts)})`, and the override must do the same."
    )


def facts(broken: OverrideReturnsOther, request: ReturnedOnRequest | None) -> Iterator[Fact]:
    override, frame = broken.override, broken.caller
    yield Fact("it takes", code(signature(override.function)))
    if request is not None and override.base is not None:
        parts = ", ".join(request.parts)
        yield Fact(
            f"{override.base.owner} returns",
            f"`({parts}) if {request.asked_by} else {request.alone}`",
        )
    place = Place(frame.place.file, frame.place.line)
    yield Fact("called at", f"{place}  {shortened(' '.join(frame.line.split()), LONGEST)}")


def remedies(
    broken: OverrideReturnsOther, request: ReturnedOnRequest | None, case: Case
) -> Iterator[Remedy]:
    source, function = broken.override.source, broken.override.function
    value = broken.returned.value if broken.returned is not None else None
    if value is None or request is None or request.alone not in request.parts:
        return
    taken = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    bound = set(names_within(function, ast.Store))
    others = [part for part in request.parts if part != request.alone]
    if request.asked_by not in taken or not all(part in bound for part in others):
        return
    alone = source.segment(value)
    parts = ", ".join(alone if part == request.alone else part for part in request.parts)
    text = f"({parts}) if {request.asked_by} else {alone}"
    at = case.expression(source, value)
    yield ReplaceWith(at=at, text=text, words=f"Return both where the caller asks: `{text}`.")
