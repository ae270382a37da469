"""Targets out of step with the inputs: from hand-made measures, and from tensors."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_partners import Partners, RowPartners
from surefit.doctor.observations import Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants.row_partners import violations_of
from surefit.observe.inside.measuring import row_partners
from surefit.observe.inside.training.row_prints import prints_of

APART = Partners(
    place=Place("train.py", 3),
    inputs="x",
    targets="cached",
    length=2000,
    rows=128,
    same=1,
    within=3,
    follow=124,
    inputs_follow=0,
    targets_follow=124,
)
PAIRED = replace(APART, same=128, within=128, targets_follow=0)


@pytest.mark.parametrize(
    ("partners", "broken"),
    [
        ((APART,), True),
        ((PAIRED,), False),
        ((APART, PAIRED), False),
        ((replace(APART, within=128),), False),
        ((replace(APART, inputs_follow=124),), False),
        ((replace(APART, targets_follow=0),), False),
        ((replace(APART, rows=40),), False),
        ((), False),
    ],
)
def test_measures(partners: tuple[Partners, ...], broken: bool) -> None:
    measure = RowPartners(process=Process(), step=3, partners=partners)
    assert bool(list(violations_of(Case(Recording([measure]))))) is broken


@pytest.fixture
def state() -> Iterator[row_partners.PartnerState]:
    row_partners.forget_parent()
    yield row_partners.state
    row_partners.forget_parent()


@pytest.mark.parametrize("form", ["plain", "scaled", "softmax"])
@pytest.mark.parametrize("by_position", [True, False])
def test_positions(state: row_partners.PartnerState, form: str, by_position: bool) -> None:
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 6, generator=generator)
    cached = torch.randn(500, 8, generator=generator)
    order = torch.randperm(500, generator=generator)
    state.width = 6
    for step in range(4):
        numbers = order[step * 40 : step * 40 + 40]
        taken = torch.arange(step * 40, step * 40 + 40) if by_position else numbers
        rows = cached[taken][: row_partners.ROWS]
        target = {"plain": rows, "scaled": rows * 3 + 1, "softmax": (rows / 2).softmax(1)}[form]
        prints = prints_of(x[numbers])
        assert prints is not None
        state.batches.append((prints.exact, target.double()))
    values = {"x": x, "cached": cached, "part": cached[:40], "name": "x"}
    [known] = row_partners._partners(values, Place("train.py", 3))
    assert (known.inputs, known.targets, known.rows) == ("x", "cached", 128)
    assert (known.same == 128) is not by_position
    assert (known.targets_follow == known.follow) is by_position
