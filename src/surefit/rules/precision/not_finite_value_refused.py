"""A value is NaN or infinite, and what takes it refuses: a distribution, a factorisation, a check.

## What happens
One operation gives NaN: the standard deviation of a single element, `log(0)`, 0 / 0, the mean of
nothing. `backward` brings it to every gradient, the step to every weight. The exception comes
later: `Categorical` refuses its logits, `multinomial` its probabilities, `cholesky` its matrix,
scikit-learn its scores, or an `assert torch.isfinite(...)` of your own fails.

## Why it matters
The line that raises is innocent, and so is the batch at hand: the fault is often an operation of an
earlier step. A lower learning rate, clipping and `validate_args=False` do not mend it.

## What to do
Keep the operation away from where it has no value: `correction=0` or a guard for a single element,
`clamp_min(1e-8)` under a logarithm or a root, `clamp(min=1)` under a count that is divided by.

## How it is recognised
The value that was refused is not finite, or the condition that failed asks for that. A second run
notes every operation, with its operands, and leads from the value back to the first that is not
finite; from weights that are NaN to the backward pass that brought it to them, and on from there.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.gradient_births import ForwardValue, ValueBirth
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand
from surefit.doctor.words import code, counted, shape_of, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.finite_values import RefusedAsNotFinite, is_bad
from surefit.laws.losses.birth_words import reason
from surefit.laws.training.rounds import innermost
from surefit.lineage.producers import Producer
from surefit.lineage.properties import not_finite
from surefit.remedies.away_from_the_pole import kept_finite
from surefit.remedies.replace import ReplaceWith

RULE = Rule(
    "SF985",
    "not-finite-value-refused",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            "found invalid values|probability tensor contains|contains (NaN|infinity)"
            "|cannot convert float NaN|returned nan values",
            "which operation gave the first value that is not finite, and at which step",
        ),
    ),
)

TAKEN_OVER = ("tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor", "given")
GIVEN, PARAMETER = "given", "parameter"
MOST_OPERANDS = 2


@RULE.on(RefusedAsNotFinite)
def first_value_is_not_finite(broken: RefusedAsNotFinite, case: Case) -> Finding | None:
    birth = case.ask(
        ValueBirth,
        what="nan",
        frame=broken.frame,
        text=broken.text,
        known=broken.known,
        from_step=broken.from_step,
        step=case.crash.steps if case.crash is not None else 0,
    )
    value = culprit_of(birth)
    if birth is None or value is None or not value.stack:
        return None
    earlier = made_before_torch(broken, value, case)
    if earlier is not None:
        return from_a_table(earlier, broken, case)
    return case.finding(
        value.stack[-1].place,
        f"{how(birth, value, written_at(case, value))}{aftermath(birth, broken)}",
        facts=tuple(facts(birth, value, broken, case)),
        why=why(birth, value),
        remedies=tuple(remedies(case, birth, value)),
    )


def made_before_torch(
    broken: RefusedAsNotFinite, value: ForwardValue, case: Case
) -> Producer | None:
    """Of what torch only took over: the first expression on arrays and tables that has it."""
    if value.name not in TAKEN_OVER:
        return None
    line = value.stack[-1].place.line
    for number, frame in enumerate(case.frames):
        for bad in (known for known in frame.values if frame.own and is_bad(known)):
            operand = Operand(value=bad, name=broken.name, frame=number)
            birth = case.lineage(operand).birth(of=not_finite)
            if birth is not None and birth.place.line != line:
                return birth
    return None


def from_a_table(birth: Producer, broken: RefusedAsNotFinite, case: Case) -> Finding:
    members = birth.value.members
    columns = {name: column.nones for name, column in members.items() if column.nones}
    told = spoken(f"{counted(number, 'row')} of `{name}`" for name, number in columns.items())
    divisor, source = divisor_of(birth, case), case.source(birth.place)
    because = ": where the divisor is 0, the quotient is NaN or infinite" if divisor else ""
    fix: Remedy | Fix = Fix("Keep it away from where it has no value.", choice=True)
    if divisor is not None and source is not None:
        text = f"{source.segment(divisor)}.replace(0, 1)"
        words = f"Divide by 1 where it is 0: {code(text)}."
        fix = ReplaceWith(at=case.expression(source, divisor), text=text, words=words)
    crash = case.crash
    return case.finding(
        birth.place,
        f"{code(' '.join(birth.text.split()))} gives NaN or infinity"
        f"{f' in {told}' if told else ''}, and `{broken.taker}` refuses `{broken.name}`.",
        facts=(
            Fact("refused at", f"{broken.use.place}, after {crash.steps if crash else 0:,} steps"),
        ),
        why=f"What is computed from it is NaN, too{because}.",
        remedies=(fix,),
    )


def divisor_of(birth: Producer, case: Case) -> ast.expr | None:
    """Of a table of pandas that is divided by a column of numbers."""
    node = case.node(birth)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    return node.right if birth.value.kind in ("DataFrame", "Series") else None


def culprit_of(birth: ValueBirth | None) -> ForwardValue | None:
    """The operation that gave the first bad value; of bad data, where it is first computed with;
    where every value was good, the operation whose gradient is not."""
    if birth is None:
        return None
    late = birth.gradient
    source = birth.source or (late.source if late is not None else None)
    met = birth.met or (late.met if late is not None else None)
    if source is not None and source.name == GIVEN:
        return met or source
    return source or (late.operation if late is not None else None)


def is_of_gradient(birth: ValueBirth) -> bool:
    """Every value was finite, and the gradient of one was not."""
    return birth.gradient is not None and birth.gradient.source is None


def is_in_the_data(birth: ValueBirth) -> bool:
    late = birth.gradient
    source = birth.source or (late.source if late is not None else None)
    return source is not None and source.name == GIVEN


def how(birth: ValueBirth, value: ForwardValue, written: str) -> str:
    if is_of_gradient(birth):
        return f"The gradient of `{value.name}` in {written} is not finite, though its value is"
    if is_in_the_data(birth):
        return f"`{value.holder or value.name}` in {written} already holds NaN or infinity"
    said = reason(value)
    because = f": {said}" if said else ""
    return f"`{value.name}` in {written} gives NaN or infinity{because}"


def aftermath(birth: ValueBirth, broken: RefusedAsNotFinite) -> str:
    """What became of it, up to the crash."""
    refused = f"`{broken.taker}` refuses `{broken.name}`" if broken.name else ""
    if not broken.taker:
        refused = f"your check of `{broken.name}` fails"
    if broken.taker == "anomaly detection":
        return ". Anomaly detection raises at its backward pass."
    if birth.gradient is not None:
        return (
            f". Step {birth.gradient.step + 1:,} brought it into the weights, and"
            f" {refused or 'the next check fails'}."
        )
    return f", and {refused or f'`{broken.taker}` raises'}."


def facts(
    birth: ValueBirth, value: ForwardValue, broken: RefusedAsNotFinite, case: Case
) -> Iterator[Fact]:
    for operand in value.operands[:MOST_OPERANDS]:
        shape = shape_of(operand.shape) if operand.shape else "one number"
        span = (
            f", {operand.least:.4g} … {operand.greatest:.4g}" if operand.least is not None else ""
        )
        zeros = f", {operand.zeros:,} zero" if operand.zeros else ""
        yield Fact("it was given", f"{shape}{span}{zeros}")
    if value.bad:
        yield Fact("first not finite", f"{value.bad:,} of {value.elements:,} elements")
    late = birth.gradient
    if late is not None:
        yield Fact("first bad gradient", f"out of {late.function}, in step {late.step + 1:,}")
        if late.loss is not None:
            yield Fact("the loss there", f"{late.loss:.5g}")
    if case.crash is not None:
        yield Fact("refused at", f"{broken.use.place}, after {case.crash.steps:,} steps")


def why(birth: ValueBirth, value: ForwardValue) -> str:
    if is_of_gradient(birth):
        return (
            "The slope is infinite where a function has a vertical tangent (`sqrt` at 0), and"
            " infinity times zero is NaN."
        )
    if birth.gradient is not None:
        return (
            "NaN times anything is NaN: one such element makes every gradient NaN, clipping keeps"
            " it, and a single step writes it into every weight."
        )
    if is_in_the_data(birth):
        return "What is computed from it is NaN, too; no operation on the way made it."
    return f"What is computed from `{value.name}` is NaN or infinite, too."


def written_at(case: Case, value: ForwardValue) -> str:
    here = innermost(case.recording, value.stack)
    if here is None or not here.is_simple:
        return "this line"
    return code(here.source.segment(here.statement).split("\n")[0])


def remedies(case: Case, birth: ValueBirth, value: ForwardValue) -> Iterator[Remedy | Fix]:
    if is_in_the_data(birth):
        words = "Fill in or leave out what is missing where the data is read (`torch.isfinite`)."
        yield Fix(words, choice=True)
        return
    must = TrainingGoesOn(changes_the_past=True) if is_of_gradient(birth) else None
    known = list(kept_finite(case, value, must))
    yield from known
    if not known:
        yield Fix(
            "Keep what goes in away from where the operation has no value. If numbers grew from"
            " step to step until they overflowed, lower the learning rate or clip gradients.",
            choice=True,
        )
