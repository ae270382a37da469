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

In a script that is only read: the predictions are the whole output of a model of transformers, or
of a class in the file whose `forward` gives a tuple or a dictionary at every `return`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script, Value
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
from surefit.evidence.read_losses import losses
from surefit.evidence.read_models import loaded_model
from surefit.evidence.read_tuples import of_own_model
from surefit.source.definitions import definition
from surefit.source.edits import appended
from surefit.source.reading import Source

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
ONLY_READ = "the script was read, not run"


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


@RULE.on(Script)
def a_loss_is_given_no_tensor(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for loss in losses(source) if source else ():
        assert source is not None
        output = whole_output(source, loss.given)
        if output is None:
            continue
        kind, member = output
        name = code(source.segment(loss.given))
        edit = appended(source, loss.given, member) if member else None
        yield RULE.finding(
            Place(source.file, loss.call.lineno),
            f"{name} is {kind}, not a tensor, and `{loss.shown}` wants one of its members.",
            why=f"`{loss.shown}` computes with one tensor of predictions and takes no object with"
            " several.",
            fixes=(
                Fix(
                    f"Give the loss {name[:-1]}{member}`."
                    if member
                    else "Give the loss the member that it wants.",
                    edit,
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )


def whole_output(source: Source, node: ast.expr) -> tuple[str, str] | None:
    """What a model gave back, in words, and the member that is meant, where that has a name."""
    call = definition(source, node) if isinstance(node, ast.Name) else node
    if not isinstance(call, ast.Call):
        return None
    kind = loaded_model(source, call.func)
    plain = source.argument(call, "return_dict")
    if kind and plain is None and "For" in kind:
        return f"the whole output of `{kind}`", ".logits"
    found = of_own_model(source, call)
    if found and all(isinstance(one, ast.Tuple) for one in found):
        counts = {len(one.elts) for one in found if isinstance(one, ast.Tuple)}
        return f"a tuple of {counts.pop()} outputs" if len(counts) == 1 else "a tuple", ""
    if found and all(isinstance(one, ast.Dict) for one in found):
        keys = [one.keys for one in found if isinstance(one, ast.Dict)]
        named = all(any(is_logits(key) for key in some) for some in keys)
        return "a dictionary of outputs", '["logits"]' if named else ""
    return None


def is_logits(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == LOGITS
