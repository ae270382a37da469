"""Everything that changes in training comes back, in as many processes or in others."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from surefit.errors import BadInput
from surefit.train import checkpoint, random_state
from surefit.train.checkpoint import KEEP, Parts, checkpoints, load_checkpoint, save_checkpoint
from surefit.train.progress import Progress
from surefit.train.ranks import Ranks

IDENTITY = {"rows": "1", "model": "2"}


class Told(Ranks):
    """A process whose fellows send what they are told to."""

    fellows: tuple[dict[str, Any], ...] = ()

    def gathered(self, mine: Any) -> Any:
        return [*mine, *self.fellows]

    def first_does(self, work: Any) -> Any:
        return work()


def parts(seed: int = 0) -> Parts:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 1))
    model[0].requires_grad_(False)
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: 0.5**at)
    return Parts(model, optimizer, schedule)


def steps(made: Parts, count: int) -> list[float]:
    losses = []
    for number in range(count):
        loss = made.model(torch.full((3, 4), 1.0 + number)).square().sum()
        loss.backward()
        made.optimizer.step()
        made.schedule.step()
        made.optimizer.zero_grad()
        losses.append(loss.item() + random.random())
    return losses


def test_it_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    made = parts()
    steps(made, 3)
    progress = Progress(step=3, epoch=1, loss_sum=0.25)
    save_checkpoint(tmp_path, made, progress, IDENTITY)
    wanted = steps(made, 3)
    again = parts()  # frozen weights are not saved: they are the model's own
    assert load_checkpoint(tmp_path / "step-0000003", again, IDENTITY) == progress
    assert steps(again, 3) == wanted


def test_each_process_gets_its_own_random_numbers_back(tmp_path: Path) -> None:
    torch.manual_seed(7)
    second = random_state.random_state()
    wanted = torch.rand(3)
    ranks = Told(world=2)
    object.__setattr__(ranks, "fellows", (second,))
    save_checkpoint(tmp_path, parts(), Progress(step=1), IDENTITY, ranks)
    load_checkpoint(tmp_path / "step-0000001", parts(3), IDENTITY, Ranks(1, 2, 1))
    assert torch.equal(torch.rand(3), wanted)


def test_a_process_that_is_new_draws_numbers_of_its_own(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, parts(), Progress(step=1), IDENTITY)
    drawn = []
    for rank in (0, 1, 2, 1):
        load_checkpoint(tmp_path / "step-0000001", parts(9), IDENTITY, Ranks(rank, 3, rank))
        drawn.append((torch.rand(2).tolist(), random.random()))
    assert drawn[1] == drawn[3], "the same whenever the run goes on from there"
    assert len({str(one) for one in drawn}) == 3, "and no other process's"


def test_ranks_begin_with_numbers_of_their_own() -> None:
    drawn = []
    for seed, rank in ((1, 0), (1, 1), (2, 1), (1, 1)):
        random_state.seed_rank(seed, rank)
        drawn.append((torch.rand(2).tolist(), random.random()))
    assert drawn[1] == drawn[3]
    assert len({str(one) for one in drawn}) == 3


def test_the_newest_are_kept(tmp_path: Path) -> None:
    made = parts()
    for step in (9, 10, 100):
        save_checkpoint(tmp_path, made, Progress(step=step), IDENTITY)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-0000010", "step-0000100"]
    assert KEEP == 2


def test_a_failed_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(BadInput, match="the disk is full"):
        save_checkpoint(tmp_path, parts(), Progress(step=1), IDENTITY)
    assert list(tmp_path.iterdir()) == []


def test_another_run_is_refused_before_anything_changes(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, parts(), Progress(step=1), IDENTITY)
    other = parts(5)
    before = [one.clone() for one in other.model.parameters()]
    with pytest.raises(BadInput, match="other `model`"):
        load_checkpoint(tmp_path / "step-0000001", other, {**IDENTITY, "model": "3"})
    assert all(
        torch.equal(one, two) for one, two in zip(before, other.model.parameters(), strict=True)
    )
