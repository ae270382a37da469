"""Class indices reach a binary cross entropy, which takes a 0 or 1 for every output.

## What happens
`BCEWithLogitsLoss` compares each of C outputs with a target of its own, [N, C] with [N, C]; class
indices [N] have one number per row: `Target size (torch.Size([8])) must be the same as input size`.
A classifier of transformers chooses this loss for `problem_type="multi_label_classification"` and,
where that is not set, for float labels.

## Why it matters
Repeated until the sizes agree, class indices above 1 are targets that no probability can reach.

## What to do
One class per row: `CrossEntropyLoss`, or `problem_type="single_label_classification"`. Several per
row: rows of zeros and ones. Two classes in one output: a last layer of width 1.

## How it is recognised
A binary cross entropy over several outputs was given targets with one entry per row, each an
integer below the number of outputs.
"""

import ast
from dataclasses import replace

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.contracts.losses import INDICES, TargetShape
from surefit.lineage.properties import floating
from surefit.remedies.append import Append
from surefit.remedies.cast import Cast
from surefit.remedies.replace import ReplaceCallee, ReplaceWith
from surefit.remedies.together import Together

SYMPTOM = Symptom(
    r"Target size \(.*\) must be the same as input size",
    "whether the targets are class indices, one for each row",
)
RULE = Rule("SF410", "class-indices-in-binary-loss", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

BINARY = "binary_cross_entropy_with_logits"
SINGLE = '"single_label_classification"'


@RULE.on(TargetShape)
def binary_loss_was_given_class_indices(broken: TargetShape, case: Case) -> Finding | None:
    if not holds_class_indices(broken) or broken.labels is None:
        return None
    target, predictions, shape = broken.target, broken.predictions, broken.predictions.shape
    setting = problem_type(broken, case)
    floats = None
    if broken.inside and setting is None and target.dtype not in INDICES:
        floats = case.lineage(target).birth(of=floating)
    loss = None if broken.inside else case.constructor_of_callee(broken.use)
    must = replace(broken.gets(INDICES, target_shape=shape[:1], shape=shape), name="cross_entropy")
    words = f"If a row has one class: `problem_type={SINGLE}`."
    several = "If a row has several classes, give rows of zeros and ones as floats."
    return case.finding(
        (setting or floats or loss or broken.use).place,
        f"{target.name} holds one class index per row, {target.shape_words}; {broken.called} takes"
        f" a 0 or 1 for each of {shape[-1]} outputs, {predictions.shape_words}.",
        facts=(
            target.fact(broken.labels.words),
            predictions.fact(counted(shape[-1], "output")),
            *fact_at("floats from", floats),
        ),
        why="A classifier of transformers without a `problem_type` takes float labels for"
        " multi-label ones."
        if floats
        else "A binary loss asks of every output whether it is on; a class index says which one.",
        remedies=(
            ReplaceWith(at=setting, text=SINGLE, words=words, must=must, choice=True),
            Cast(at=floats, to="int64", value=floats.value if floats else None, must=must),
            cross_entropy(broken, case, loss, must),
            Fix(several, choice=True),
        ),
    )


def holds_class_indices(broken: TargetShape) -> bool:
    """With more than two outputs, zeros and ones alone could be one column of many."""
    shape, target, labels = broken.predictions.shape, broken.target.shape, broken.labels
    if broken.loss != BINARY or len(shape) != 2 or shape[1] < 2 or shape[0] == shape[1]:
        return False
    if target not in (shape[:1], (shape[0], 1)) or labels is None:
        return False
    return labels.are_classes(shape[1]) and (shape[1] == 2 or labels.different != 2)


def cross_entropy(
    broken: TargetShape, case: Case, loss: Written | None, must: LossGets
) -> Together:
    """The constructor of the loss becomes another; float labels are cast for the call."""
    call = case.node(loss)
    bare = isinstance(call, ast.Call) and not call.args and not call.keywords
    at = loss if bare and len(broken.target.shape) == 1 else None
    other = ReplaceCallee(at=at, name="CrossEntropyLoss", module="torch.nn", words="")
    cast = Append(at=broken.target.use, suffix=".long()", words="", alike=False)
    return Together(
        parts=(other,) if broken.target.dtype in INDICES else (other, cast),
        words="If a row has one class, use `nn.CrossEntropyLoss`, which takes class indices.",
        must=must,
        choice=True,
    )


def problem_type(broken: TargetShape, case: Case) -> Expression | None:
    """The one expression in the user's file that chooses the kind of problem for a model."""
    source = case.source(broken.use.place)
    if source is None or not broken.inside:
        return None
    values = [key.value for key in source.every(ast.keyword) if key.arg == "problem_type"]
    values += [
        node.value
        for node in source.every(ast.Assign)
        if any(getattr(target, "attr", "") == "problem_type" for target in node.targets)
    ]
    return case.expression(source, values[0]) if len(values) == 1 else None
