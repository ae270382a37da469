"""Labels are of a kind of number that the loss does not take.

## What happens
Cross entropy takes class indices as whole numbers of 64 bits (`expected target dtype to be Long or
Byte, but got Double`); binary cross entropy takes floats, as its predictions are (`result type
Float can't be cast to the desired output type Long`, `Found dtype Long but expected Float`). The
kind comes from far away: a pandas column with a blank cell is float64 and stays so after `dropna`;
NumPy makes float64 of every division and int32 on some platforms; `torch.tensor` keeps what it is
given.

## Why it matters
The cure that the message suggests, to change the model's kind (`model.double()`), makes a model
that is twice as large and still fails.

## What to do
Convert the labels once, where they are made: `.long()` or `astype("int64")` for classes, `.float()`
for binary and multi-label targets.

## How it is recognised
The loss that failed was given targets of the right shape and of a kind that it does not take. For
class indices every value must be a whole number and a class that the predictions have; where some
are not, there is nothing to convert, and that is said.

In a script that is only read: the kind of the targets is followed through the file, from the line
that makes or casts them. Class indices that are floats are reported only where the number of axes
says that they are no probabilities.
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
from surefit.evidence.dataset_labels import DatasetLabels, dataset_labels
from surefit.evidence.failed_losses import (
    BINARY,
    INDICES,
    OF_CLASSES,
    FailedLoss,
    failed_loss,
    given_name,
    inside,
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import at_every_call, in_every_call, must
from surefit.evidence.label_sources import Step, built_in, is_tensor, label_steps, made_in
from surefit.evidence.label_values import LabelValues, label_values, values_in_words
from surefit.evidence.value_stories import story_of_value
from surefit.interpreter import violations, wording
from surefit.source.edits import Edit, appended, argument_added, replaced
from surefit.source.reading import Source, called

DECIDES = "what kind of number the targets are, and whether all of them are whole numbers"
RULE = Rule(
    "SF404",
    "label-dtype",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom("expected target dtype to be Long or Byte", DECIDES),
        Symptom("result type Float can't be cast to the desired output type", DECIDES),
        Symptom("Found dtype (Long|Double|Int|Bool) but expected Float", DECIDES),
        Symptom("expected scalar type Long but found", DECIDES),
    ),
)

FLOATS = ("float32", "float64")
CAST_TO_FLOAT = ("float", "double", "half")
CAST_TO_WHOLE = ("long", "int", "bool", "short")
NUMBERS = {"int": "whole number", "float": "float"}
MEANT = "what these targets are meant to be, only you know"


@RULE.on(Crash)
def labels_are_of_another_kind(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    wanted = wanted_kind(loss) if loss else None
    labels = label_values(seen, crash, loss) if loss and wanted else None
    if loss is None or wanted is None or labels is None:
        return
    classes = wanted == "int64"
    if classes and labels.whole and labels.all_known and labels.outside(loss.classes or 0):
        return
    made = (
        where_chosen(crash, loss, classes, seen)
        or tensor_made(crash, loss, seen)
        or chosen_as_told(crash, loss, classes, seen)
    )
    rows = dataset_labels(crash, seen) if made is None and loss.call is None else None
    yield RULE.finding(
        (made or rows or loss.own).place,
        headline(crash, loss, wanted, labels),
        facts=tuple(facts(crash, loss, made or rows, labels, seen)),
        ruled_out=not_the_model(crash, loss),
        why=why(crash, loss, labels, classes, seen),
        fixes=tuple(fixes(crash, loss, wanted, made, rows, labels, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def wanted_kind(loss: FailedLoss) -> str | None:
    """The kind that the loss takes, where shapes are right and the kind alone is wrong."""
    kind, given = loss.target.dtype, loss.given.dtype
    if kind is None or given not in FLOATS:
        return None
    if loss.name in OF_CLASSES and loss.target.shape == loss.wanted and loss.target.shape != ():
        return "int64" if kind not in INDICES else None
    if loss.name not in BINARY or loss.target.shape != loss.given.shape:
        return None
    if loss.name == "binary_cross_entropy":
        return given if kind != given else None
    return given if not kind.startswith(("float", "bfloat")) else None


def where_chosen(crash: Crash, loss: FailedLoss, classes: bool, seen: Recording) -> Step | None:
    """The nearest expression that asks for the wrong kind in so many words."""
    steps = label_steps(crash, loss, seen)
    return next((one for one in steps if chosen(one, classes) is not None), None)


def chosen_as_told(crash: Crash, loss: FailedLoss, classes: bool, seen: Recording) -> Step | None:
    """The same in a function that the source alone does not lead to: a second run has seen it make
    the labels of each row. What is written into them later is of that kind, too."""
    shape = loss.target.shape or ()
    story = story_of_value(seen, crash, loss.frame, "target")
    for one in story:
        source = seen.source(one.place) if one.own else None
        line = one.place.line if one.place else None
        calls = (
            [call for call in source.calls_in(line) if called(call) == one.name]
            if source and line
            else []
        )
        again = [other for other in story if (other.name, other.place) == (one.name, one.place)]
        if source is None or len(calls) != 1 or one.dtype != loss.target.dtype:
            continue
        step = Step(source, calls[0], "row", told=True)
        if one.shape == shape[1:] and len(again) == shape[0] and chosen(step, classes):
            return step
    return None


def chosen(step: Step, classes: bool) -> Edit | None:
    """The same expression with the right kind, where it names the wrong one: `.float()`,
    `dtype=torch.float32`, `torch.FloatTensor(...)`."""
    node, source = step.node, step.source
    if not isinstance(node, ast.Call):
        return None
    wrong, right = (CAST_TO_FLOAT, "long") if classes else (CAST_TO_WHOLE, "float")
    if isinstance(node.func, ast.Attribute) and called(node) in wrong and not node.args:
        inner = source.segment(node.func.value)
        return replaced(source, node, f"{inner}.{right}()")
    if isinstance(node.func, ast.Attribute) and called(node) == "astype" and len(node.args) == 1:
        return replaced(source, node.args[0], '"int64"' if classes else '"float32"')
    kind = source.argument(node, "dtype")
    if kind is not None and source.imported(node.func).startswith("torch."):
        return argument_added(source, node, "dtype", f"torch.{right}")
    return None


def tensor_made(crash: Crash, loss: FailedLoss, seen: Recording) -> Step | None:
    """Where torch makes them; otherwise what gives them to the loop, if that is a tensor."""
    built = built_in(label_steps(crash, loss, seen))
    if built is not None:
        return built
    made = made_in(crash, loss, seen)
    return made if made is not None and is_tensor(made) else None


def headline(crash: Crash, loss: FailedLoss, wanted: str, labels: LabelValues) -> str:
    kind, name = loss.target.dtype, target_name(crash, loss)
    model = next(inside(crash, loss), None)
    who = f"`{loss.name}` in `{model}`" if model else loss_name(loss)
    if wanted == "int64" and not labels.whole:
        return f"{name} is {kind} and not all of it whole numbers: {who} wants class indices."
    if wanted == "int64":
        return f"{name} holds class labels as {kind}: {who} wants class indices, int64."
    return f"{name} is {kind}: {who} wants {wanted} targets, as its predictions are."


def facts(
    crash: Crash,
    loss: FailedLoss,
    made: Step | DatasetLabels | None,
    labels: LabelValues,
    seen: Recording,
) -> Iterator[Fact]:
    shape = shape_of(loss.target.shape or ())
    yield Fact(target_name(crash, loss), f"{loss.target.dtype} {shape}, {values_in_words(labels)}")
    if loss.target.not_finite:
        yield Fact(
            "not finite", f"{counted(loss.target.not_finite, 'label')} (NaN: a missing label)"
        )
    yield Fact(given_name(crash, loss), f"{loss.given.dtype} {shape_of(loss.given.shape or ())}")
    if made is not None:
        yield Fact("made at", f"{made.place}  {made.text}")
        yield Fact("used at", str(loss.own.place))
    column = table_column(crash, loss, seen)
    if column is not None:
        yield Fact("read from", f"`{column[0]}`, a column of a pandas table")


def table_column(crash: Crash, loss: FailedLoss, seen: Recording) -> tuple[str, str] | None:
    """`frame["reason"]` and its name, where the labels are a column of a table with `.values`."""
    for step in label_steps(crash, loss, seen):
        if not any(
            source.imported(node).startswith("pandas")
            for source in [step.source]
            for node in source.every(ast.Name)
        ):
            return None
        match step.node:
            case ast.Attribute(value=ast.Subscript() as inner, attr="values"):
                return column_of(step.source, inner)
            case ast.Call(func=ast.Attribute(value=ast.Subscript() as inner)) if called(
                step.node
            ) in ("to_numpy", "tolist"):
                return column_of(step.source, inner)
    return None


def column_of(source: Source, node: ast.Subscript) -> tuple[str, str] | None:
    match node.slice:
        case ast.Constant(value=str(name)):
            return source.segment(node), name
    return None


def called_last(step: Step) -> str:
    return called(step.node) if isinstance(step.node, ast.Call) else ""


def not_the_model(crash: Crash, loss: FailedLoss) -> tuple[Fact, ...]:
    """The message speaks of a kind of number, and people change that of the model."""
    if loss.name not in OF_CLASSES:
        return ()
    name = given_name(crash, loss)
    said = f"{name} is {loss.given.dtype}, as it must be; `model.double()` would change nothing"
    return (Fact("the model", said),)


def why(crash: Crash, loss: FailedLoss, labels: LabelValues, classes: bool, seen: Recording) -> str:
    column = table_column(crash, loss, seen)
    if classes and not labels.whole:
        return "A class index is a whole number; these are measurements, or labels are missing."
    if column is not None and loss.target.dtype == "float64":
        drops = any(
            isinstance(node, ast.Call) and called(node) in ("dropna", "notna", "notnull")
            for source in [seen.source(loss.own.place)]
            if source
            for node in source.every(ast.Call)
        )
        said = "pandas reads a column with a blank cell as float64 (the blank is NaN)"
        return f"{said}; dropping these rows leaves `{column[1]}` float64." if drops else f"{said}."
    if classes:
        return "A class label is an index into the predictions, and torch takes int64 indices."
    return "This loss computes with predictions and targets alike, in one kind of number."


def fixes(
    crash: Crash,
    loss: FailedLoss,
    wanted: str,
    made: Step | None,
    rows: DatasetLabels | None,
    labels: LabelValues,
    seen: Recording,
) -> Iterator[Fix]:
    classes = wanted == "int64"
    if classes and not labels.whole:
        if loss.target.not_finite:
            yield Fix(
                "Drop the rows without a label, then convert: `.long()`.", why_not_tried=MEANT
            )
        else:
            text = "For measurements use a loss for numbers: `nn.MSELoss` with one output."
            yield Fix(text, why_not_tried=MEANT)
        return
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        loss.target.shape or (),
        INDICES if classes else (wanted,),
        labels.elements,
        labels.total,
    )
    edit, text = change(loss, made, wanted)
    if rows is not None:
        number = "int" if classes else "float"
        edit = rows.each(f"{number}({{}})")
        text = f"Make each label a {NUMBERS[number]} where a row is made: `{number}(...)`."
    column = table_column(crash, loss, seen)
    if column is not None and classes:
        text += f' In the table itself: `.astype({{"{column[1]}": "int64"}})`.'
    if edit is None:
        yield Fix(text, why_not_tried="where the labels are made was not found in your source")
        return
    yield Fix(text, edit, must(crash, seen, gets))


def change(loss: FailedLoss, made: Step | None, wanted: str) -> tuple[Edit | None, str]:
    cast = {"int64": ".long()", "float32": ".float()"}.get(wanted, f".to(torch.{wanted})")
    classes = wanted == "int64"
    better = chosen(made, classes) if made is not None and wanted != "float64" else None
    if made is not None and better is not None:
        if made.node is loss.target_node:
            better = in_every_call(
                loss, made.node, lambda one: chosen(Step(made.source, one, made.of), classes)
            )
        how = f'astype("{wanted}")' if called_last(made) == "astype" else cast.strip(".")
        if isinstance(made.node, ast.Call) and made.source.argument(made.node, "dtype") is not None:
            how = f"dtype=torch.{'long' if classes else 'float'}"
        said = f"Ask for {wanted} where the kind of number is chosen, {made.place}: {code(how)}."
        return better, said
    if made is not None and made.of != "batch":
        said = f"Convert the labels where they are made: {code(cast)} behind {code(made.text)}."
        return appended(made.source, made.node, cast), said
    node = loss.target_node
    edit = at_every_call(loss, node, cast) if node is not None else None
    return edit, f"Convert the labels for the loss: {code(cast)}."


@RULE.on(Script)
def labels_would_be_of_another_kind(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetDtypeMismatch):
        inputs = broken.inputs
        target = wording.text_of(source, inputs.target_node)
        indices = broken.takes == "int64"
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{target} is {inputs.target.dtype}: `{inputs.name}` takes"
            f" {'class indices, int64' if indices else 'floats, as its predictions are'}.",
            facts=wording.loss_facts(source, inputs),
            why="A loss does not convert its targets.",
            fixes=(
                wording.appended_fix(
                    source, inputs.target_node, ".long()" if indices else ".float()"
                ),
            ),
            severity=Severity.WARNING,
        )
