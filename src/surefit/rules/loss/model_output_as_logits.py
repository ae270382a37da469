"""The whole output of a model was given to a loss that wants a tensor.

## What happens
A model of transformers returns an object with `logits` and more in it; an LSTM, an attention layer
or a model of your own returns a tuple. A loss wants the tensor inside: `cross_entropy_loss():
argument 'input' (position 1) must be Tensor, not SequenceClassifierOutput`.

## Why it matters
`return_dict=False` or an index chosen at random stops the message and can train on the wrong
member: the first of a tuple is the loss as soon as labels are given.

## What to do
Give the loss the member that it wants: `model(...).logits`.

## How it is recognised
The loss that failed was given no tensor for its predictions, and what it was given has exactly one
member that is one of floats with as many rows as the targets.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, spoken
from surefit.evidence.failed_losses import (
    OF_CLASSES,
    FailedLoss,
    failed_loss,
    given_name,
    loss_name,
)
from surefit.evidence.label_fixes import at_every_call, must

DECIDES = "what the loss was given for its predictions, and which member is the tensor it wants"
RULE = Rule(
    "SF408",
    "model-output-as-logits",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"argument 'input' \(position 1\) must be Tensor, not", DECIDES),
        Symptom("object has no attribute 'size'", DECIDES, "torch/nn/functional.py"),
        Symptom("object has no attribute 'log_softmax'", DECIDES),
    ),
)

LOGITS = "logits"


@dataclass(frozen=True, slots=True)
class Meant:
    """The member that is meant, as it is written behind the output."""

    text: str
    value: Value


@RULE.on(Crash)
def loss_was_given_no_tensor(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    if loss is None or loss.given.shape is not None or loss.target.shape is None:
        return
    if not loss.given.members:
        return
    meant = member_meant(loss)
    given = given_name(crash, loss)
    yield RULE.finding(
        loss.own.place,
        headline(given, loss, meant),
        facts=tuple(facts(loss)),
        why=f"{loss_name(loss)} computes with one tensor of predictions and takes no object with"
        " several.",
        fixes=(fix(crash, loss, meant, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def member_meant(loss: FailedLoss) -> Meant | None:
    """`logits`, or the only member that fits the targets."""
    output = loss.given
    logits = output.members.get(LOGITS)
    if logits is not None and fits(loss, logits):
        plain = output.kind in ("dict", "OrderedDict")
        return Meant('["logits"]' if plain else ".logits", logits)
    fitting = [(name, one) for name, one in output.members.items() if fits(loss, one)]
    if len(fitting) != 1 or output.kind not in ("tuple", "list", "dict"):
        return None
    name, one = fitting[0]
    return Meant(f'["{name}"]' if output.kind == "dict" else f"[{name}]", one)


def fits(loss: FailedLoss, member: Value) -> bool:
    """Of floats, and of a shape that the loss takes with these targets."""
    shape, target = member.shape, loss.target.shape or ()
    if shape is None or not (member.dtype or "").startswith(("float", "bfloat")):
        return False
    if loss.name in OF_CLASSES and shape != target:
        return len(shape) == len(target) + 1 and (*shape[:1], *shape[2:]) == target
    return shape == target


def headline(given: str, loss: FailedLoss, meant: Meant | None) -> str:
    a = "an" if loss.given.kind[:1] in "AEIOU" else "a"
    said = f"{given} is {a} {loss.given.kind}, not a tensor"
    if meant is not None:
        return f"{said}: {loss_name(loss)} wants its `{meant.text}`, {sizes(meant.value)}."
    return f"{said}, and {loss_name(loss)} wants one of its members."


def sizes(value: Value) -> str:
    return shape_of(value.shape or ())


def facts(loss: FailedLoss) -> Iterator[Fact]:
    tensors = [
        f"{name} {sizes(one)}" for name, one in loss.given.members.items() if one.shape is not None
    ]
    yield Fact("tensors in it", spoken(tensors) if tensors else "none")
    yield Fact("targets", f"{loss.target.dtype} {shape_of(loss.target.shape or ())}")


def fix(crash: Crash, loss: FailedLoss, meant: Meant | None, seen: Recording) -> Fix:
    if meant is None:
        return Fix(
            "Give the loss the tensor of predictions: `.logits` of an output, an index of a tuple.",
            why_not_tried="which member holds the predictions, only you know",
        )
    said = f"Give the loss the tensor inside: {code(meant.text)} behind {given_name(crash, loss)}."
    node = loss.given_node
    edit = at_every_call(loss, node, meant.text) if node is not None else None
    if edit is None:
        return Fix(said, why_not_tried="the call of the loss was not found in your source")
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        loss.target.shape or (),
        shape=meant.value.shape,
    )
    return Fix(said, edit, must(crash, seen, gets))
