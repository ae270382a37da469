"""A library calls a method that a class of the script overrides, and passes what it does not take.

## What happens
A subclass overrides a method, such as `compute_loss` of a Trainer or `on_log` of a callback, with
the signature of another version of the library, or without the `**kwargs` of the original. The
library calls it as it calls its own method, with every argument that this one takes.

## Why it matters
The traceback ends in a line of the library and shows no line of the override. An older version of
the library would only hide the difference.

## What to do
Give the override the signature of the method that it replaces: name the missing parameter with a
default, or take `**kwargs`.

## How it is recognised
The innermost frame is a library's and calls a method of an object of the user's class. The `def` of
that name does not take a name or a position that the call passes, or demands a parameter that it
does not pass. The library's own signature is read from its installed source.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.overrides import OverrideRefuses
from surefit.laws.values.value_origins import shortened
from surefit.remedies.taking import GiveDefaults, TakeMore
from surefit.source.overrides import positional, signature

RULE = Rule(
    "SF853",
    "override-of-another-signature",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"TypeError: \w+\.\w+\(\) (got an unexpected keyword argument|takes .*positional"
            r"|missing \d+ required)",
            "whether a library calls a method that the script overrides with another signature",
        ),
    ),
)

LONGEST = 100
MOST_NAMED = 2
"""Of more missing names, each is not worth a parameter."""


@RULE.on(OverrideRefuses)
def an_override_does_not_take_what_is_passed(broken: OverrideRefuses, case: Case) -> Finding:
    override = broken.override
    return case.finding(
        override.place,
        f"`{override.name}` {said(broken)}.",
        facts=tuple(facts(broken)),
        why="A library calls an override as it calls its own method: the override must take"
        " everything that this one takes.",
        remedies=remedies(broken),
    )


def said(broken: OverrideRefuses) -> str:
    caller = code(broken.caller.function)
    if broken.names:
        return f"does not take {some(broken.names)}, which {caller} passes"
    if broken.surplus:
        taken = len(positional(broken.override.function))
        passed = counted(taken + broken.surplus, "argument")
        return f"takes {taken:,} of the {passed} that {caller} passes by position"
    return f"demands {some(broken.lacking)}, which {caller} does not pass"


def facts(broken: OverrideRefuses) -> Iterator[Fact]:
    override, frame = broken.override, broken.caller
    yield Fact("it takes", code(signature(override.function)))
    if override.base is not None:
        base = override.base
        yield Fact(f"{base.owner} takes", code(signature(base.function)))
    place = Place(frame.place.file, frame.place.line)
    text = " ".join((frame.expression or frame.line).split())
    yield Fact("called at", f"{place}  {shortened(text, LONGEST)}")


def remedies(broken: OverrideRefuses) -> Iterator[Remedy]:
    source, function, base = broken.override.source, broken.override.function, broken.override.base
    takes_any = base is not None and base.function.args.kwarg is not None
    if broken.surplus:
        first = len(positional(function))
        plain = positional(base.function) if base is not None else []
        names = tuple(arg.arg for arg in plain[first : first + broken.surplus])
        if len(names) == broken.surplus:
            yield TakeMore(source=source, function=function, names=names)
        else:
            yield TakeMore(source=source, function=function, rest="*args")
    elif broken.names and (takes_any or len(broken.names) > MOST_NAMED):
        yield TakeMore(source=source, function=function, rest="**kwargs")
    elif broken.names:
        yield TakeMore(source=source, function=function, names=broken.names)
    if broken.lacking and not broken.names and not broken.surplus:
        yield GiveDefaults(source=source, function=function, names=broken.lacking, choice=True)
