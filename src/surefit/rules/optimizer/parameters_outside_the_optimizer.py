"""Parameters get gradients, and no optimizer holds them, so that they never move.

## What happens
An optimizer holds the parameters that it was given when it was created. A layer that is put into
the model later is not among them, nor is one in a plain Python list, which `parameters()` does not
look into. Such layers keep the random weights that they began with.

## Why it matters
The rest of the model learns around them, the loss falls, and stays higher than it should. If the
rest is frozen, nothing moves at all.

## What to do
Create the optimizer after the last layer. Keep layers in `nn.ModuleList` or `nn.ModuleDict`. A
layer that is created in the first `forward` must be there before the optimizer is: create it in
`__init__`, or run one batch first.

## How it is recognised
A parameter got a fresh gradient at the steps looked at, no optimizer holds it, and it was created
after the optimizer that takes the steps, or it stands in a list or a dict that hides it from the
model. Parameters that were there, in plain sight, when the optimizer was created were left out of
it on purpose and are not reported; nor are those that move without an optimizer, and those of
another model that is only evaluated or was loaded.

In a script that is only read: a module keeps layers in a list that its `forward` uses; or an
optimizer steps whose layers got no gradient, and those that did belong to no optimizer.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from math import prod

from surefit.doctor.causes import was_only_read
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, some, spoken
from surefit.evidence.fitted_layers import fitted_at
from surefit.interpreter import violations, wording
from surefit.laws.creation_order import both_in_one_block
from surefit.laws.hidden_layers import Hidden, hidden_at, hidden_in, is_used
from surefit.laws.made_names import name_at
from surefit.laws.registration import written_nn
from surefit.source.edits import Edit, inserted_after, moved_after, with_import, wrapped
from surefit.source.line_edits import block_of, shares_lines
from surefit.source.reading import Source

RULE = Rule("SF601", "parameters-outside-the-optimizer", Severity.ERROR, __doc__)

PROOF_STEPS = 3
READY = (".eval(", "from_pretrained", "pretrained=", "weights=", "load")
"""In the line that creates a model: it comes as it should stay."""
ONLY_READ = "the script was read, not run"
Outside = Sequence[ParameterSeen]


@RULE.on(Steps)
def parameters_never_move(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if not steps.optimizers or steps.process.rank not in (None, 0):
        return
    still = [parameter for parameter in steps.outside if stands_still(parameter)]
    for created_at in dict.fromkeys(parameter.made_at for parameter in still):
        source = recording.source(created_at)
        if created_at is None or fitted_at(source, created_at) is not None:
            continue  # layer-made-to-fit has that
        outside = [parameter for parameter in still if parameter.made_at == created_at]
        hidden = hidden_at(source, created_at) if source else None
        early = created_before(outside, steps)
        registered = any(parameter.registered for parameter in outside)
        if hidden is not None and source is not None and not registered:
            yield in_a_list(outside, steps, source, hidden)
        elif early is not None and early.made_at and not comes_ready(outside, steps, source):
            yield after_the_optimizer(outside, steps, early, early.made_at, recording)


def stands_still(parameter: ParameterSeen) -> bool:
    """Nobody moves it by hand, and no optimizer held it in an earlier stage."""
    moves = parameter.changed or parameter.unchanged < parameter.sampled
    return not moves and parameter.held_by is None


def comes_ready(outside: Outside, steps: Steps, source: Source | None) -> bool:
    """Another model, none of whose parameters is trained, that is only evaluated, or was loaded: a
    judge of images, an encoder of text."""
    root = next((root for root in steps.roots if root.serial == outside[0].root), None)
    if root is None or root.held or not root.serial:
        return False
    line = outside[0].made_at.line if outside[0].made_at else None
    statement = source.statement_at(line) if source and line else None
    written = source.segment(statement) if source and statement else ""
    return not root.training or any(word in written for word in READY)


def created_before(outside: Outside, steps: Steps) -> OptimizerSeen | None:
    """The last optimizer created before these parameters, if none was created after them."""
    first = min(parameter.serial for parameter in outside)
    stepping = [optimizer for optimizer in steps.optimizers if optimizer.steps]
    if not first or any(optimizer.serial > first for optimizer in stepping):
        return None
    known = [optimizer for optimizer in stepping if optimizer.serial]
    return max(known, key=lambda optimizer: optimizer.serial, default=None)


def after_the_optimizer(
    outside: Outside, steps: Steps, optimizer: OptimizerSeen, at: Place, recording: Recording
) -> Finding:
    source, created_at = recording.source(at), outside[0].made_at
    assert created_at is not None
    pair = both_in_one_block(source, at, created_at) if source else None
    called_at = Place(at.file, pair[0].lineno) if pair else None
    name = name_at(source, at) or name_at(source, called_at) or optimizer.kind
    model = model_of_its_own(outside, steps, recording)
    prefix = f"{model}." if model else ""
    these = some([f"{prefix}{parameter.name}" for parameter in outside])
    in_list = "no: the model registers them"
    if not all(parameter.registered for parameter in outside):
        in_list = "they are also not registered with the model"
    return RULE.finding(
        at,
        f"`{name}` was created before {these}: {weights(outside)} get gradients, and no optimizer"
        " holds them.",
        facts=(
            Fact(f"`{name}`", f"{optimizer.kind}, created at {at}"),
            Fact("the parameters", f"created at {created_at}, after it"),
            *common_facts(outside, steps),
        ),
        ruled_out=() if model else (Fact("hidden in a list", in_list),),
        why="An optimizer holds the parameters that it was given when it was created; a layer that"
        " comes later is not among them and keeps its first weights.",
        fixes=(later_fix(outside, name, model, source, pair),),
    )


def later_fix(
    outside: Outside,
    name: str,
    model: str,
    source: Source | None,
    pair: tuple[ast.stmt, ast.stmt] | None,
) -> Fix:
    created_at = outside[0].made_at
    statement = source.statement_at(created_at.line or 0) if source and created_at else None
    scope = source.scope_of(statement) if source and statement else None
    must = Moves(tuple(parameter.name for parameter in outside), steps=PROOF_STEPS)
    if isinstance(scope, ast.FunctionDef) and scope.name in ("forward", "__call__"):
        text = "Create the layer in `__init__`, or run one batch through the model before"
        return Fix(f"{text} `{name}` is created.", choice=True)
    if model:  # in no `model.parameters()`, whatever the order
        added = f'{name}.add_param_group({{"params": {model}.parameters()}})'
        text = f"Give the parameters of `{model}` to the optimizer, too: {code(added)}."
        beside = pair is not None and source is not None and pair[1] is statement
        if not beside or source is None or statement is None or shares_lines(source, statement):
            return Fix(text, choice=True)
        return Fix(text, inserted_after(source, statement, added), must)
    edit = put_in_order(source, *pair) if source and pair else None
    if edit is None:
        text = f"Create `{name}` after {created_at}, where its last parameters are created."
        return Fix(text, choice=True)
    return Fix(f"Create `{name}` after the last of its parameters.", edit, must)


def put_in_order(source: Source, optimizer: ast.stmt, layer: ast.stmt) -> Edit | None:
    """The optimizer after the layer; if something in between needs it, the layer before it."""
    moved = moved_after(source, optimizer, layer)
    if moved is not None:
        return moved
    block = block_of(source, optimizer)
    before = block.index(optimizer) - 1
    return moved_after(source, layer, block[before]) if before >= 0 else None


def model_of_its_own(outside: Outside, steps: Steps, recording: Recording) -> str:
    """`head`, where that is no part of another model: its parameters are named from inside it."""
    first = outside[0]
    roots = [(root.serial, root.made_at) for root in steps.roots]
    name = name_at(recording.source(first.made_at), first.made_at)
    return name if name and (first.root, first.made_at) in roots else ""


def in_a_list(outside: Outside, steps: Steps, source: Source, hidden: Hidden) -> Finding:
    last = max(parameter.serial for parameter in outside)
    later = any(optimizer.serial > last for optimizer in steps.optimizers)
    order = "no: it was created after them" if later else "it was, too, but nothing registers them"
    kinds = spoken(sorted({parameter.layer for parameter in outside if parameter.layer}))
    tensors = counted(len(outside), "tensor")
    names = [re.sub(r"\['?([^\]']*)'?\]", r".\1", parameter.name) for parameter in outside]
    return RULE.finding(
        Place(source.file, hidden.statement.lineno, hidden.statement.end_lineno),
        f"`{hidden.name}` is a plain {hidden.kind}: {weights(outside)} in it get gradients, and no"
        " optimizer holds them.",
        facts=(
            Fact(
                "hidden",
                f"{tensors} of {kinds} in the {hidden.kind}; `parameters()` leaves them out",
            ),
            *common_facts(outside, steps),
        ),
        ruled_out=(Fact("an optimizer created too early", order),),
        why="A module knows the layers that are its attributes, or in a `ModuleList`. What is in a"
        f" plain {hidden.kind} is not registered: `parameters()`, `to()` and `state_dict()` leave"
        " it out.",
        fixes=(
            Fix(
                f"Keep them in `nn.{hidden.container}`, which registers them.",
                in_container(source, hidden),
                Moves(tuple(names), steps=PROOF_STEPS),
            ),
        ),
    )


def in_container(source: Source, hidden: Hidden) -> Edit:
    module = written_nn(source)
    container = f"{module}.{hidden.container}" if module else hidden.container
    edit = wrapped(source, hidden.value, f"{container}(", ")")
    return edit if module else with_import(edit, source, "torch.nn", hidden.container)


def common_facts(outside: Outside, steps: Steps) -> Iterator[Fact]:
    looked = max(parameter.looked for parameter in outside)
    yield Fact("gradients", f"fresh at each of {counted(looked, 'step')} looked at")
    yield Fact("in an optimizer", f"{counted(len(steps.parameters), 'other tensor')}")


def weights(outside: Outside) -> str:
    count = sum(prod(parameter.shape) for parameter in outside)
    return f"{counted(count, 'weight')} of {counted(len(outside), 'tensor')}"


@RULE.on(Script)
def a_list_hides_layers(script: Script, recording: Recording) -> Iterator[Finding]:
    source = recording.source(script.file) if was_only_read(recording) else None
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
def an_optimizer_holds_another_model(script: Script, recording: Recording) -> Iterator[Finding]:
    for source, violation in wording.violations_in(
        script, recording, violations.OptimizerWithoutGradients
    ):
        layer = violation.outside[0]
        others = (
            f" and {counted(len(violation.outside) - 1, 'other layer')}"
            if violation.outside[1:]
            else ""
        )
        yield RULE.finding(
            wording.place_of(source, violation.optimizer),
            f"{wording.text_of(source, violation.optimizer)} holds no layer that the loss goes"
            f" through: {wording.describe_layer(layer)}, created at"
            f" {wording.place_of(source, layer.node)},{others} get"
            " gradients, and no optimizer holds them.",
            facts=(Fact("it steps at", wording.line_at(source, violation.node)),),
            why="An optimizer moves the parameters that it was given when it was made.",
            fixes=(
                Fix(
                    "Give it the parameters of the model that the loss is computed with.",
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
