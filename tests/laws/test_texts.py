"""Which operands of an expression count as computed with."""

import pytest

from surefit.laws.contracts.texts import NUMBER, computed_with


@pytest.mark.parametrize(
    ("expression", "operands"),
    [
        ("if not 0.0 <= lr:", ["lr"]),
        ("total + row['x']", ["total", "row['x']"]),
        ("nn.Linear(4, args.hidden)", ["args.hidden"]),
        ("range(config['epochs'])", ["config['epochs']"]),
        ("-scale", ["scale"]),
        ("name == other", []),
        ("'%s' % name", []),
        ("key in table", []),
        ("broken (", []),
    ],
)
def test_operands(expression: str, operands: list[str]) -> None:
    assert list(computed_with(expression)) == operands


@pytest.mark.parametrize("text", ["3e-3", "16", " 0.5", "-1", "1_000", ".5"])
def test_numbers(text: str) -> None:
    assert NUMBER.fullmatch(text)


@pytest.mark.parametrize("text", ["", "auto", "1 2", "v2", "1.2.3", "e5"])
def test_other_texts(text: str) -> None:
    assert not NUMBER.fullmatch(text)
