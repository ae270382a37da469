"""The targets of a loss are a list, a tuple or a NumPy array, not a tensor.

## What happens
A loss computes with two tensors: `argument 'target' (position 2) must be Tensor, not list`, or
`'list' object has no attribute 'size'`. A plain list comes from labels that no loader has stacked.
A list of tensors comes from a loader, which stacks Python lists index by index: a row `[0, 1, 0]`
becomes three tensors with one entry for each row of the batch.

## Why it matters
`torch.stack` of such a list stops the message and has the axes swapped: classes first, rows second.

## What to do
Make a tensor where a row is created: `torch.tensor(labels)`. The loader then stacks rows.

## How it is recognised
The loss was given a tensor of predictions and, for its targets, an array, a list of numbers with
one for each row, or a list of tensors with one for each output.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import INDICES, OF_CLASSES, NotATensor
from surefit.lineage.producers import Producer
from surefit.lineage.properties import kind
from surefit.remedies.wrap import Wrap

DECIDES = "what the targets are in place of a tensor, and what is in them"
SYMPTOMS = (
    Symptom(r"argument 'target' \(position 2\) must be Tensor, not", DECIDES),
    Symptom("'(list|tuple)' object has no attribute 'size'", DECIDES, "torch/nn/functional.py"),
)
RULE = Rule("SF411", "labels-not-a-tensor", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@dataclass(frozen=True, slots=True)
class Targets:
    """What the targets are, and the tensor that they should be."""

    what: str
    shape: tuple[int, ...]
    stacked: bool = False
    """A loader stacked lists of the dataset's, index by index."""
    total: float | None = None


@RULE.on(NotATensor)
def targets_are_no_tensor(broken: NotATensor, case: Case) -> Finding | None:
    targets = targets_of(broken)
    if targets is None:
        return None
    row = case.lineage(broken.target).birth(of=kind("list")) if targets.stacked else None
    return case.finding(
        (row or broken.use).place,
        f"{broken.target.name} is {targets.what}, not a tensor; {broken.called} takes one of"
        f" {shape_of(targets.shape)}.",
        facts=(broken.predictions.fact(), *fact_at("rows from", row)),
        why="A loader stacks Python lists index by index, not row by row."
        if targets.stacked
        else "A loss computes with tensors and converts nothing.",
        remedies=remedies(broken, targets, row),
    )


def targets_of(broken: NotATensor) -> Targets | None:
    value, shape = broken.target.value, broken.predictions.shape
    if not shape or len(shape) > 2:
        return None
    expected = broken.expected if broken.loss in OF_CLASSES else shape
    if value.kind == "ndarray":
        return Targets("a NumPy array", expected) if value.shape == expected else None
    if value.kind not in ("list", "tuple") or not value.members:
        return None
    members = list(value.members.values())
    numbers = [member.scalar for member in members if isinstance(member.scalar, int | float)]
    if len(numbers) == len(members) == value.length and expected == (len(members),):
        what = f"a {value.kind} of {counted(len(members), 'number')}"
        return Targets(what, expected, total=float(sum(numbers)))
    if broken.loss not in OF_CLASSES and are_columns(members, shape):
        what = f"a {value.kind} of {counted(len(members), 'tensor')}, {shape_of(shape[:1])} each"
        return Targets(what, shape, stacked=True)
    return None


def are_columns(members: list[Value], shape: tuple[int, ...]) -> bool:
    """One tensor for each output, with an entry for each row."""
    shapes = {member.shape for member in members}
    return len(shape) == 2 and len(members) == shape[1] and shapes == {shape[:1]}


def remedies(broken: NotATensor, targets: Targets, row: Producer | None) -> Iterator[Remedy]:
    classes = broken.loss in OF_CLASSES
    before, after = "torch.tensor(", ")" if classes else ", dtype=torch.float)"
    if broken.target.value.kind == "ndarray":
        dtypes = INDICES if classes else (broken.predictions.dtype,)
        cast = ".long()" if classes else ".float()"
        before, after = "torch.from_numpy(", ")" if broken.target.dtype in dtypes else f"){cast}"
    at = row if targets.stacked else broken.target.use
    yield Wrap(
        at=at,
        before=before,
        after=after,
        words=f"Make a tensor of them: {code(f'{before}{at.text if at else ...}{after}')}.",
        must=LossGets(
            name=broken.loss,
            place=broken.place,
            target_shape=targets.shape,
            target_dtypes=INDICES if classes else (broken.predictions.dtype,),
            supervised=None if classes else prod(targets.shape),
            total=targets.total,
            shape=broken.predictions.shape,
        ),
        imports="torch",
    )
