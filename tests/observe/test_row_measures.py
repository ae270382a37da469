"""Rows by content, and how loaders use them, on real tensors and a real run."""

from pathlib import Path

import pytest
import torch

from running import forked_observed, written
from surefit.doctor.measures.label_ids import LabelIds
from surefit.doctor.measures.row_sets import RowSets
from surefit.doctor.measures.row_use import RowUse
from surefit.observe.inside.training import near_rows, readable
from surefit.observe.inside.training.model_rows import rows_of
from surefit.observe.inside.training.row_prints import RowPrints, prints_of


def printed(tensor: torch.Tensor, mask: torch.Tensor | None = None) -> RowPrints:
    with readable.looking():
        rows = prints_of(tensor, mask)
    assert rows is not None
    return rows


def test_equal_rows_have_equal_prints_and_others_do_not() -> None:
    x = torch.randn(500, 20)
    rows = printed(x)
    assert len(set(rows.exact)) == 500
    assert printed(x.clone().reshape(500, 4, 5)).exact == rows.exact
    assert not set(printed(x.flip(1)).exact) & set(rows.exact)
    assert printed(x.flip(1)).orderless == rows.orderless


@pytest.mark.parametrize(
    ("tensor", "continuous"),
    [
        (torch.rand(64, 5), True),
        (torch.randint(0, 2, (64, 5)).float(), False),
        (torch.randint(0, 9, (64, 5)), False),
        (torch.full((64, 5), 0.5), False),
    ],
)
def test_numbers_that_repeat_by_chance(tensor: torch.Tensor, continuous: bool) -> None:
    assert printed(tensor).continuous is continuous


def test_padding_has_no_part_in_tokens() -> None:
    tokens = torch.randint(5, 90, (6, 9))
    right = torch.cat([tokens, torch.zeros(6, 4, dtype=torch.long)], 1)
    left = torch.cat([torch.full((6, 4), 3), tokens], 1)
    mask = torch.cat([torch.zeros(6, 4), torch.ones(6, 9)], 1)
    assert printed(right).exact == printed(tokens).exact
    assert printed(left, mask).exact == printed(tokens).exact
    assert printed(left).exact != printed(tokens).exact


def test_rows_of_a_call_are_those_of_all_its_tensors() -> None:
    user, item = torch.tensor([[1], [1], [2]]), torch.tensor([[5], [6], [5]])
    with readable.looking():
        together = rows_of((user, item), {})
        labelled = rows_of((user,), {"item": item, "labels": torch.ones(3)})
        graph = rows_of((torch.randn(7, 3), torch.ones(2, 9).long()), {})
    assert together is not None
    assert labelled is not None
    assert len(set(together.exact)) == 3
    assert labelled.exact == together.exact
    assert graph is None


def test_noisy_copies_are_near_and_members_of_a_class_are_not() -> None:
    torch.manual_seed(0)
    x = torch.randn(400, 60)
    others = [printed(x + 0.1 * torch.randn_like(x)).sketch]
    with readable.looking():
        copies = near_rows.compared([printed(x).sketch], others)
        fresh = near_rows.compared([printed(torch.randn(400, 60)).sketch], others)
        centres = torch.randn(8, 60)[torch.randint(0, 8, (800,))]
        groups = centres + 0.1 * torch.randn(800, 60)
        parts = printed(groups[:400]).sketch, printed(groups[400:]).sketch
        members = near_rows.compared([parts[0]], [parts[1]])
    assert copies.near == copies.looked == 200
    assert copies.copies == 1
    assert fresh.near == 0
    assert members.near == 0


SCRIPT = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x, y = torch.randn(120, 6), torch.arange(3).repeat_interleave(40)
    train = DataLoader(TensorDataset(x[:90], y[:90]), batch_size=10)
    val = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=20)
    model = nn.Linear(6, 3)
    teacher = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.train()
        for a, b in train:
            with torch.no_grad():
                teacher(a)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for a, b in val:
                model(a)
"""


def test_a_run_is_measured(tmp_path: Path) -> None:
    ran = forked_observed([written(tmp_path, train=SCRIPT).name], tmp_path)
    assert ran.code == 0, ran.err
    assert ran.faults == []
    (sets,) = ran.seen.all(RowSets)
    (trained,) = sets.trained
    (evaluated,) = [row for row in sets.evaluated if row.model == trained.model]
    assert (trained.distinct, trained.rows, trained.continuous) == (90, 270, True)
    assert (evaluated.rows, evaluated.equal, evaluated.step) == (40, 10, 9)
    assert evaluated.loader is not None
    assert evaluated.loader.place is not None
    assert evaluated.loader.place.line == 8
    (use,) = next(ran.seen.all(RowUse)).loaders
    assert (use.iterations, use.finished, use.alike, use.rows) == ((9, 9, 9), 3, 2, 90)
    assert use.labels is not None
    assert (use.labels.runs, use.labels.changes) == ((0, 1, 2), 2)
    (ids,) = ran.seen.all(LabelIds)
    assert sum(pair.rows for pair in ids.pairs) == 40
