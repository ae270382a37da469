"""Every label but a row's first is a target, at the place before it, and nothing else is."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.tokens import IGNORED
from surefit.losses.places import find_places, supervised_places

labels_of = st.one_of(st.just(IGNORED), st.integers(0, 50))


@st.composite
def grids(draw: st.DrawFn) -> torch.Tensor:
    batch, tokens = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    rows = st.lists(labels_of, min_size=tokens, max_size=tokens)
    return torch.tensor(draw(st.lists(rows, min_size=batch, max_size=batch)))


@given(grids())
def test_places_and_targets_are_those_of_a_loop(labels: torch.Tensor) -> None:
    batch, tokens = labels.shape
    wanted = [
        (row * tokens + at - 1, int(labels[row, at]))
        for row in range(batch)
        for at in range(1, tokens)
        if labels[row, at] != IGNORED
    ]
    found = find_places(labels)
    assert list(zip(found.index.tolist(), found.targets.tolist(), strict=True)) == wanted
    assert len(found) == supervised_places(labels) == len(wanted)


@given(grids())
def test_what_lies_at_them(labels: torch.Tensor) -> None:
    batch, tokens = labels.shape
    grid = torch.arange(batch * tokens * 3).reshape(batch, tokens, 3)
    found = find_places(labels)
    assert torch.equal(found.of(grid), grid[found.index // tokens, found.index % tokens])


@given(grids())
def test_a_gradient_goes_back_to_where_it_came_from(labels: torch.Tensor) -> None:
    grid = torch.randn(*labels.shape, 2, requires_grad=True)
    found = find_places(labels)
    found.of(grid).sum().backward()
    reached = torch.zeros(labels.numel())
    reached[found.index] = 1
    assert grid.grad is not None
    assert torch.equal(grid.grad, reached.reshape(labels.shape)[..., None].expand_as(grid))


def test_labels_are_left_as_they_were() -> None:
    labels = torch.tensor([[5, 6, 7]])
    find_places(labels)
    assert labels.tolist() == [[5, 6, 7]]


def test_a_row_does_not_end_in_the_next_one() -> None:
    found = find_places(torch.tensor([[IGNORED, 4], [9, IGNORED]]))
    assert found.index.tolist() == [0]
    assert found.targets.tolist() == [4]
