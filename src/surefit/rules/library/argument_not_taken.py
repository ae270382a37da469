"""A call gives an argument by a name that the installed version of the library does not take.

## What happens
Libraries rename and drop arguments: `evaluation_strategy` became `eval_strategy`, the Trainer's
`tokenizer` became `processing_class`. A script that was written for another version stops with
`got an unexpected keyword argument`; a misspelled name does the same.

## Why it matters
Python names one argument at a time: after one is mended, the next one fails. And the message says
neither which version is installed nor what the argument is called now.

## What to do
Write the name that the installed version takes. What moved to a class of settings, give to that.
What has no successor, remove.

## How it is recognised
The failing expression is a call, and the signature of the installed function or class has no
argument of a name that the call gives, and does not take any others. What `**settings` gives is
followed back to the key of the dictionary. A new name is proposed only if the signature has it, or
the class of settings that an annotation of the signature names; old names are looked up in the
library's own documentation and warnings, too. In
a script that is only read: the same, by the source of the installed library, which is not imported.
Passed over are calls in a `try`, and under an `if` that asks for a version or a signature.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.arguments import ArgumentsFit
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case
from surefit.laws.contracts.signatures import ArgumentsNotTaken
from surefit.remedies.change import Change
from surefit.remedies.successors import renamed
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"TypeError: .*got an unexpected keyword argument",
    "what the function of the installed version takes",
)
RULE = Rule("SF851", "argument-not-taken", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ArgumentsNotTaken)
def a_name_is_not_taken(broken: ArgumentsNotTaken, case: Case) -> Finding:
    more = "; Python names one such argument at a time, and all of the script are listed here"
    return case.finding(
        broken.place,
        headline(broken),
        facts=facts(broken),
        why="The script was written for another version of the library, or the name is misspelled"
        f"{'' if case.read else more}.",
        remedies=(remedy(broken),),
    )


def headline(broken: ArgumentsNotTaken) -> str:
    names = spoken(code(successor.old) for successor in broken.successors)
    said = f"{broken.signature.words} takes no {names}"
    single = broken.successors[0] if len(broken.successors) == 1 else None
    if single and single.receiver:
        return f"{said}: it is `{single.new}` of `{called(single.receiver)}` there."
    if single and single.settings:
        return f"{said}: it is `{single.new}` of `{single.settings.name}` there."
    return f"{said}: it is called `{single.new}` there." if single and single.new else f"{said}."


def facts(broken: ArgumentsNotTaken) -> Iterator[Fact]:
    for successor in broken.successors:
        yield Fact(code(successor.old), successor.words)
    for other in broken.others:
        for successor in other.successors:
            at = f"of `{other.signature.name}`, {other.source.file}:{successor.key.lineno}"
            yield Fact(f"also {code(successor.old)}", f"{at}, {successor.words}")


def remedy(broken: ArgumentsNotTaken) -> Change:
    """All names of the script at once; without a known successor a name is removed, by choice."""
    others = [successor for other in broken.others for successor in other.successors]
    every = [*broken.successors, *others]
    words = ", ".join(dict.fromkeys(successor.advice for successor in every))
    old = {successor.old for successor in broken.successors}
    stay = [name for name in broken.arguments if name not in old]
    new = [
        known.parameter or known.new
        for known in broken.successors
        if known.new and known.receiver is None
    ]
    line = broken.source.statement_of(broken.call).lineno
    text, place = broken.source.segment(broken.call.func), Place(broken.source.file, line)
    question = broken.question
    return Change(
        to=renamed(broken.source, every),
        words=f"{words[0].upper()}{words[1:]}.",
        must=ArgumentsFit(question, text, (*stay, *new), place) if question else None,
        choice=not broken.explained,
    )
