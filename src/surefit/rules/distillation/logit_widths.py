"""Teacher and student give logits of different widths, and a loss compares them entry by entry.

## What happens
A distillation loss compares two distributions over the same vocabulary. Models of one family can
have tables of different widths (151,936 and 152,064 entries): the larger one is padded, or the
tokenizers differ. `kl_div` and `mse_loss` then say `The size of tensor a (152064) must match the
size of tensor b (151936) at non-singleton dimension 2`.

## Why it matters
Cutting the wider one off is right only where the additional entries are padding that no token uses.
If the tokenizers differ, entry 5,000 is another token in each, and the student is taught nonsense
without a word.

## What to do
If both use the same tokenizer, cut the padding off: `teacher_logits[..., :len(tokenizer)]` and the
same of the student. If not, distil through text, or with a loss that matches tokens by their
strings.

## How it is recognised
The loss that failed compares two tensors that have equal shapes but for the last axis.

In a script that is only read: the widths that two models give are followed to a loss that compares
them entry by entry, and differ.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import shape_of
from surefit.evidence.failed_losses import FailedLoss, failed_loss, loss_name
from surefit.interpreter import violations, wording
from surefit.source.definitions import definition
from surefit.source.reading import Source

RULE = Rule(
    "SF951",
    "logit-widths",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)",
            "whether two models' logits differ in their last axis alone",
            "kl_div|mse_loss",
        ),
    ),
)

COMPARING = ("kl_div", "mse_loss", "smooth_l1_loss", "l1_loss")
NARROWEST = 3
"""Classes; below that a width is a single score or a pair."""
CHOICE = "whether both mean the same by the same entry, only you know"


@RULE.on(Crash)
def widths_of_two_models_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    if loss is None or not differ_in_width(loss):
        return
    sides = (
        side(loss, loss.given_node, loss.given),
        side(loss, loss.target_node, loss.target),
    )
    models = tuple(maker(loss, node) for node in (loss.given_node, loss.target_node))
    if not are_two_models(models, loss):
        return
    widths = [(one.shape or ())[-1] for one in (loss.given, loss.target)]
    narrow = min(widths)
    yield RULE.finding(
        loss.own.place,
        f"{sides[0]} is {widths[0]:,} wide and {sides[1]} is {widths[1]:,}:"
        f" {loss_name(loss)} compares them entry by entry.",
        facts=tuple(facts(loss, sides, models)),
        why="Both must mean the same by the same entry: one vocabulary, or the same classes.",
        fixes=tuple(choices(loss, narrow)),
        python_said=crash.said,
        about=crash.id,
    )


def choices(loss: FailedLoss, narrow: int) -> Iterator[Fix]:
    """Only the user knows what the entries are."""
    if len(loss.given.shape or ()) > 2:
        yield Fix(
            "If both use one tokenizer and the rest is padding, cut both to the tokens there are,"
            f" at most {narrow:,}: `[..., :{narrow}]`.",
            why_not_tried=CHOICE,
        )
        yield Fix(
            "If the tokenizers differ, take a teacher of the same family or distil from its text.",
            why_not_tried=CHOICE,
        )
    else:
        yield Fix(
            "Give both models the same classes, or compare only those that both have.",
            why_not_tried=CHOICE,
        )
    if loss.name != "kl_div":
        given, target = ((one.shape or ())[-1] for one in (loss.given, loss.target))
        yield Fix(
            f"If these are hidden states, learn a projection too: `nn.Linear({given}, {target})`.",
            why_not_tried=CHOICE,
        )


def differ_in_width(loss: FailedLoss) -> bool:
    given, target = loss.given.shape, loss.target.shape
    if loss.name not in COMPARING or not given or not target or len(given) != len(target):
        return False
    if len(given) < 2 or given[:-1] != target[:-1] or given[-1] == target[-1]:
        return False
    return min(given[-1], target[-1]) >= NARROWEST


def side(loss: FailedLoss, node: ast.expr | None, value: Value) -> str:
    """The logits in an argument, by the name that the user has for them."""
    for name in names_in(node):
        found = next((one for one in loss.own.values if one.text == name), None)
        if found is not None and found.shape and found.shape[-1:] == (value.shape or ())[-1:]:
            return f"`{name}`"
    if node is not None and loss.source is not None:
        return f"`{' '.join(loss.source.segment(node).split())}`"
    return f"`{value.text}`"


def names_in(node: ast.expr | None) -> Iterator[str]:
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Name | ast.Attribute):
            yield ast.unparse(one)


def maker(loss: FailedLoss, node: ast.expr | None) -> Value | None:
    """The module that a name in an argument was computed by, as far as the source says it."""
    source = loss.source
    for part in ast.walk(node) if node is not None and source else ():
        found = called_module(loss, source, part) if source else None
        if found is not None:
            return found
    return None


def called_module(loss: FailedLoss, source: Source, node: ast.AST) -> Value | None:
    """`student` of `student(ids)`, also behind a name and `.logits`."""
    modules = {one.text: one for one in loss.own.values if one.layer is not None}
    made: ast.expr | None = node if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Name):
        made = definition(source, node) or in_a_block(source, node)
    for part in ast.walk(made) if made is not None else ():
        if isinstance(part, ast.Call) and ast.unparse(part.func) in modules:
            return modules[ast.unparse(part.func)]
        if isinstance(part, ast.Name) and part is not node and isinstance(node, ast.Name):
            inner = definition(source, part)
            for one in ast.walk(inner) if inner is not None else ():
                if isinstance(one, ast.Call) and ast.unparse(one.func) in modules:
                    return modules[ast.unparse(one.func)]
    return None


def in_a_block(source: Source, name: ast.Name) -> ast.expr | None:
    """Assigned once, under `with torch.no_grad():`."""
    bound = [one for one in source.bound_by(name) if isinstance(one, ast.Assign)]
    return bound[0].value if len(bound) == 1 else None


def are_two_models(models: tuple[Value | None, ...], loss: FailedLoss) -> bool:
    """Two different modules, or a loss that only compares distributions."""
    first, second = models
    if first is not None and second is not None:
        return first.identity != second.identity
    return loss.name == "kl_div"


def facts(
    loss: FailedLoss, sides: tuple[str, str], models: tuple[Value | None, ...]
) -> Iterator[Fact]:
    for name, value, model in zip(sides, (loss.given, loss.target), models, strict=True):
        by = f", by `{model.text}`, {model.kind}" if model is not None else ""
        made_at = model.layer.made_at if model is not None and model.layer else None
        where = f" made at {made_at}" if made_at else ""
        yield Fact(name, f"{shape_of(value.shape or ())}{by}{where}")
    widths = sorted((one.shape or ())[-1] for one in (loss.given, loss.target))
    yield Fact("entries more", f"{widths[1] - widths[0]:,}")


@RULE.on(Script)
def widths_in_the_source_are_compared(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.LossShapeMismatch):
        first, second = one.inputs.tensors
        sizes = first.shape.size(-1), second.shape.size(-1)
        by_models = first.source_layer is not None and second.source_layer is not None
        if sizes[0] == sizes[1] or None in sizes or not by_models:
            continue
        names = [wording.text_of(source, node) for node in one.inputs.nodes]
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{names[0]} is {sizes[0]} wide and {names[1]} is {sizes[1]}:"
            f" `{one.inputs.function}` compares"
            " them"
            " entry by entry.",
            facts=tuple(
                Fact(name, wording.describe_tensor(source, tensor))
                for name, tensor in zip(names, one.inputs.tensors, strict=True)
            ),
            why="Both must be distributions over the same vocabulary.",
            fixes=(
                Fix(
                    "If the wider one is only padded, cut both to the entries that they share; if"
                    " the tokenizers differ, the logits cannot be compared.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
