"""The targets of a loss have a dtype that the loss does not take.

## What happens
Cross entropy takes class indices as int64 (`expected target dtype to be Long or Byte`), binary
cross entropy floats like its predictions (`Found dtype Long but expected Float`). The dtype usually
comes from far away: a pandas column with a blank cell is float64 and stays so after `dropna`;
`torch.tensor` keeps what it is given.

## Why it matters
The cure that the message suggests, `model.double()`, doubles the model and still fails.

## What to do
Convert the labels once, where they are created: `.long()` or `astype("int64")` for classes,
`.float()` for binary and multi-label targets.

## How it is recognised
The loss was given targets of the right shape and a dtype that it does not take. Class indices must
all be integers and classes that the predictions have; where some are not, that is said instead.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import counted
from surefit.laws.along import along
from surefit.laws.case import Case
from surefit.laws.contracts.losses import TargetDtype
from surefit.lineage.properties import dtype
from surefit.remedies.cast import Cast

DECIDES = "which dtype the targets have, and whether all of them are integers"
SYMPTOMS = (
    Symptom("expected target dtype to be Long or Byte", DECIDES),
    Symptom("result type Float can't be cast to the desired output type", DECIDES),
    Symptom("Found dtype (Long|Double|Int|Bool) but expected Float", DECIDES),
    Symptom("expected scalar type Long but found", DECIDES),
)
RULE = Rule("SF404", "label-dtype", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(TargetDtype)
def targets_have_a_dtype_the_loss_does_not_take(broken: TargetDtype, case: Case) -> Finding | None:
    target, predictions, labels = broken.target, broken.predictions, broken.labels
    if labels is None:
        return None
    if broken.takes == "int64":
        if not labels.whole:
            return measurements(broken, case)
        if labels.outside(broken.classes):
            return None
    lineage = case.lineage(target)
    places = along(lineage, of=dtype(target.dtype))
    birth = places[0] if places else None
    table = any(producer.value.kind in ("Series", "DataFrame") for producer in lineage.all)
    takes = predictions.dtype
    blank = table and target.dtype == "float64"
    return case.finding(
        (birth or broken.use).place,
        f"{target.name} is {target.dtype}; {broken.called} takes {broken.takes}"
        f"{' class indices' if broken.takes == 'int64' else ', like its predictions'}.",
        facts=(
            target.fact(labels.words),
            predictions.fact(),
            *fact_at("used at", broken.use if birth else None),
        ),
        ruled_out=(Fact("the model", f"{predictions.name} is {takes}, as it should be"),),
        why="A loss does not convert its targets"
        + ("; a pandas column with a blank cell is float64." if blank else "."),
        remedies=(
            *(Cast(at=at, to=broken.takes, value=at.value, must=broken.holds()) for at in places),
            Cast(at=target.use, to=broken.takes, must=broken.holds()),
        ),
    )


def measurements(broken: TargetDtype, case: Case) -> Finding:
    """Not class indices in another dtype: there is nothing to convert."""
    missing = counted(broken.target.value.not_finite or 0, "label")
    text = "If these are measurements, use a loss for numbers: `nn.MSELoss` with one output."
    not_finite: tuple[Fact, ...] = ()
    if broken.target.value.not_finite:
        text = "Drop the rows without a label, then convert: `.long()`."
        not_finite = (Fact("not finite", f"{missing} (NaN: a missing label)"),)
    shown = broken.target.fact(broken.labels.words if broken.labels else "")
    return case.finding(
        broken.use.place,
        f"{broken.target.name} is {broken.target.dtype} and not all of it integers:"
        f" {broken.called} takes class indices.",
        facts=(shown, *not_finite, broken.predictions.fact()),
        why="A class index is an integer; these are measurements, or labels are missing.",
        remedies=(Fix(text, choice=True),),
    )
