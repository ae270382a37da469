"""The weights of a loss are those of other classes: they were counted in another order.

## What happens
Class weights are computed from how many rows each class has, and a loss takes them by the number of
the class. `value_counts()` and `Counter.most_common()` give the most frequent class first, a
`Counter` the one that came first. Or the weights are the shares themselves, not their inverse.

## Why it matters
Nothing is raised, as there are as many weights as classes. A frequent class gets the weight of a
rare one: the imbalance that the weights were meant to mend becomes worse.

## What to do
Put the counts into the order of the classes: `counts.sort_index()`, `torch.bincount(labels)`,
`[counter[label] for label in sorted(counter)]`. And invert them: rare classes need the greater
weight.

## How it is recognised
Targets of each class were counted at the loss. The weights are inverse to these numbers, to what
the sample can tell, in another order than the one they were given in; or they are in proportion to
them. And the source computes them from a count.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case, Remedy
from surefit.laws.losses.class_weights import WeightsOfOtherClasses, counting_calls, weight_given
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.runs import law_holds
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source, called

RULE = Rule("SF446", "class-weights-misplaced", Severity.ERROR, __doc__)

BY_FREQUENCY = ("value_counts", "sort_values", "most_common", "values")


@RULE.on(WeightsOfOtherClasses)
def weights_are_in_another_order(broken: WeightsOfOtherClasses, case: Case) -> Finding:
    loss = loss_call_at(case, broken.site.place, broken.site.name)
    remedies = list(ways(broken, case, loss)) if loss is not None else []
    at = next((remedy.at for remedy in remedies if remedy.at is not None), broken.use)
    return case.finding(
        at.place,
        broken.said,
        facts=broken.facts,
        why="A loss takes the weight of a class by the number of the class. To balance the"
        " classes, the rarest one needs the greatest weight.",
        remedies=[*remedies, *advice(broken, remedies)],
    )


def advice(
    broken: WeightsOfOtherClasses, remedies: list[Append | ReplaceWith]
) -> list[Remedy | Fix]:
    if remedies:
        return []
    if broken.inverted:
        return [Fix("Give each class the inverse of its number of rows.")]
    return [Fix("Count the rows in the order of the classes: `torch.bincount(labels)`.")]


def ways(
    broken: WeightsOfOtherClasses, case: Case, loss: WrittenLoss
) -> Iterator[Append | ReplaceWith]:
    source, must = loss.source, law_holds(broken)
    calls = sorted(counting_calls(loss), key=lambda call: (call.lineno, call.col_offset))
    for call in calls:
        text = in_order(source, call)
        if text.startswith("."):
            words = f"Put the counts into the order of the classes: `{text}`."
            at = case.expression(source, call)
            yield Append(at=at, suffix=text, words=words, must=must, alike=False)
        elif text:
            words = f"Take the counts in the order of the classes: `{text}`."
            yield ReplaceWith(at=case.expression(source, call), text=text, words=words, must=must)
    weight = weight_given(loss)
    if broken.inverted and weight is not None:
        text = f"1.0 / {source.segment(weight)}"
        if not isinstance(weight, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            text = f"1.0 / ({source.segment(weight)})"
        words = f"Invert the weights: `{text}`."
        yield ReplaceWith(at=case.expression(source, weight), text=text, words=words, must=must)


def in_order(source: Source, call: ast.Call) -> str:
    """What to put behind a count, or in its place, so that it is in the order of the classes."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = called(call)
    if owner is None or name not in BY_FREQUENCY:
        return ""
    if name in ("value_counts", "sort_values"):
        outer = source.parents.get(call)
        ordered = isinstance(outer, ast.Attribute) and outer.attr in ("sort_index", "reindex")
        return "" if ordered else ".sort_index()"
    if name == "most_common":
        return "" if call.args else f"sorted({source.segment(owner)}.items())"
    value, text = source.value_of(owner), source.segment(owner)
    if not isinstance(value, ast.Call) or called(value) != "Counter":
        return ""
    return f"[{text}[label] for label in sorted({text})]"
