"""Which numbers lie outside of what an operation takes, and what a constraint says of that."""

import pytest

from surefit.doctor.observations import Value
from surefit.laws.contracts.domains import LENGTHS, SHARES, Domain, domain_of

POSITIVE = Domain(lower=0.0, is_open=True)


def tensor(least: float, greatest: float) -> Value:
    return Value("x", "Tensor", shape=(2,), dtype="float32", least=least, greatest=greatest)


def constraint(kind: str, **bounds: float) -> Value:
    members = {name: Value(name, "float", scalar=bound) for name, bound in bounds.items()}
    return Value("constraint", kind, members=members)


@pytest.mark.parametrize(
    ("domain", "least", "greatest", "is_outside"),
    [
        (POSITIVE, -0.5, 2.0, True),
        (POSITIVE, 0.0, 2.0, True),
        (POSITIVE, 0.1, 2.0, False),
        (SHARES, 0.0, 1.0, False),
        (SHARES, 0.0, 1.5, True),
        (SHARES, -0.1, 0.5, True),
        (LENGTHS, 0.0, 7.0, True),
        (LENGTHS, 1.0, 7.0, False),
    ],
)
def test_numbers(domain: Domain, least: float, greatest: float, is_outside: bool) -> None:
    assert domain.left_by(tensor(least, greatest)) is is_outside


def test_numbers_that_are_not_known() -> None:
    assert SHARES.left_by(Value("x", "Tensor", shape=(2,), dtype="float32")) is None


def test_constraints_of_distributions() -> None:
    assert domain_of(constraint("_GreaterThan", lower_bound=0.0)) == POSITIVE
    assert domain_of(constraint("_GreaterThanEq", lower_bound=0.0)) == Domain(lower=0.0)
    assert domain_of(constraint("_Interval", lower_bound=0.0, upper_bound=1.0)) == SHARES
    assert domain_of(constraint("_Real")) is None


def test_the_constraint_kinds_are_those_of_torch() -> None:
    from torch.distributions import constraints

    assert type(constraints.positive).__name__ == "_GreaterThan"
    assert type(constraints.simplex).__name__ == "_Simplex"
