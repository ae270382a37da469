"""What operations compute with: scales above 0, probabilities from 0 to 1, lengths from 1 on."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.operations.operands import operand_in
from surefit.laws.values.names import name_in
from surefit.lineage.properties import Property, numbers
from surefit.source.reading import called

DISTRIBUTIONS = "torch/distributions/"
ABOVE = "_GreaterThan"
SIMPLEX = "_Simplex"


@dataclass(frozen=True, slots=True)
class Domain:
    """Numbers that an operation takes."""

    lower: float | None = None
    upper: float | None = None
    is_open: bool = False
    """The lower bound itself is not taken."""
    is_simplex: bool = False
    """Along the last axis they add up to 1."""

    @property
    def words(self) -> str:
        """After "takes"."""
        if self.is_simplex:
            return "probabilities that add up to 1"
        if self.lower is not None and self.upper is not None:
            return f"numbers from {self.lower:g} to {self.upper:g}"
        if self.lower is not None:
            return f"numbers {'above' if self.is_open else 'of at least'} {self.lower:g}"
        return f"numbers of at most {self.upper:g}"

    def left_by(self, value: Value) -> bool | None:
        """Some number of a value lies outside; None where its numbers are not known."""
        pair = numbers(value)
        if pair is None:
            return None
        low = self.lower is not None and (pair[0] < self.lower or self.at_open_end(pair[0]))
        return low or (self.upper is not None and pair[1] > self.upper)

    def at_open_end(self, number: float) -> bool:
        return self.is_open and number == self.lower

    @property
    def outside(self) -> Property:
        return Property(f"holds other than {self.words}", self.left_by)


SHARES = Domain(lower=0.0, upper=1.0)
LENGTHS = Domain(lower=1.0)
IN_FUNCTIONS = {
    ("torch/nn/functional.py", "binary_cross_entropy"): {"input": SHARES},
    ("torch/nn/utils/rnn.py", "pack_padded_sequence"): {"lengths": LENGTHS},
}
"""Functions of torch that have a frame, and what their arguments may be."""
IN_OPERATIONS = {"multinomial": Domain(lower=0.0), "bernoulli": SHARES}
"""Operations without a frame, and what the tensor may be that they draw by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideTheDomain(Violation):
    """An operation was given numbers that it is not defined for."""

    operand: Operand
    parameter: str
    """As the operation calls it: `scale`, `lengths`."""
    taker: str
    """The operation: `Normal`."""
    domain: Domain


class EmptySequence(OutsideTheDomain):
    """A sequence of length 0, where sequences are packed."""


def violations_of(case: Case) -> Iterator[OutsideTheDomain]:
    if case.crash is None or case.own is None or case.crash.in_backward:
        return
    last = case.frames[-1]
    if last.own:
        yield from of_operation(case, last)
    elif DISTRIBUTIONS in last.place.file:
        yield from of_distribution(case, last)
    else:
        yield from of_function(case, last, domains_in(last))


def domains_in(last: Frame) -> dict[str, Domain]:
    """Of the arguments of a function of torch's; empty for all others."""
    known = IN_FUNCTIONS.items()
    every = (
        domains
        for (file, function), domains in known
        if last.function == function and last.place.file.endswith(file)
    )
    return next(every, {})


def of_distribution(case: Case, last: Frame) -> Iterator[OutsideTheDomain]:
    """A parameter that the class of a distribution constrains, where that is checked."""
    parameter, value, constraint = (last.value(text) for text in ("param", "value", "constraint"))
    if parameter is None or value is None or constraint is None:
        return
    domain, name = domain_of(constraint), str(parameter.scalar)
    if domain is None or not (domain.left_by(value) or domain.is_simplex):
        return
    made = last.value("self")
    yield OutsideTheDomain(
        use=use_of(case.frames[case.number]),
        operand=argument(case, name, value),
        parameter=name,
        taker=made.kind if made is not None else "the distribution",
        domain=domain,
    )


def domain_of(constraint: Value) -> Domain | None:
    """Of a constraint of `torch.distributions`, by the bounds that it holds."""
    if constraint.kind == SIMPLEX:
        return Domain(lower=0.0, upper=1.0, is_simplex=True)
    bounds = {
        name: float(member.scalar)
        for name, member in constraint.members.items()
        if name in ("lower_bound", "upper_bound") and isinstance(member.scalar, int | float)
    }
    if not bounds:
        return None
    lower, upper = bounds.get("lower_bound"), bounds.get("upper_bound")
    return Domain(lower, upper, is_open=constraint.kind == ABOVE)


def of_function(case: Case, last: Frame, domains: dict[str, Domain]) -> Iterator[OutsideTheDomain]:
    for name, domain in domains.items():
        value = last.value(name)
        if value is None or not domain.left_by(value):
            continue
        kind = EmptySequence if domain is LENGTHS else OutsideTheDomain
        assert case.own is not None
        yield kind(
            use=use_of(case.own),
            operand=argument(case, name, value),
            parameter=name,
            taker=last.function,
            domain=domain,
        )
        return


def of_operation(case: Case, own: Frame) -> Iterator[OutsideTheDomain]:
    node, source = case.node(own), case.source(own)
    if not isinstance(node, ast.Call) or source is None:
        return
    domain = IN_OPERATIONS.get(called(node))
    drawn_by = node.func.value if isinstance(node.func, ast.Attribute) else None
    if source.imported(node.func).startswith("torch."):
        drawn_by = source.argument(node, "input", 0)
    if domain is None or drawn_by is None:
        return
    operand = operand_in(case, source, drawn_by)
    if domain.left_by(operand.value):
        yield OutsideTheDomain(
            use=use_of(own),
            operand=operand,
            parameter="input",
            taker=called(node),
            domain=domain,
        )


def argument(case: Case, name: str, value: Value) -> Operand:
    """What the user's innermost call gives under a name of the function that it calls; the value
    of the innermost frame, where that cannot be told."""
    number = len(case.frames) - 1
    taking = [frame.arguments for frame in case.frames[case.number + 1 :]]
    names = next((list(known) for known in taking if name in known), [name])
    position = names.index(name) - ("self" in names)
    call = use_of(case.frames[case.number]) if through_torch(case) else None
    use = case.argument(call, name, position)
    node, source = case.node(use), case.source(use)
    text = (use.text if use is not None else "") or name_in(case, value)
    plain = Operand(value=value, name=in_code(text, f"`{name}`"), frame=number, use=use)
    if node is None or source is None:
        return plain
    written = operand_in(case, source, node)
    known = written.value.shape is not None
    return replace(plain, value=written.value, frame=case.number) if known else plain


def through_torch(case: Case) -> bool:
    """The user's call is that of the function or of a module of it, not of a model."""
    between = case.frames[case.number + 1 :]
    return all("torch/" in frame.place.file for frame in between)
