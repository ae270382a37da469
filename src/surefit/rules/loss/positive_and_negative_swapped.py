"""A triplet loss has the negative where the positive belongs.

## What happens
`F.triplet_margin_loss(anchor, positive, negative)` pulls the second argument to the anchor and
pushes the third away. They are given in the other order.

## Why it matters
The loss falls as it should. What belongs together is pushed apart: the right row is retrieved less
often than by chance.

## What to do
Swap the two arguments, or pass them by name: `positive=..., negative=...`.

## How it is recognised
In the graph the positive is the negative with its rows in another order (`roll`, an index, `flip`),
as negatives of the same batch are made of its positives. Or the names of the arguments say it, by
all that the three do not share: `x[a]`, `x[n]`, `x[p]`.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.loss_preconditions import TripletSwapped
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.patches import Edit, Replace

RULE = Rule("SF440", "positive-and-negative-swapped", Severity.ERROR, __doc__)


@RULE.on(TripletSwapped)
def the_negative_is_pulled_to_the_anchor(broken: TripletSwapped, case: Case) -> Finding:
    first = f"`{broken.positive.text}`" if broken.positive else "what is given as positive"
    second = f"`{broken.negative.text}`" if broken.negative else "what is given as negative"
    return case.finding(
        broken.use.place,
        "The positive and the negative of the triplet loss are swapped: the order is anchor,"
        f" positive, negative, and {first} stands where the positive belongs.",
        facts=broken.facts,
        why=f"{broken.said} The loss pulls {first} to the anchor and pushes {second} away:"
        " matching pairs are pushed apart.",
        remedies=(
            Change(
                to=exchanged(broken),
                words=f"Swap them: {second} as positive, {first} as negative.",
                must=law_holds(broken),
            ),
        ),
    )


def exchanged(broken: TripletSwapped) -> Edit | None:
    first, second = broken.positive, broken.negative
    if first is None or second is None or first.span is None or second.span is None:
        return None
    changes = (Replace(first.span, second.text), Replace(second.span, first.text))
    return Edit(first.place.file, changes)
