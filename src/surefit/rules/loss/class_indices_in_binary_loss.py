"""Class indices reach a binary cross entropy, which wants a 0 or 1 for every output.

## What happens
`BCEWithLogitsLoss` compares each of C outputs with a target of its own, [N, C] with [N, C]. Class
indices [N] have one number per row: `Target size (torch.Size([8])) must be the same as input size
(torch.Size([8, 3]))`. A classifier of transformers chooses this loss for
`problem_type="multi_label_classification"` and, where it is not told, for float labels.

## Why it matters
Reshaped or repeated until the sizes agree, class indices above 1 are targets that no probability
can reach.

## What to do
One class per row: `CrossEntropyLoss`, or `problem_type="single_label_classification"`. Several per
row: rows of zeros and ones. Two classes in one output: a last layer of width 1.

## How it is recognised
The loss that failed is a binary cross entropy over several outputs; its targets have one entry per
row, and every one of them is a whole number below the number of outputs.

In a script that is only read: sizes are followed through the file, from the lines that make tensors
through layers and `forward`s. The predictions have several outputs per row, the targets one entry.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.failed_losses import (
    INDICES,
    FailedLoss,
    failed_loss,
    given_name,
    inside,
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import must
from surefit.evidence.label_sources import Step, is_tensor, made_in
from surefit.evidence.label_values import LabelValues, label_values, values_in_words
from surefit.interpreter import violations, wording
from surefit.source.edits import Edit, appended, call_becomes, replaced, wrapped
from surefit.source.patches import both
from surefit.source.reading import called

RULE = Rule(
    "SF410",
    "class-indices-in-binary-loss",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Target size \(.*\) must be the same as input size",
            "whether the targets are class indices, one for each row",
        ),
    ),
)

BINARY = "binary_cross_entropy_with_logits"
LAYER, BETTER = "BCEWithLogitsLoss", "CrossEntropyLoss"
PROBLEM = "problem_type"
MEANT = "whether a row has one class or several, only you know"


@RULE.on(Crash)
def binary_loss_was_given_class_indices(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    labels = label_values(seen, crash, loss) if loss and one_for_each_row(loss) else None
    if loss is None or labels is None or not are_indices(loss, labels):
        return
    outputs = (loss.given.shape or ())[-1]
    given, target = given_name(crash, loss), target_name(crash, loss)
    chosen = problem_type(crash, loss, seen) or constructor(loss, seen)
    floats = None if chosen else float_labels(crash, loss, seen)
    place = Place(chosen[0], chosen[1].lineno) if chosen else loss.own.place
    place = floats.place if floats else place
    yield RULE.finding(
        place,
        f"{target} holds one class index per row, {shape_of(loss.target.shape or ())}, and"
        f" {who(crash, loss)} wants a 0 or 1 for each of {outputs} outputs,"
        f" {shape_of(loss.given.shape or ())}.",
        facts=(
            Fact(target, f"{loss.target.dtype}, {values_in_words(labels)}"),
            Fact(given, f"{shape_of(loss.given.shape or ())}, {counted(outputs, 'output')}"),
        ),
        why=why(crash, loss),
        fixes=tuple(fixes(crash, loss, labels, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def one_for_each_row(loss: FailedLoss) -> bool:
    given, target = loss.given.shape, loss.target.shape
    if loss.name != BINARY or not given or len(given) != 2 or given[1] < 2:
        return False
    return target in (given[:1], (given[0], 1)) and given[0] != given[1]


def are_indices(loss: FailedLoss, labels: LabelValues) -> bool:
    """With more than two outputs, zeros and ones alone could be one column of many."""
    outputs = (loss.given.shape or (0,))[-1]
    if not labels.whole or not labels.all_known or labels.outside(outputs):
        return False
    return outputs == 2 or labels.different > 2


def who(crash: Crash, loss: FailedLoss) -> str:
    model = next(inside(crash, loss), None)
    return f"`{loss.name}` in `{model}`" if model else loss_name(loss)


def why(crash: Crash, loss: FailedLoss) -> str:
    if next(inside(crash, loss), None) and loss.target.dtype not in INDICES:
        return (
            f"The labels are {loss.target.dtype}, and a classifier of transformers that is not told"
            " its `problem_type` takes float labels for multi-label ones."
        )
    return "A binary loss asks of every output whether it is on; a class index says which one is."


def float_labels(crash: Crash, loss: FailedLoss, seen: Recording) -> Step | None:
    """Where labels are made whose kind of number alone made a model choose this loss."""
    if next(inside(crash, loss), None) is None or loss.target.dtype in INDICES:
        return None
    if PROBLEM in (loss.source.text if loss.source else ""):
        return None
    made = made_in(crash, loss, seen)
    return made if made is not None and (is_tensor(made) or made.of == "row") else None


def fixes(crash: Crash, loss: FailedLoss, labels: LabelValues, seen: Recording) -> Iterator[Fix]:
    gets = LossGets(
        "cross_entropy",
        Place(loss.own.place.file, loss.own.place.line),
        (loss.given.shape or ())[:1],
        INDICES,
        labels.elements,
        labels.total,
        loss.given.shape,
    )
    chosen = problem_type(crash, loss, seen)
    if chosen is not None:
        source = seen.source(chosen[0])
        text = '"single_label_classification"'
        edit = replaced(source, chosen[1], text) if source else None
        said = f"If a row has one class: `{PROBLEM}={text}`."
        yield Fix(said, edit, must(crash, seen, gets) if edit else None)
    elif (made := float_labels(crash, loss, seen)) is not None:
        if is_tensor(made):
            edit, how = appended(made.source, made.node, ".long()"), f"{made.text}.long()"
        else:
            edit, how = wrapped(made.source, made.node, "int(", ")"), f"int({made.text})"
        said = f"If a row has one class, give whole numbers: {code(how)}."
        yield Fix(said, edit, must(crash, seen, gets))
    elif next(inside(crash, loss), None):
        said = f'If a row has one class: `{PROBLEM}="single_label_classification"`.'
        yield Fix(said, why_not_tried="where the kind of problem is chosen was not found")
    else:
        edit = crossed(loss, seen)
        said = f"If a row has one class, use `nn.{BETTER}`, which takes class indices."
        why_not = "" if edit else "more than the loss would have to change with it"
        yield Fix(said, edit, must(crash, seen, gets) if edit else None, why_not)
    if (loss.given.shape or ())[-1] == 2:
        said = "Or give the model one output, `.squeeze(-1)` it and make the targets floats."
        yield Fix(said, why_not_tried="another width of the model is yours to choose")
    else:
        said = "If a row has several, give rows of zeros and ones: `F.one_hot(...)` as floats."
        yield Fix(said, why_not_tried=MEANT)


def crossed(loss: FailedLoss, seen: Recording) -> Edit | None:
    """The constructor of the loss becomes another; float labels are cast for the call."""
    made = constructor(loss, seen)
    source = seen.source(made[0]) if made else None
    if made is None or source is None or len(loss.target.shape or ()) != 1:
        return None
    call = made[1]
    if call.args or call.keywords:
        return None
    edit = call_becomes(source, call, BETTER, "torch.nn")
    node = loss.target_node
    if loss.target.dtype in INDICES:
        return edit
    if node is None or source is not loss.source:
        return None
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="float"), args=[]):
            return both(edit, replaced(source, node, f"{source.segment(inner)}.long()"))
    return both(edit, appended(source, node, ".long()"))


def constructor(loss: FailedLoss, seen: Recording) -> tuple[str, ast.Call] | None:
    """The call that made the loss, where the user called it by a name for it."""
    text = ast.unparse(loss.call.func) if loss.call is not None else ""
    layer = next((one.layer for one in loss.own.values if one.text == text and one.layer), None)
    source = seen.source(layer.made_at) if layer else None
    line = layer.made_at.line if layer and layer.made_at else None
    found = (
        [one for one in source.calls_in(line) if called(one) == LAYER] if source and line else []
    )
    return (source.file, found[0]) if source is not None and len(found) == 1 else None


def problem_type(crash: Crash, loss: FailedLoss, seen: Recording) -> tuple[str, ast.expr] | None:
    """The one place in the user's file that chooses the kind of problem for a model."""
    source = loss.source
    if (
        source is None
        or next(inside(crash, loss), None) is None
        or seen.source(source.file) is None
    ):
        return None
    found = [one.value for one in source.every(ast.keyword) if one.arg == PROBLEM]
    found += [
        one.value
        for one in source.every(ast.Assign)
        if any(getattr(target, "attr", "") == PROBLEM for target in one.targets)
    ]
    return (source.file, found[0]) if len(found) == 1 else None


@RULE.on(Script)
def targets_would_be_indices(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "indices":
            continue
        inputs = broken.inputs
        target = wording.text_of(source, inputs.target_node)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{target} holds one number per row, and `{inputs.name}` takes a 0 or 1 for each of"
            f" {inputs.predictions.shape.size(-1)} outputs.",
            facts=wording.loss_facts(source, inputs),
            why="Binary cross entropy compares the two sides entry by entry.",
            fixes=(
                Fix(
                    "Use `CrossEntropyLoss`, if each row is of one class; one-hot floats as"
                    " targets, if it can be of several.",
                    why_not_tried="which of the two is meant is your choice",
                ),
            ),
            severity=Severity.WARNING,
        )
