"""A mask has fewer axes than the attention scores, and its rows are lined up with the wrong axis.

## What happens
Attention scores have the axes (N, heads, L, S), a key padding mask (N, S). Axes are lined up from
the right: the rows of the mask meet the axis L, and do not fit.

## Why it matters
Where there are as many rows as positions it runs, and every row hides positions of another one.

## What to do
Axes of size 1 where the mask has none: `mask[:, None, None, :]` for (N, S), `mask.unsqueeze(1)` for
(N, L, S).

## How it is recognised
A mask is applied to a tensor in your own code (`masked_fill`, `where`,
`scaled_dot_product_attention`), has fewer axes, does not fit from the right, and fits once axes are
added after its rows. In a script that is only read, the same by sizes that are written there.
"""

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.contracts.masks import MaskAxes
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton",
    "whether one of the two is a mask with fewer axes, whose rows meet another axis",
)
RULE = Rule("SF310", "mask-lacks-axes", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(MaskAxes)
def rows_of_the_mask_meet_another_axis(broken: MaskAxes, case: Case) -> Finding:
    mask, over, (rows, axis, size) = broken.mask, broken.over, broken.meets
    fitting = code(mask.name[1:-1] + broken.index)
    return case.finding(
        broken.use.place,
        f"{mask.name} is {mask.shape_words} and {over.name} {over.shape_words}: the {rows} rows of"
        f" the mask meet axis {axis}, which has the size {size}.",
        facts=(over.fact(), mask.fact(), Fact("it fits as", fitting)),
        why="Axes are lined up from the right, and missing ones are added before the rows; with"
        f" {size} rows it would run, and hide positions of other rows.",
        remedies=(
            Append(
                at=mask.use,
                suffix=broken.index,
                words=f"Add {counted(broken.index.count('None'), 'axis')} of size 1 after its rows:"
                f" {fitting}.",
                must=broken.holds,
                alike=False,
            ),
        ),
    )
