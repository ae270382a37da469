"""Two matrices are multiplied whose inner sizes differ, and a transposition is missing.

## What happens
`a @ b` takes an `a` whose last size is the last but one of `b`. Queries and keys are both (rows,
positions, features): their product is `q @ k.transpose(-2, -1)`.

## Why it matters
Where there are as many positions as features it runs, and multiplies the wrong axes.

## What to do
`.transpose(-2, -1)` on the one whose axes are in the other order (`.mT` is the same).

## How it is recognised
The failing expression in your own code is a product, the inner sizes of its two tensors differ, and
swapping the last two axes of one makes them equal. If that is so for both, each way is tried. In a
script that is only read, the same by sizes that are known from the source.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.products import InnerSizes
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"shapes cannot be multiplied|Expected size for first two dimensions of batch2",
    "the shapes of both tensors, and whether the axes of one of them are swapped",
)
RULE = Rule("SF309", "product-does-not-fit", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

TURN = ".transpose(-2, -1)"


@RULE.on(InnerSizes)
def inner_sizes_differ(broken: InnerSizes, case: Case) -> Finding | None:
    if not broken.turns:
        return None
    sides = {"left": broken.left, "right": broken.right}
    return case.finding(
        broken.use.place,
        f"{broken.left.name} has {broken.inner[0]} in its last axis, and {broken.right.name}"
        f" {broken.inner[1]} in its last but one: the last two axes of one of them are swapped.",
        facts=(broken.left.fact(), broken.right.fact()),
        why="A product sums over the last axis of one and the last but one of the other.",
        remedies=[
            Append(
                at=sides[side].use,
                suffix=TURN,
                words=f"Swap them back: {code(sides[side].name[1:-1] + TURN)}.",
                must=broken.holds(side, case),
                choice=len(broken.turns) > 1,
                alike=False,
            )
            for side in broken.turns
        ],
    )
