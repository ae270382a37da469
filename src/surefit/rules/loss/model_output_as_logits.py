"""The whole output of a model was given to a loss that takes a tensor.

## What happens
A model of transformers returns an object with `logits` and more in it; an LSTM, an attention layer
or a model of your own returns a tuple. A loss takes the tensor inside: `cross_entropy_loss():
argument 'input' (position 1) must be Tensor, not SequenceClassifierOutput`.

## Why it matters
`return_dict=False` or an index chosen at random stops the message and can train on the wrong
member: the first of a tuple is the loss as soon as labels are given.

## What to do
Give the loss the member that it takes: `model(...).logits`.

## How it is recognised
The predictions of the loss are no tensor, and what was given has exactly one floating point member
whose shape goes with the targets.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, spoken
from surefit.laws.case import Case
from surefit.laws.contracts.losses import NotATensor, shapes_fit
from surefit.remedies.append import Append

DECIDES = "what the loss was given for its predictions, and which member is the tensor it takes"
SYMPTOMS = (
    Symptom(r"argument 'input' \(position 1\) must be Tensor, not", DECIDES),
    Symptom("object has no attribute 'size'", DECIDES, "torch/nn/functional.py"),
    Symptom("object has no attribute 'log_softmax'", DECIDES),
)
RULE = Rule("SF408", "model-output-as-logits", Severity.ERROR, __doc__, symptoms=SYMPTOMS)


@RULE.on(NotATensor)
def loss_was_given_a_whole_output(broken: NotATensor, case: Case) -> Finding | None:
    output, target = broken.predictions, broken.target
    if output.value.shape is not None or target.value.shape is None or not output.value.members:
        return None
    member = member_that_fits(broken)
    kind = output.value.kind
    article = "an" if kind[:1] in "AEIOU" else "a"
    needs = f"takes its `{member[0]}`, {sizes(member[1])}" if member else "takes one of its members"
    tensors = [
        f"{name} {sizes(value)}" for name, value in output.value.members.items() if value.shape
    ]
    return case.finding(
        broken.use.place,
        f"{output.name} is {article} {kind}, not a tensor; {broken.called} {needs}.",
        facts=(Fact("tensors in it", spoken(tensors) if tensors else "none"), target.fact()),
        why=f"{broken.called} computes with one tensor of predictions.",
        remedies=(
            Append(
                at=output.use,
                suffix=member[0],
                words=f"Give the loss the tensor inside: {code(output.name[1:-1] + member[0])}.",
                must=broken.gets(shape=member[1].shape),
            )
            if member
            else Fix("Give the loss the tensor of predictions inside it.", choice=True),
        ),
    )


def member_that_fits(broken: NotATensor) -> tuple[str, Value] | None:
    """How the member is written, and what it is: `logits`, or the only one that fits."""
    output = broken.predictions.value
    fitting = {name: value for name, value in output.members.items() if fits(broken, value)}
    keyed = output.kind in ("dict", "OrderedDict", "BatchEncoding")
    if "logits" in fitting:
        return '["logits"]' if keyed else ".logits", fitting["logits"]
    if len(fitting) != 1 or output.kind not in ("tuple", "list", "dict"):
        return None
    name, value = next(iter(fitting.items()))
    return f'["{name}"]' if keyed else f"[{name}]", value


def fits(broken: NotATensor, member: Value) -> bool:
    if member.shape is None or not (member.dtype or "").startswith(("float", "bfloat")):
        return False
    target = broken.target.shape
    return member.shape == target or shapes_fit(broken.loss, member.shape, target)


def sizes(value: Value) -> str:
    return shape_of(value.shape or ())
