"""The targets of a loss are a list, a tuple or a NumPy array, not a tensor.

## What happens
A loss computes with two tensors: `cross_entropy_loss(): argument 'target' (position 2) must be
Tensor, not list`, or `'list' object has no attribute 'size'`. A plain list comes from labels that
no loader has stacked. A list of tensors comes from a loader: it stacks Python lists place by place,
so that a row `[0, 1, 0]` becomes three tensors with one entry for each row of the batch.

## Why it matters
`torch.stack` of such a list makes the message go away and has the axes the wrong way round: classes
first, rows second.

## What to do
Make a tensor where a row is made: `torch.tensor(labels)`. The loader then stacks rows.

## How it is recognised
The loss that failed was given a tensor of predictions and, for its targets, an array, a list of
numbers with one for each row, or a list of tensors with one for each output.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.failed_losses import (
    INDICES,
    OF_CLASSES,
    FailedLoss,
    failed_loss,
    given_name,
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import in_every_call, must
from surefit.evidence.label_sources import made_in
from surefit.source.edits import Edit, wrapped
from surefit.source.reading import Source

DECIDES = "what the targets are in place of a tensor, and what is in them"
RULE = Rule(
    "SF411",
    "labels-not-a-tensor",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"argument 'target' \(position 2\) must be Tensor, not", DECIDES),
        Symptom("'(list|tuple)' object has no attribute 'size'", DECIDES, "torch/nn/functional.py"),
    ),
)


@dataclass(frozen=True, slots=True)
class Untensored:
    """What the targets are, and the tensor that they are to be."""

    what: str
    shape: tuple[int, ...]
    of_rows: bool
    """A loader stacked lists of the dataset's."""
    total: float | None = None


@RULE.on(Crash)
def targets_are_no_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    found = untensored(loss) if loss else None
    if loss is None or found is None:
        return
    made = made_in(crash, loss, seen) if found.of_rows else None
    name = target_name(crash, loss)
    yield RULE.finding(
        made.place if made else loss.own.place,
        f"{name} is {found.what}, not a tensor: {loss_name(loss)} wants one of"
        f" {shape_of(found.shape)}.",
        facts=(
            Fact(given_name(crash, loss), f"tensor {shape_of(loss.given.shape or ())}"),
            Fact(name, found.what),
            *((Fact("made at", f"{made.place}  {made.text}"),) if made else ()),
        ),
        why="A loader stacks Python lists place by place, not row by row."
        if found.of_rows
        else "A loss computes with tensors, and takes nothing else for one.",
        fixes=(fix(crash, loss, found, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def untensored(loss: FailedLoss) -> Untensored | None:
    target, shape = loss.target, loss.given.shape
    if not shape or len(shape) > 2:
        return None
    wanted = (loss.wanted or ()) if loss.name in OF_CLASSES else shape
    if target.kind == "ndarray":
        return Untensored("a NumPy array", wanted, False) if target.shape == wanted else None
    if target.kind not in ("list", "tuple") or not target.members:
        return None
    members = list(target.members.values())
    numbers = [one.scalar for one in members if type(one.scalar) in (int, float, bool)]
    if len(numbers) == len(members) == target.length and wanted == (len(members),):
        total = float(sum(number for number in numbers if isinstance(number, int | float)))
        what = f"a {target.kind} of {counted(len(members), 'number')}"
        return Untensored(what, wanted, False, total)
    if loss.name not in OF_CLASSES and are_columns(members, shape):
        what = f"a {target.kind} of {counted(len(members), 'tensor')}, {shape_of(shape[:1])} each"
        return Untensored(what, shape, True)
    return None


def are_columns(members: list[Value], shape: tuple[int, ...]) -> bool:
    """One tensor for each output, with an entry for each row."""
    shapes = {one.shape for one in members}
    return len(shape) == 2 and len(members) == shape[1] and shapes == {shape[:1]}


def fix(crash: Crash, loss: FailedLoss, found: Untensored, seen: Recording) -> Fix:
    classes = loss.name in OF_CLASSES
    begin, end = conversion(loss, found)
    said = f"Make a tensor of them: {code(f'{begin}...{end}')}."
    edit = change(crash, loss, found, begin, end, seen)
    if edit is None:
        why_not = "where a row's labels are made was not found in your source"
        return Fix(said, why_not_tried=why_not)
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        found.shape,
        INDICES if classes else (loss.given.dtype or "float32",),
        None if classes else prod(found.shape),
        found.total,
        loss.given.shape,
    )
    return Fix(said, edit, must(crash, seen, gets))


def conversion(loss: FailedLoss, found: Untensored) -> tuple[str, str]:
    """What stands before and behind the labels, of the kind of number that the loss takes."""
    if loss.target.kind == "ndarray":
        right = loss.target.dtype in (INDICES if loss.name in OF_CLASSES else (loss.given.dtype,))
        cast = ".long()" if loss.name in OF_CLASSES else ".float()"
        return "torch.from_numpy(", ")" if right else f"){cast}"
    floats = loss.name not in OF_CLASSES or found.of_rows
    return "torch.tensor(", ", dtype=torch.float)" if floats else ")"


def change(
    crash: Crash, loss: FailedLoss, found: Untensored, begin: str, end: str, seen: Recording
) -> Edit | None:
    if found.of_rows:
        made = made_in(crash, loss, seen)
        if made is None or made.of != "row":
            return None
        return imported(wrapped(made.source, made.node, begin, end), made.source)
    node, source = loss.target_node, loss.source
    if node is None or source is None:
        return None
    edit = in_every_call(loss, node, lambda one: wrapped(source, one, begin, end))
    return imported(edit, source) if edit else None


def imported(edit: Edit, source: Source) -> Edit | None:
    """Only where the file already knows torch by its name."""
    return edit if "torch" in source.bindings[source.tree] else None
