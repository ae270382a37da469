"""A metric of ranked scores is computed on decisions, 0 or 1 for each row.

## What happens
ROC AUC and average precision want a score for each row and try every threshold on it. Given
predictions that were compared with a threshold already (`probs > 0.5`, `argmax`), there is one
threshold left: the AUC of decisions is the balanced accuracy of this threshold.

## Why it matters
No library objects: 0 and 1 are numbers. The value is lower than the real one, and changes in steps.

## What to do
Give the metric the logits or probabilities, before they are compared with a threshold.

## How it is recognised
The area under the curve is computed from the scores of the evaluation and from the decisions that
follow from them; the number reported under that name is the second and not the first. Or a function
of scikit-learn or torchmetrics that ranks is given nothing but zeros and ones.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.evaluation.metric_variants import MISTAKES
from surefit.laws.evaluation.reported_words import misreport
from surefit.laws.invariants.metric_inputs import RankedDecisions
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.remedies.metrics import changed, scores_given

RULE = Rule("SF587", "metric-of-decisions", Severity.ERROR, __doc__)

WHY = (
    "A curve over thresholds needs scores. Decisions leave one threshold: the area is that of two"
    " straight lines."
)


@RULE.on(Misreported)
def decisions_are_ranked(broken: Misreported, case: Case) -> Finding | None:
    if broken.mistake.rule != RULE.name:
        return None
    edits = [scores_given(case, call) for call in broken.nodes[:1]]
    return misreport(broken, case, WHY, *(changed(broken, edit) for edit in edits))


@RULE.on(RankedDecisions)
def a_library_ranks_decisions(broken: RankedDecisions, case: Case) -> Finding | None:
    edit = scores_given(case, broken.use)
    if edit is None:
        return None
    remedy = Change(to=edit, words=MISTAKES["decisions for scores"].advice, must=law_holds(broken))
    return case.finding(
        broken.use.place, broken.said, facts=broken.facts, why=WHY, remedies=(remedy,)
    )
