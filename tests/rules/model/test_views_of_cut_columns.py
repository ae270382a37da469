"""Views that are sure to fail, read from the source."""

import ast

import pytest

from surefit.rules.model.view_of_a_slice import joined_rows
from surefit.source.reading import Source


@pytest.mark.parametrize(
    "text",
    [
        "y = x[:, 1:].view(-1)",
        "y = x[:, :-1].view(-1)",
        "y = x[:, 1:-1].view(-1)",
        "y = x[:, :-1, :].view(-1, words)",
        "z = x[:, 1:]\ny = z.view(-1)",
    ],
)
def test_joins_what_a_slice_has_parted(text: str) -> None:
    ((call, cut),) = joined_rows(Source("s.py", text))
    assert ast.unparse(call).startswith(("x[", "z.view"))
    assert ast.unparse(cut).startswith("x[:, ")


@pytest.mark.parametrize(
    "text",
    [
        "y = x[1:].view(-1)",
        "y = x[:, 1:].reshape(-1)",
        "y = x[:, 1:].contiguous().view(-1)",
        "y = x[:, :width].view(-1)",
        "y = x[:, 0:].view(-1)",
        "y = x[:, :, :width].view(rows, steps, heads, -1)",
        "y = x[:, 1:].view(-1, words)",
        "y = x[:, 1:].view(rows, -1)",
        "y = x[:, 1:].view(dtype)",
        "z = x[:, 1:]\nz = z.contiguous()\ny = z.view(-1)",
        "z = x[:, 1:]\nif rows:\n    z = z.contiguous()\ny = z.view(-1)",
    ],
)
def test_says_nothing_of_what_can_work(text: str) -> None:
    assert list(joined_rows(Source("s.py", text))) == []
