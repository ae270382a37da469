"""Every gradient is exactly zero, because one operation passes none on.

## What happens
Some operations have a slope of zero: `round`, `sign`, `floor`, a comparison that was made a float,
`relu` where everything is negative, a saturated `sigmoid`, a product with 0. If all ways from the
loss to the parameters lead through such a one, every gradient is exactly zero.

## Why it matters
The loss is finite, gradients are there, the optimizer steps, and no learning rate helps.

## What to do
Look at what goes into the operation. Rounding and thresholds belong into the metric, not into the
loss; units that are all negative need another initialisation or a `LeakyReLU`; a weight of 0 takes
its term out.

## How it is recognised
Every gradient of every parameter that an optimizer holds was there and exactly zero, at every step
looked at, eight of them for a part of the model. A second run holds, in every function of the
backward pass, the gradients that came in against those that went out: this operation got gradients
and gave zeros. A loss of exactly zero is not reported: there nothing is left to learn; nor is a
part whose term has a weight of zero.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.gradient_births import ForwardValue, GradientBirth
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case
from surefit.laws.invariants.weights_learn import EveryGradientZero, PartWithZeroGradient
from surefit.laws.training.rounds import innermost

RULE = Rule("SF643", "gradients-stop-here", Severity.ERROR, __doc__)

CONSTANT = ("round", "sign", "floor", "ceil", "trunc", "fix", "sgn", "heaviside")
SATURATED = ("sigmoid", "tanh", "softmax", "hardsigmoid", "clamp", "clip", "hardswish", "gelu")
MOST_ASKED = 64
AFTER = 4
"""Steps after which a part is looked at: an adapter begins with a gradient of zero."""
DEAD = ("relu", "relu_", "relu6", "threshold", "leaky_relu", "hardtanh")


@RULE.on(EveryGradientZero)
def an_operation_passes_no_gradient(broken: EveryGradientZero, case: Case) -> Finding | None:
    if not broken.certain:
        return None
    birth = case.ask(GradientBirth, what="zero", step=0)
    operation = birth.operation if birth is not None else None
    if birth is None or operation is None or not operation.stack:
        return None
    here = innermost(case.recording, operation.stack)
    line = code(here.source.segment(here.statement).split("\n")[0]) if here else ""
    where = f" in {line}" if line and here is not None and here.is_simple else ""
    steps = broken.trained
    return case.finding(
        operation.stack[-1].place,
        f"`{operation.name}`{where} passes no gradient on: the gradient of every parameter is"
        " exactly zero, and nothing learns.",
        facts=(
            Fact("gradients", f"exactly zero in {counted(len(steps.parameters), 'parameter')}"),
            Fact("they stop in", f"{birth.function}: others come in, zeros go out"),
            Fact("parameters behind it", f"{birth.behind:,} of {birth.reached:,} that take part"),
            *((Fact("the loss", f"{birth.loss:.5g}"),) if birth.loss is not None else ()),
        ),
        ruled_out=(Fact("learning rate", "times zero it is zero"),),
        why=why(operation.name),
        remedies=(Fix(advice(operation.name), choice=True),),
    )


@RULE.on(PartWithZeroGradient)
def an_operation_passes_no_gradient_to_a_part(
    broken: PartWithZeroGradient, case: Case
) -> Finding | None:
    asked = list(broken.names[:MOST_ASKED])
    birth = case.ask(GradientBirth, what="zero", step=AFTER, names=asked)
    operation = birth.operation if birth is not None else None
    if birth is None or operation is None or not operation.stack:
        return None
    if operation.name not in (*CONSTANT, *DEAD, *SATURATED) or is_of_the_loss(case, operation):
        return None
    return case.finding(
        operation.stack[-1].place,
        f"`{operation.name}` passes no gradient on to {some(broken.groups)}: it is exactly zero at"
        " every step looked at, and that part never learns.",
        facts=(
            Fact("exactly zero", f"in {counted(len(broken.names), 'parameter')}"),
            Fact("they stop in", f"{birth.function}: others come in, zeros go out"),
        ),
        ruled_out=(Fact("learning rate", "times zero it is zero"),),
        why=why(operation.name),
        remedies=(Fix(advice(operation.name), choice=True),),
    )


def is_of_the_loss(case: Case, operation: ForwardValue) -> bool:
    """A hinge that is satisfied leaves nothing to learn."""
    here = innermost(case.recording, operation.stack)
    text = here.source.segment(here.statement).lower() if here is not None else ""
    return "margin" in text or "loss" in text


def why(name: str) -> str:
    if name in CONSTANT:
        return f"`{name}` is constant between its jumps: its slope is zero everywhere."
    if name in DEAD:
        return f"`{name}` has a slope of zero where its input is negative, and all of it is."
    return "Its slope is zero at every element of what went in, so that nothing goes back through."


def advice(name: str) -> str:
    if name in CONSTANT:
        return f"Compute the loss without `{name}`, and keep it for the metric."
    if name in DEAD:
        return "Look at what goes in: a smaller rate, another initialisation, or `LeakyReLU`."
    return "Compute the loss by a way that depends on the parameters."
