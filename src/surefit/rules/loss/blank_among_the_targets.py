"""The blank of a CTC loss is one of the classes that targets name.

## What happens
`nn.CTCLoss` has `blank=0` unless it is told otherwise. Where class 0 is a letter and the extra
output stands last, the loss takes that letter for the blank, and the extra output is never trained
to be it.

## Why it matters
Nothing is raised and the loss falls. The letter can never be read, and a decoder that drops another
index than the blank reads almost nothing right.

## What to do
Pass the index that the decoder drops: `nn.CTCLoss(blank=len(alphabet))`. Or number the letters from
1 and leave 0 to the blank.

## How it is recognised
Targets were counted, within their lengths, that are the blank of the loss. Where the last class is
no target, it is the one that was meant.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.evaluation.evaluation_names import words_of
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.loss_preconditions import BlankAmongTargets
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import OperatorAt
from surefit.remedies.replace import ReplaceWith
from surefit.source.origins import origin
from surefit.source.reading import Source

RULE = Rule("SF438", "blank-among-the-targets", Severity.ERROR, __doc__)


@RULE.on(BlankAmongTargets)
def a_target_is_the_blank(broken: BlankAmongTargets, case: Case) -> Finding:
    site = broken.checked
    loss = loss_call_at(case, site.place, site.name)
    place = broken.use.place
    remedies = ways(broken, case, loss)
    changed = next((way.at for way in remedies if isinstance(way, OperatorAt)), None)
    if loss is not None and names_its_blank(loss) and changed is not None:
        place = changed.place
    elif loss is not None:
        place = loss.place
    return case.finding(
        place,
        f"The blank of the CTC loss is {site.blank}, which is a real class: {site.blanks:,} of"
        f" {site.elements:,} targets are it.",
        facts=broken.facts,
        why="The blank stands between letters and is no letter. A target that is the blank cannot"
        " be told from a gap, and the output meant for the blank is not trained as it.",
        remedies=remedies,
    )


def ways(broken: BlankAmongTargets, case: Case, loss: WrittenLoss | None) -> list[Remedy | Fix]:
    site = broken.checked
    if loss is not None and names_its_blank(loss):
        numbering = list(numbered_from_one(broken, case, loss.source))
        return [*moved_to_the_last(broken, case, loss), *numbering]
    if site.lasts or loss is None or site.blank == site.classes - 1:
        return [
            Fix(
                "Give the model one output more for the blank, or number the classes from 1.",
                why_not_tried="your choice: the model or the targets must change",
            )
        ]
    last = site.classes - 1
    return [
        SetArgument(
            at=case.expression(loss.source, loss.made),
            name="blank",
            value=value,
            words=f"Pass `blank={value}`: class {last}, the last one, is never a target.",
            must=law_holds(broken),
        )
        for value in (*blank_names(loss.source), str(last))
    ]


def names_its_blank(loss: WrittenLoss) -> bool:
    """The script says which class the blank is: then the numbers of the others are wrong, unless
    they are used elsewhere."""
    return loss.source.argument(loss.made, "blank") is not None


def moved_to_the_last(
    broken: BlankAmongTargets, case: Case, loss: WrittenLoss
) -> Iterator[ReplaceWith]:
    """Where the number of a class is what it is looked up by: numbers must stay as they are."""
    site, source = broken.checked, loss.source
    given = source.argument(loss.made, "blank")
    value = origin(source, given) if given is not None else None
    looked_up = {source.segment(node.value) for node in source.every(ast.Subscript)}
    numbered = {source.segment(call.args[0]) for call in numbering_calls(source)}
    if site.lasts or not isinstance(value, ast.Constant) or not looked_up & numbered:
        return
    last = site.classes - 1
    yield ReplaceWith(
        at=case.expression(source, value),
        text=str(last),
        words=f"Let the blank be {last}: this class, the last one, is never a target.",
        must=law_holds(broken),
    )


def numbered_from_one(
    broken: BlankAmongTargets, case: Case, source: Source
) -> Iterator[Remedy | Fix]:
    """`{letter: i for i, letter in enumerate(letters, start=1)}`, where the blank is 0."""
    words = "Number the classes from 1: 0 is the blank."
    calls = list(numbering_calls(source))
    if broken.checked.blank == 0 and len(calls) == 1:
        at = case.expression(source, calls[0])
        must = law_holds(broken)
        yield SetArgument(at=at, name="start", value="1", words=words, must=must)
    else:
        yield Fix("Number the classes so that none of them is the blank.", choice=True)


def numbering_calls(source: Source) -> Iterator[ast.Call]:
    for call in source.calls_named("enumerate"):
        in_a_loop = isinstance(source.parents.get(call), ast.comprehension)
        in_a_dict = any(isinstance(outer, ast.DictComp) for outer in source.up(call))
        if len(call.args) == 1 and not call.keywords and in_a_loop and in_a_dict:
            yield call


def blank_names(source: Source) -> list[str]:
    """Constants of the file that are called so."""
    return [
        name
        for name, binders in source.bindings[source.tree].items()
        if "blank" in words_of(name) and len(binders) == 1 and isinstance(binders[0], ast.Assign)
    ][:1]
