"""Batches cut to their first rows: the list of their numbers, after all of them were drawn."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from surefit.observe.inside import small_batches, spool
from surefit.observe.inside.small_batches import rows_of_a_batch, shortened


def sampler(name: str = "BatchSampler", of: str = "torch.utils.data.sampler", **held: Any) -> Any:
    """Of a class that is known by its name and its module."""
    return type(name, (SimpleNamespace,), {"__module__": of})(**held)


def rows(by: Any, kind: int = 0, collates: bool = True) -> Any:
    """What goes through the rows of a loader, as far as it is looked at."""
    return SimpleNamespace(_index_sampler=by, _dataset_kind=kind, _auto_collation=collates)


@pytest.fixture(autouse=True)
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(spool.FOLDER, str(tmp_path))
    monkeypatch.setattr(small_batches, "_noted", set())
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def seen(folder: Path) -> list[tuple[int | None, int | None, str]]:
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    every = [json.loads(line) for line in lines]
    assert {one["saw"] for one in every} <= {"Shrunk"}
    return [(one["rows"], one["kept"], one["why_not"]) for one in every]


def test_the_first_rows_are_kept_and_the_sampler_s_own_list_is_as_it_was(noted: Path) -> None:
    drawn = [9, 3, 5, 1, 7, 2]
    assert shortened(rows(sampler()), drawn, 4) == [9, 3, 5, 1]
    assert len(drawn) == 6
    assert shortened(rows(sampler()), drawn, 4) == [9, 3, 5, 1]
    assert seen(noted) == [(6, 4, "")]


def test_of_small_batches_nothing_is_said(noted: Path) -> None:
    drawn = [9, 3]
    assert shortened(rows(sampler("Own", "train")), drawn, 4) is drawn
    assert seen(noted) == []


def test_an_accelerated_loader_draws_from_another(noted: Path) -> None:
    around = sampler("BatchSamplerShard", "accelerate.data_loader", batch_sampler=sampler())
    assert shortened(rows(around), list(range(8)), 2) == [0, 1]
    own = sampler("PairsOfOneClass", "train")
    around = sampler("BatchSamplerShard", "accelerate.data_loader", batch_sampler=own)
    assert shortened(rows(around), list(range(8)), 2) == list(range(8))
    assert seen(noted)[1] == (8, 8, "`PairsOfOneClass` chooses which rows make a batch")


@pytest.mark.parametrize(
    ("through", "drawn", "why"),
    [
        (rows(sampler(), kind=1), [None] * 8, "its dataset is a stream (`IterableDataset`)"),
        (rows(None, collates=False), 3, "the dataset makes the batches (`batch_size=None`)"),
        (rows(sampler("BatchSampler", "train")), [1] * 8, "`BatchSampler` chooses which rows"),
        (rows(sampler()), tuple(range(8)), "what is drawn for a batch is no list"),
    ],
)
def test_other_loaders_are_left_alone_and_it_is_said(
    noted: Path, through: Any, drawn: Any, why: str
) -> None:
    assert shortened(through, drawn, 4) is drawn
    ((size, kept, said),) = seen(noted)
    assert size == kept
    assert said.startswith(why)


def test_ranks_are_left_alone(noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    drawn = list(range(8))
    assert shortened(rows(sampler()), drawn, 4) is drawn
    assert seen(noted) == [(8, 8, "this is one of 2 ranks")]


def test_a_failure_leaves_the_batch_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(small_batches, "_left_alone", fail)
    monkeypatch.setattr(spool, "_failed", set())
    drawn = list(range(8))
    assert shortened(rows(sampler()), drawn, 4) is drawn


def test_nothing_is_patched_where_no_check_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(small_batches, "after_import", lambda name: lambda _: asked.append(name))
    monkeypatch.delenv(small_batches.ROWS, raising=False)
    small_batches.install()
    assert asked == []
    monkeypatch.setenv(small_batches.ROWS, "4")
    small_batches.install()
    assert asked == ["torch.utils.data.dataloader"]


def batches(most: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], Any, int]:
    """Of a real loader; the state of its generator after an epoch, and how many batches it has."""
    import torch
    from torch.utils.data import DataLoader, dataloader

    monkeypatch.setenv(small_batches.ROWS, most)
    kind = dataloader._BaseDataLoaderIter
    monkeypatch.setattr(kind, "_next_index", kind._next_index)  # to be put back
    if most != "0":
        small_batches.loaders(dataloader)
    generator = torch.Generator().manual_seed(0)
    loader: DataLoader[Any] = DataLoader(
        range(30),  # type: ignore[arg-type]
        batch_size=8,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        generator=generator,
        collate_fn=list,
    )
    found = list(loader)
    return found, generator.get_state().tolist(), len(loader)


def test_a_real_loader_keeps_its_order_its_chances_and_its_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, state, count = batches("0", 0, monkeypatch)
    assert [len(one) for one in whole] == [8, 8, 8]
    few = batches("4", 0, monkeypatch)
    assert few == ([one[:4] for one in whole], state, count)
    assert batches("4", 1, monkeypatch) == few


def test_rows_of_a_batch_after_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, own = (vars(rows(by)) for by in (sampler(), sampler("Own", "train")))
    assert [rows_of_a_batch(held, 8) for held in (plain, own)] == [8, 8]
    monkeypatch.setenv(small_batches.ROWS, "4")
    assert [rows_of_a_batch(held, 8) for held in (plain, own)] == [4, 8]
    assert rows_of_a_batch(plain, 3) == 3
