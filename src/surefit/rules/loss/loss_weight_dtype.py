"""The weights of the classes have another dtype than the predictions of the loss.

## What happens
`nn.CrossEntropyLoss(weight=...)` multiplies by the weight of each row's class and converts nothing:
`expected scalar type Float but found Double`. Weights that are computed from counts by NumPy or
scikit-learn are float64, and `torch.from_numpy` and `torch.tensor` keep that; counts themselves are
integers.

## Why it matters
The error comes at the first call of the loss, far from where the weights were computed, and does
not say which of its tensors it is about. To convert the data or the labels does not help.

## What to do
Convert the weights once, where they become a tensor: `torch.from_numpy(weights).float()` or
`torch.tensor(weights, dtype=torch.float32)`.

## How it is recognised
The loss failed with class indices as targets, and its `weight` has another dtype than its
predictions. A second run tells which expression gave it that dtype.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.loss_weights import LossWeightDtype
from surefit.lineage.lineage import Lineage
from surefit.lineage.properties import Property, dtype, tensor_dtype
from surefit.remedies.cast import Cast

SYMPTOM = Symptom(
    "expected scalar type (Float|Double|Half|BFloat16) but found",
    "whether the weights of the classes have another dtype than the predictions",
)
RULE = Rule("SF433", "loss-weight-dtype", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LossWeightDtype)
def class_weights_have_another_dtype(broken: LossWeightDtype, case: Case) -> Finding:
    weight, takes = broken.weight, broken.predictions.dtype
    lineage = case.lineage(weight)
    odd = tensor_dtype(weight.dtype)
    if lineage.birth(of=odd) is None:  # a library has put it together from the user's numbers
        odd = dtype(weight.dtype)
    birth = lineage.birth(of=odd)
    return case.finding(
        (birth or weight.use or broken.use).place,
        f"The weights of the classes that {broken.called} multiplies by are {weight.dtype}, its"
        f" predictions {takes}.",
        facts=(
            Fact("weight", weight.fact().value),
            broken.predictions.fact(),
            *fact_at(f"{weight.dtype} since", birth),
            *fact_at("given as `weight`", weight.use),
            *fact_at("used at", broken.use),
        ),
        ruled_out=(Fact("targets", "class indices of a dtype that the loss takes"),),
        why=why(weight.dtype),
        remedies=remedies(broken, lineage, odd),
    )


def why(has: str) -> str:
    if has == "float64":
        return "NumPy and Python count in float64, and a tensor of their numbers keeps that."
    if has.startswith(("int", "uint")):
        return "Counts are integers, and a loss does not convert its weights."
    return "A loss does not convert its weights to the dtype of its predictions."


def remedies(broken: LossWeightDtype, lineage: Lineage, odd: Property) -> Iterator[Remedy]:
    takes = broken.predictions.dtype
    for producer in along(lineage, of=odd):
        yield Cast(at=producer, to=takes, value=producer.value)
    yield Cast(at=broken.weight.use, to=takes)
