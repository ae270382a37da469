"""Parameters get gradients, and no optimizer holds them, so that they never move.

## What happens
An optimizer holds the parameters that it was given when it was made. A layer that is put into the
model later is not among them, nor is one in a plain Python list, which `parameters()` does not look
into. Such layers keep the random weights that they began with.

## Why it matters
The rest of the model learns around them, the loss falls, and stays higher than it should. If the
rest is frozen, nothing moves at all.

## What to do
Make the optimizer after the last layer. Keep layers in `nn.ModuleList` or `nn.ModuleDict`. A layer
that is made in the first `forward` must be there before the optimizer is: make it in `__init__`, or
run one batch first.

## How it is recognised
A parameter got a fresh gradient at the steps looked at, no optimizer holds it, and it was made
after the optimizer that takes the steps, or it stands in a list or a dict that hides it from the
model. Parameters that were there, in plain sight, when the optimizer was made were left out of it
on purpose and are not reported; nor are those that move without an optimizer, and those of another
model that is only evaluated or was loaded.

In a script that is only read: a module keeps layers in a list that its `forward` uses; or an
optimizer steps whose layers got no gradient, and those that did belong to no optimizer.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from surefit.doctor.causes import was_only_read
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.fitted_layers import fitted_at
from surefit.evidence.hidden_layers import Hidden, hidden_at, hidden_in, is_used
from surefit.evidence.late_layers import both_in_one_block
from surefit.evidence.made_names import name_at
from surefit.interpreter import violations, wording
from surefit.source.edits import Edit, inserted_after, moved_after, with_import, wrapped
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.reading import Source

RULE = Rule("SF601", "parameters-outside-the-optimizer", Severity.ERROR, __doc__)

PROOF_STEPS = 3
MOST_NAMED = 4
COMES_READY = (".eval(", "from_pretrained", "pretrained=", "weights=", "load")
ONLY_READ = "the script was read, not run"


@RULE.on(Steps)
def parameters_never_move(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if not steps.optimizers or steps.process.rank not in (None, 0):
        return
    still = [one for one in steps.outside if stands_still(one) and one.made_at is not None]
    for made_at in dict.fromkeys(one.made_at for one in still):
        here = [one for one in still if one.made_at == made_at]
        source = seen.source(made_at)
        if fitted_at(source, made_at) is not None:
            continue  # layer-made-to-fit says that, too
        hidden = hidden_at(source, made_at) if source and made_at else None
        late = too_late(here, steps)
        if hidden is not None and source is not None and not any(one.registered for one in here):
            yield in_a_list(here, steps, source, hidden)
        elif late is not None and late.made_at is not None and not is_given(here, steps, source):
            yield after_the_optimizer(here, steps, late, seen)


def stands_still(parameter: ParameterSeen) -> bool:
    """Nobody moves it by hand, and no optimizer held it in an earlier stage."""
    moves = parameter.changed or parameter.unchanged < parameter.sampled
    return not moves and parameter.held_by is None


def is_given(here: Sequence[ParameterSeen], steps: Steps, source: Source | None) -> bool:
    """Another model, none of whose parameters is trained, and that came as it shall stay: it is
    only evaluated, or was loaded. A judge of images, an encoder of text."""
    root = next((one for one in steps.roots if one.serial == here[0].root), None)
    if root is None or root.held or not root.serial:
        return False
    line = here[0].made_at.line if here[0].made_at else None
    statement = source.statement_at(line) if source and line else None
    written = source.segment(statement) if source and statement else ""
    return not root.training or any(word in written for word in COMES_READY)


def too_late(here: Sequence[ParameterSeen], steps: Steps) -> OptimizerSeen | None:
    """The last optimizer that was made before these parameters, if none was made after them."""
    first = min(one.serial for one in here)
    if not first or any(one.serial > first for one in steps.optimizers if one.steps):
        return None
    before = [one for one in steps.optimizers if one.steps and one.serial]
    return max(before, key=lambda one: one.serial, default=None)


def after_the_optimizer(
    here: Sequence[ParameterSeen], steps: Steps, optimizer: OptimizerSeen, seen: Recording
) -> Finding:
    made_at, optimizer_at = here[0].made_at, optimizer.made_at
    assert made_at is not None
    assert optimizer_at is not None
    source = seen.source(optimizer_at)
    pair = both_in_one_block(source, optimizer_at, made_at) if source else None
    name = name_of(source, optimizer_at, pair) or optimizer.kind
    before = prefix(here, steps, seen)
    these = names(here, before)
    edit = put_in_order(source, *pair) if source and pair else None
    fix = later_fix(here, name, edit, seen)
    if before and source is not None and not is_made_in_forward(source, made_at):
        fix = added_fix(here, name, before.rstrip("."), beside(source, pair, made_at))
    return RULE.finding(
        optimizer_at,
        f"`{name}` was made before {these}: {weights(here)} get gradients, and no optimizer"
        " holds them.",
        facts=(
            Fact(f"`{name}`", f"{optimizer.kind}, made at {optimizer_at}"),
            Fact("the parameters", f"made at {made_at}, after it"),
            *common_facts(here, steps),
        ),
        ruled_out=(registered(here),) if not before else (),
        why="An optimizer holds the parameters that it was given when it was made; a layer that"
        " comes later is not among them and keeps its first weights.",
        fixes=(fix,),
    )


def beside(
    source: Source, pair: tuple[ast.stmt, ast.stmt] | None, made_at: Place
) -> tuple[Source, ast.stmt] | None:
    """The statement that makes a layer beside the model, where the optimizer is known by name."""
    if pair is None or pair[1] is not source.statement_at(made_at.line or 0):
        return None
    return (source, pair[1]) if not shares_lines(source, pair[1]) else None


def added_fix(
    here: Sequence[ParameterSeen], name: str, layer: str, made: tuple[Source, ast.stmt] | None
) -> Fix:
    """A layer that is no part of the model is in no `model.parameters()`, whatever the order."""
    added = f'{name}.add_param_group({{"params": {layer}.parameters()}})'
    text = f"Give the parameters of `{layer}` to the optimizer, too: {code(added)}."
    if made is None:
        return Fix(text, why_not_tried="where both are known was not found in your source")
    must = Moves(tuple(one.name for one in here), steps=PROOF_STEPS)
    return Fix(text, inserted_after(made[0], made[1], added), must)


def name_of(
    source: Source | None, optimizer_at: Place, pair: tuple[ast.stmt, ast.stmt] | None
) -> str | None:
    """What the optimizer is called where it is made, or where the function that makes it is."""
    called_at = Place(optimizer_at.file, pair[0].lineno) if pair else None
    return name_at(source, optimizer_at) or name_at(source, called_at)


def later_fix(here: Sequence[ParameterSeen], name: str, edit: Edit | None, seen: Recording) -> Fix:
    made_at = here[0].made_at
    if made_at is not None and is_made_in_forward(seen.source(made_at), made_at):
        return Fix(
            "Make the layer in `__init__`, or run one batch through the model before"
            f" `{name}` is made.",
            why_not_tried="the layer is made by the first batch: only you know which width it"
            " shall have",
        )
    if edit is None:
        return Fix(
            f"Make `{name}` after {made_at}, where its last parameters are made.",
            why_not_tried="moving one line alone would change more than the order",
        )
    must = Moves(tuple(one.name for one in here), steps=PROOF_STEPS)
    return Fix(f"Make `{name}` after the last of its parameters.", edit, must)


def put_in_order(source: Source, optimizer: ast.stmt, layer: ast.stmt) -> Edit | None:
    """The optimizer behind the layer; if something in between needs it, the layer before it."""
    moved = moved_after(source, optimizer, layer)
    if moved is not None:
        return moved
    block = block_of(source, optimizer)
    before = block.index(optimizer) - 1
    return moved_after(source, layer, block[before]) if before >= 0 else None


def is_made_in_forward(source: Source | None, made_at: Place) -> bool:
    statement = source.statement_at(made_at.line or 0) if source else None
    scope = source.scope_of(statement) if source and statement else None
    return isinstance(scope, ast.FunctionDef) and scope.name in ("forward", "__call__")


def in_a_list(
    here: Sequence[ParameterSeen], steps: Steps, source: Source, hidden: Hidden
) -> Finding:
    return RULE.finding(
        Place(source.file, hidden.statement.lineno, hidden.statement.end_lineno),
        f"`{hidden.name}` is a plain {hidden.kind}: {weights(here)} in it get gradients, and no"
        " optimizer holds them.",
        facts=(
            Fact(
                "hidden", f"{layers(here)} in the {hidden.kind}; `parameters()` does not see them"
            ),
            *common_facts(here, steps),
        ),
        ruled_out=(Fact("an optimizer made too early", order(here, steps)),),
        why="A module knows the layers that are its attributes, or in a `ModuleList`. What stands"
        f" in a plain {hidden.kind} is not registered: `parameters()`, `to()` and `state_dict()`"
        " pass it over.",
        fixes=(list_fix(here, source, hidden),),
    )


def list_fix(here: Sequence[ParameterSeen], source: Source, hidden: Hidden) -> Fix:
    """The loss before the first step stays what it was; later ones change, as more moves."""
    must = Moves(tuple(registered_name(one.name) for one in here), steps=PROOF_STEPS)
    text = f"Keep them in `nn.{hidden.container}`, which registers them."
    return Fix(text, in_container(source, hidden), must)


def in_container(source: Source, hidden: Hidden) -> Edit:
    module = nn_as_written(source)
    container = f"{module}.{hidden.container}" if module else hidden.container
    edit = wrapped(source, hidden.value, f"{container}(", ")")
    return edit if module else with_import(edit, source, "torch.nn", hidden.container)


def nn_as_written(source: Source) -> str:
    """`nn` or `torch.nn`, as the file itself writes it."""
    for node in source.every(ast.Attribute):
        if source.imported(node) == "torch.nn":
            return source.segment(node)
        if source.imported(node.value) == "torch.nn":
            return source.segment(node.value)
    return ""


def registered_name(name: str) -> str:
    """`hidden.0.weight` for `hidden[0].weight`: the name that it will have in the container."""
    return re.sub(r"\['?([^\]']*)'?\]", r".\1", name)


def common_facts(here: Sequence[ParameterSeen], steps: Steps) -> Iterator[Fact]:
    looked = max(one.looked for one in here)
    yield Fact("gradients", f"fresh at each of {counted(looked, 'step')} looked at")
    yield Fact("in an optimizer", f"{counted(len(steps.parameters), 'other tensor')}")


def registered(here: Sequence[ParameterSeen]) -> Fact:
    known = all(one.registered for one in here)
    said = (
        "no: the model registers them" if known else "they are also not registered with the model"
    )
    return Fact("hidden in a list", said)


def order(here: Sequence[ParameterSeen], steps: Steps) -> str:
    last = max(one.serial for one in here)
    later = [one for one in steps.optimizers if one.serial > last]
    return "no: it was made after them" if later else "it was, too, but they are not registered"


def names(here: Sequence[ParameterSeen], before: str = "") -> str:
    shown = [f"`{before}{one.name}`" for one in here[:MOST_NAMED]]
    left = len(here) - len(shown)
    return spoken([*shown, f"{left:,} more"] if left else shown)


def prefix(here: Sequence[ParameterSeen], steps: Steps, seen: Recording) -> str:
    """`head.`, where that is a model of its own: its parameters are named from inside it."""
    alone = any(
        (root.serial, root.made_at) == (here[0].root, here[0].made_at) for root in steps.roots
    )
    name = name_at(seen.source(here[0].made_at), here[0].made_at)
    return f"{name}." if alone and name else ""


def weights(here: Sequence[ParameterSeen]) -> str:
    count = sum(elements(one) for one in here)
    return f"{counted(count, 'weight')} of {counted(len(here), 'tensor')}"


def elements(one: ParameterSeen) -> int:
    count = 1
    for size in one.shape:
        count *= size
    return count


def layers(here: Sequence[ParameterSeen]) -> str:
    kinds = sorted({one.layer for one in here if one.layer})
    return (
        f"{counted(len(here), 'tensor')} of {spoken(kinds)}"
        if kinds
        else counted(len(here), "tensor")
    )


@RULE.on(Script)
def a_list_hides_layers(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for hidden in hidden_in(source) if source else ():
        if source is not None and is_used(source, hidden):
            yield RULE.finding(
                Place(source.file, hidden.statement.lineno, hidden.statement.end_lineno),
                f"`{hidden.name}` is a plain {hidden.kind}: `parameters()` does not see the layers"
                " in it, so no optimizer will hold them.",
                why="A module knows the layers that are its attributes, or in a `ModuleList`.",
                fixes=(
                    Fix(
                        f"Keep them in `nn.{hidden.container}`, which registers them.",
                        in_container(source, hidden),
                        why_not_tried=ONLY_READ,
                    ),
                ),
            )


@RULE.on(Script)
def an_optimizer_holds_another_model(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.OptimizerWithoutGradients):
        layer = one.outside[0]
        others = f" and {counted(len(one.outside) - 1, 'other layer')}" if one.outside[1:] else ""
        yield RULE.finding(
            wording.place_of(source, one.optimizer),
            f"{wording.text_of(source, one.optimizer)} holds no layer that the loss goes through:"
            f" {wording.describe_layer(layer)}, made at"
            f" {wording.place_of(source, layer.node)},{others} get"
            " gradients, and no optimizer holds them.",
            facts=(Fact("it steps at", wording.line_at(source, one.node)),),
            why="An optimizer moves the parameters that it was given when it was made.",
            fixes=(
                Fix(
                    "Give it the parameters of the model that the loss is computed with.",
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
