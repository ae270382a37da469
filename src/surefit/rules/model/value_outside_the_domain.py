"""An operation was given numbers that it is not defined for: a negative scale, a probability of 3.

## What happens
The scale of a distribution must be positive, a probability lies between 0 and 1, and those of all
classes add up to 1. The output of a layer, or a parameter that is learned, can be any number:
`Expected parameter scale ... to satisfy the constraint GreaterThan(lower_bound=0.0)`, `all elements
of input should be between 0 and 1`, `probability tensor contains either inf, nan or element < 0`.

## Why it matters
It can work for hundreds of steps, until the number leaves the domain. With `validate_args=False`
the logarithm of a negative number is NaN, and so is every weight one step later.

## What to do
Map it into the domain where it is computed: `log_std.exp()` or `softplus` for a scale, `sigmoid`
for a probability, `softmax` for several; or give it as what it is (`logits=`,
`binary_cross_entropy_with_logits`).

## How it is recognised
The constraint is read from the frame that checks it, or known of the operation, and the numbers of
the argument lie outside. A second run tells which expression gave them. NaN is left to other rules.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.domains import EmptySequence, OutsideTheDomain
from surefit.lineage.lineage import Lineage
from surefit.lineage.properties import numbers, of_several
from surefit.remedies.append import Append
from surefit.remedies.wrap import Wrap

SYMPTOM = Symptom(
    "to satisfy the constraint|all elements of input should be between 0 and 1"
    "|probability tensor contains either|Expected p_in >= 0",
    "which numbers the argument holds, and which the operation takes",
)
RULE = Rule("SF353", "value-outside-the-domain", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

SLIGHTLY = 0.01
"""So far beyond a bound numbers get by rounding or by noise."""
LEAST_SCALE = 1e-6
LEARNED = "Parameter"


@RULE.on(OutsideTheDomain)
def numbers_lie_outside_the_domain(broken: OutsideTheDomain, case: Case) -> Finding | None:
    if isinstance(broken, EmptySequence):
        return None  # empty-sequence has that
    operand = broken.operand
    lineage = case.lineage(operand)
    at = computed_at(broken, lineage) or operand.use
    birth = lineage.birth(of=of_several(broken.domain.outside))
    if birth is not None and numbers(birth.value) != numbers(operand.value):
        birth = None  # outside by coincidence: the features of a layer, say
    return case.finding(
        (at or broken.use).place,
        f"{operand.name} {held(broken)}; {asked(broken)} takes {broken.domain.words}.",
        facts=(
            operand.fact(span(broken)),
            *fact_at("computed at", at if at is not operand.use else None),
            *fact_at("from", birth),
            *fact_at("fails at", broken.use),
        ),
        why=why(broken, lineage),
        remedies=remedies(broken, case, at, lineage),
    )


def asked(broken: OutsideTheDomain) -> str:
    plain = f"`{broken.taker}`"
    return plain if broken.parameter == "input" else f"the `{broken.parameter}` of {plain}"


def held(broken: OutsideTheDomain) -> str:
    low, high = numbers(broken.operand.value) or (0.0, 0.0)
    domain = broken.domain
    if domain.lower is not None and low < 0 <= domain.lower:
        return f"is negative ({low:.4g})" if low == high else f"holds negative numbers ({low:.4g})"
    if domain.lower is not None and (low < domain.lower or domain.at_open_end(low)):
        return f"is {low:.4g}" if low == high else f"holds {low:.4g}"
    return f"holds numbers up to {high:.4g}"


def span(broken: OutsideTheDomain) -> str:
    low, high = numbers(broken.operand.value) or (0.0, 0.0)
    return f"from {low:.4g} to {high:.4g}"


def computed_at(broken: OutsideTheDomain, lineage: Lineage) -> Written | None:
    """The newest expression of the user's that computes the argument: a tensor of its own, not
    several in a tuple, and not the parameter that is learned."""
    for producer in lineage.producers[:1]:
        is_tensor = producer.value.device is not None and producer.value.kind != LEARNED
        if is_tensor and producer.span is not None and broken.domain.left_by(producer.value):
            return producer
    return None


def is_logarithm(broken: OutsideTheDomain, lineage: Lineage) -> bool:
    """By its name, or by that of what it is computed from."""
    texts = (broken.operand.name, *(producer.text for producer in lineage.producers[:2]))
    return any("log" in text and "logit" not in text for text in texts)


def why(broken: OutsideTheDomain, lineage: Lineage) -> str:
    if broken.domain.upper is not None or broken.taker == "multinomial":
        return "What a layer gives can be any number; nothing makes probabilities of it on the way."
    if is_logarithm(broken, lineage):
        return "By its name it is a logarithm, and nothing takes its `exp()` on the way."
    return "What is computed or learned can be any number; nothing keeps it in the domain."


def remedies(
    broken: OutsideTheDomain, case: Case, at: Written | None, lineage: Lineage
) -> Iterator[Remedy | Fix]:
    if at is None or is_plain_number(broken, case):
        yield Fix(f"Give {asked(broken)} {broken.domain.words}.", choice=True)
        return
    for suffix, words in suffixes(broken, lineage):
        shown = f"{words}: {code(f'{at.text}{suffix}')}."
        yield Append(at=at, suffix=suffix, words=shown, choice=True, alike=False)
    is_scale = broken.domain.upper is None and broken.taker != "multinomial"
    if is_scale and not is_logarithm(broken, lineage):
        words = "Make it positive, growing slowly: `softplus`."
        yield Wrap(
            at=at,
            before="torch.nn.functional.softplus(",
            after=")",
            imports="torch",
            words=words,
            choice=True,
            alike=False,
        )


def suffixes(broken: OutsideTheDomain, lineage: Lineage) -> Iterator[tuple[str, str]]:
    """What maps it into the domain; numbers that are hardly outside are only cut."""
    domain = broken.domain
    low, high = numbers(broken.operand.value) or (0.0, 0.0)
    lower, upper = domain.lower or 0.0, domain.upper
    hardly = lower - low <= (0 if upper is None else SLIGHTLY)
    if hardly and (upper is None or high - upper <= SLIGHTLY) and not domain.is_simplex:
        if upper is None and not is_logarithm(broken, lineage):
            yield f".clamp(min={lower + LEAST_SCALE:g})", "Keep it above the bound"
        elif upper is not None:
            yield f".clamp({lower:g}, {upper:g})", "Keep it inside"
    elif domain.is_simplex or broken.taker == "multinomial":
        yield ".softmax(dim=-1)", "Make probabilities of it"
    elif (lower, upper) == (0.0, 1.0):
        yield ".sigmoid()", "Make a probability of it"
    if upper is None and broken.taker != "multinomial":
        yield ".exp()", "Take it as the logarithm"


def is_plain_number(broken: OutsideTheDomain, case: Case) -> bool:
    use = broken.operand.use
    value = case.own.value(use.text) if case.own is not None and use is not None else None
    node = case.node(use)
    written = isinstance(node, ast.Constant | ast.UnaryOp)
    return written or (value is not None and value.scalar is not None)
