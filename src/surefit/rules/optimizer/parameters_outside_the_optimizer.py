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
layer that the first `forward` creates must be there before the optimizer is: create it in
`__init__`, or run one batch first.

## How it is recognised
A parameter got a fresh gradient at the steps looked at, no optimizer holds it, and it was created
after the optimizer that takes the steps, or stands in a list or a dict. Those that were there, in
plain sight, when the optimizer was created were left out on purpose and are not reported; nor are
those that move without an optimizer, and those of another model that is only evaluated or was
loaded. In a script that is only read: a module keeps layers in a list that its `forward` uses; or
an optimizer steps whose layers got no gradient, and those that did belong to none.
"""

import ast
import re
from collections.abc import Iterator
from math import prod

from surefit.doctor.causes import was_only_read
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, some
from surefit.interpreter.contracts.optimizers import NothingHeldLearns
from surefit.interpreter.wording import ONLY_READ
from surefit.laws.case import Case
from surefit.laws.layers.fitted_layers import fitted_at
from surefit.laws.layers.hidden_layers import Hidden, hidden_at, hidden_in, is_used
from surefit.laws.layers.registration import registered_in
from surefit.laws.training.creation_order import (
    Outside,
    both_in_one_block,
    comes_ready,
    created_before,
    put_in_order,
    stands_still,
)
from surefit.laws.training.made_names import name_at
from surefit.source.edits import inserted_after
from surefit.source.line_edits import shares_lines, used_by
from surefit.source.reading import Source, dotted, targets

RULE = Rule("SF601", "parameters-outside-the-optimizer", Severity.ERROR, __doc__)

PROOF_STEPS = 3


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
        if hidden and source and not any(parameter.registered for parameter in outside):
            yield in_a_list(source, hidden, outside, steps)
        elif early is not None and early.made_at and not comes_ready(outside, steps, source):
            yield after_the_optimizer(outside, steps, early, early.made_at, recording)


def after_the_optimizer(
    outside: Outside, steps: Steps, optimizer: OptimizerSeen, at: Place, recording: Recording
) -> Finding:
    source, created_at = recording.source(at), outside[0].made_at
    assert created_at is not None
    pair = both_in_one_block(source, at, created_at) if source else None
    called_at = Place(at.file, pair[0].lineno) if pair else None
    name = name_at(source, at) or name_at(source, called_at) or optimizer.kind
    model = model_of_its_own(outside[0], steps, recording)
    these = some([f"{model}.{known.name}" if model else known.name for known in outside])
    statement = source.statement_at(created_at.line or 0) if source else None
    scope = source.scope_of(statement) if source and statement else None
    edit = None
    if getattr(scope, "name", "") in ("forward", "__call__"):
        text = "Create the layer in `__init__`, or run one batch through the model before"
        text = f"{text} `{name}` is created."
    elif model and not (
        source and pair and put_around(source, *pair)
    ):  # in no `model.parameters()`, whatever the order
        added = f'{name}.add_param_group({{"params": {model}.parameters()}})'
        text = f"Give the parameters of `{model}` to the optimizer, too: {code(added)}."
        if source and pair and pair[1] is statement and not shares_lines(source, pair[1]):
            edit = inserted_after(source, pair[1], added)
    else:
        text = f"Create `{name}` after the last of its parameters."
        edit = put_in_order(source, *pair) if source and pair else None
    must = Moves(tuple(parameter.name for parameter in outside), steps=PROOF_STEPS)
    return RULE.finding(
        at,
        f"`{name}` was created before {these}: {weights(outside)} get gradients, and no optimizer"
        " holds them.",
        facts=(
            Fact(f"`{name}`", f"{optimizer.kind}, created at {at}"),
            Fact("the parameters", f"created at {created_at}, after it"),
            *common_facts(outside, steps),
        ),
        ruled_out=(Fact("hidden in a list", "no: the model registers them"),)
        if not model and all(parameter.registered for parameter in outside)
        else (),
        why="An optimizer holds the parameters that it was given when it was created; a layer that"
        " comes later is not among them and keeps its first weights.",
        fixes=(Fix(text, edit, must) if edit else Fix(text, choice=True),),
    )


def put_around(source: Source, optimizer: ast.stmt, layer: ast.stmt) -> bool:
    """`model = get_peft_model(model, ...)`: what the optimizer was given parameters of is inside
    what comes later by the same name."""
    names = {dotted(part) for part in targets(layer)} if isinstance(layer, ast.Assign) else set()
    return bool(names & used_by(source, [optimizer]))


def model_of_its_own(first: ParameterSeen, steps: Steps, recording: Recording) -> str:
    """`head`, where that is no part of another model: its parameters are named from inside it."""
    roots = [(root.serial, root.made_at) for root in steps.roots]
    name = name_at(recording.source(first.made_at), first.made_at)
    return name if name and (first.root, first.made_at) in roots else ""


def common_facts(outside: Outside, steps: Steps) -> tuple[Fact, ...]:
    looked = counted(max(parameter.looked for parameter in outside), "step")
    held = counted(len(steps.parameters), "other tensor")
    return Fact("gradients", f"fresh at each of {looked} looked at"), Fact("in an optimizer", held)


def weights(outside: Outside) -> str:
    count = sum(prod(parameter.shape) for parameter in outside)
    return f"{counted(count, 'weight')} of {counted(len(outside), 'tensor')}"


@RULE.on(Script)
def a_list_hides_layers(script: Script, recording: Recording) -> Iterator[Finding]:
    source = recording.source(script.file) if was_only_read(recording) else None
    for hidden in hidden_in(source) if source else ():
        if source is not None and is_used(source, hidden):
            yield in_a_list(source, hidden)


def in_a_list(
    source: Source, hidden: Hidden, outside: Outside = (), steps: Steps | None = None
) -> Finding:
    said = "`parameters()` does not see the layers in it, so no optimizer will hold them"
    edit = registered_in(hidden.container, source, hidden.value)
    text = f"Keep them in `nn.{hidden.container}`, which registers them."
    fix, order = Fix(text, edit, why_not_tried=ONLY_READ), ""
    if steps is not None:
        said = f"{weights(outside)} in it get gradients, and no optimizer holds them"
        names = [re.sub(r"\['?([^\]']*)'?\]", r".\1", known.name) for known in outside]
        fix = Fix(text, edit, Moves(tuple(names), steps=PROOF_STEPS))
        later = any(known.serial > outside[-1].serial for known in steps.optimizers)
        order = "no: it was created after them" if later else "it was, but nothing registers them"
    return RULE.finding(
        Place(source.file, hidden.statement.lineno, hidden.statement.end_lineno),
        f"`{hidden.name}` is a plain {hidden.kind}: {said}.",
        facts=common_facts(outside, steps) if steps else (),
        ruled_out=(Fact("an optimizer created too early", order),) if order else (),
        why="A module knows the layers that are its attributes, or in a `ModuleList`. What is in a"
        f" plain {hidden.kind} is not registered: `parameters()`, `to()` and `state_dict()` leave"
        " it out.",
        fixes=(fix,),
    )


@RULE.on(NothingHeldLearns)
def an_optimizer_holds_another_model(broken: NothingHeldLearns, _: Case) -> Finding:
    more = f" and {counted(broken.layers - 1, 'other layer')}" if broken.layers > 1 else ""
    text = "Give it the parameters of the model that the loss is computed with."
    return RULE.finding(
        broken.created_at,
        f"{broken.optimizer} holds no layer that the loss goes through: {broken.layer}, created at"
        f" {broken.layer_at},{more} get gradients, and no optimizer holds them.",
        facts=(Fact("it steps at", broken.stepped),),
        why="An optimizer moves the parameters that it was given when it was made.",
        fixes=(Fix(text, why_not_tried=ONLY_READ),),
        severity=Severity.WARNING,
    )
