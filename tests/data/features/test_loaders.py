"""Loaders give every row once, to the bit, in an order that can be gone on with anywhere."""

import gc
import itertools
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import surefit
from feature_arrays import FORMATS, multi_hot, one_hot, write_shards
from surefit.data.features.layout_file import LAYOUT_FILE
from surefit.data.features.loader import FeatureLoader
from surefit.data.features.loaders import FeatureData, loaders
from surefit.errors import BadInput, SurefitError, WrongCall

STEPS, FEATURES = 3, 5
SIZES = (70, 30, 101)
ROWS = sum(SIZES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose first value is their number."""
    return numbered(tmp_path_factory.mktemp("data"), *SIZES)


def numbered(path: Path, *sizes: int, dtype: str = "float32") -> Path:
    rows = np.random.default_rng(0).normal(size=(sum(sizes), STEPS, FEATURES)).astype(dtype)
    rows[:, 0, 0] = np.arange(len(rows))
    return write_shards(path, *np.split(rows, np.cumsum(sizes)[:-1]))


def load(
    folder: Path, batch_size: int = 8, **more: Any
) -> tuple[FeatureLoader, FeatureLoader, FeatureData]:
    """With blocks: small ones in small windows, as of a run with far more data."""
    usual: dict[str, Any] = {"steps": STEPS, "features": FEATURES, "max_memory_gb": 0.1}
    train, test, data = loaders(folder, batch_size, **{**usual, **more})
    if more.get("shuffle") == "blocks":
        train.load_state_dict({**train.state_dict(), "block": 4, "window": 5})
    return train, test, data


def numbers(batches: Any) -> list[list[int]]:
    return [batch["inputs_embeds"][:, 0, 0].int().tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return [row for batch in batches for row in batch]


WAYS: list[dict[str, Any]] = [
    {"shuffle": shuffle, "workers": workers}
    for shuffle, workers in itertools.product(("global", "blocks"), (0, 1, 3))
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_row_comes_once_and_whole(folder: Path, way: dict[str, Any]) -> None:
    train, test, data = load(folder, **way)
    stored = np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])
    for _ in range(2):
        seen = []
        for loader in (train, test):
            for batch in loader:
                rows = batch["inputs_embeds"]
                assert batch["attention_mask"].shape == rows.shape[:2]
                assert batch["attention_mask"].all()
                own = rows[:, 0, 0].int().tolist()
                assert np.array_equal(rows.numpy(), stored[own])
                seen += own
        assert sorted(seen) == list(range(ROWS))
    assert len(train) == -(-data.split.trained // 8)
    assert [len(batch) for batch in numbers(train)][:-1] == [8] * (len(train) - 1)


def test_threads_change_no_order(folder: Path) -> None:
    for shuffle in ("global", "blocks"):
        orders = [numbers(load(folder, shuffle=shuffle, workers=count)[0]) for count in (0, 1, 3)]
        assert orders[0] == orders[1] == orders[2]


def test_epochs_differ_and_can_be_chosen(folder: Path) -> None:
    train, test, _ = load(folder)
    first, second = numbers(train), numbers(train)
    assert first != second
    train.set_epoch(0)
    assert numbers(train) == first
    assert numbers(test) == numbers(test) == [sorted(batch) for batch in numbers(test)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    stop=st.integers(0, 26),
    way=st.sampled_from(WAYS),
    worlds=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    epoch=st.integers(0, 2),
)
def test_a_pass_goes_on_at_any_step_in_any_number_of_processes(
    folder: Path, stop: int, way: dict[str, Any], worlds: tuple[int, int], epoch: int
) -> None:
    never_stopped, _, _ = load(folder, **way)
    never_stopped.set_epoch(epoch)
    whole = numbers(never_stopped)
    before: list[list[int]] = [[] for _ in whole]
    after: list[list[int]] = [[] for _ in whole]
    states = []
    for rank in range(worlds[0]):
        train, _, _ = load(folder, **way, rank=rank, world=worlds[0])
        train.set_epoch(epoch)
        for step, batch in zip(range(min(stop, len(whole))), train, strict=False):
            before[step] += numbers([batch])[0]
        states.append(json.loads(json.dumps(train.state_dict())))
        train.close()
    assert all(state == states[0] for state in states)
    done = min(stop, len(whole))
    for rank in range(worlds[1]):
        train, _, _ = load(folder, **way, rank=rank, world=worlds[1])
        train.load_state_dict(states[0])
        if done < len(whole):
            train.set_epoch(epoch)
        for step, batch in zip(range(done, len(whole)), train, strict=False):
            after[step] += numbers([batch])[0]
        train.close()
    together = [sorted(a + b) for a, b in zip(before, after, strict=True)]
    assert together == [sorted(batch) for batch in whole]


def test_a_state_brings_its_own_shuffle(folder: Path) -> None:
    """What free memory allows differs from machine to machine; the order of a run does not."""
    first, _, _ = load(folder, shuffle="blocks")
    whole = numbers(first)
    first.set_epoch(0)
    taken = [next(iter(first))]
    state = first.state_dict()
    assert state["step"] == len(taken)
    other, _, data = load(folder, shuffle="global")
    assert data.plan.shuffle == "global"
    other.load_state_dict(state)
    assert numbers(other) == whole[1:]
    assert "as in the run that is gone on with" in str(other.plan)


def test_a_state_of_other_data_is_refused(folder: Path) -> None:
    train, test, _ = load(folder)
    state = load(folder, batch_size=4)[0].state_dict()
    with pytest.raises(BadInput, match="other rows or of other batches") as refused:
        train.load_state_dict(state)
    assert refused.value.findings[0].facts[0].value == "rows 181, batch size 4, training rows"
    with pytest.raises(BadInput):
        train.load_state_dict(test.state_dict())


# What a user does with batches


def test_batches_that_are_kept_stay_as_they_are(folder: Path) -> None:
    for way in WAYS:
        train, _, _ = load(folder, **way)
        kept = list(train)
        copies = numbers(kept)
        del kept[::2]
        gc.collect()
        train.set_epoch(0)
        assert flat(numbers(train)) == flat(copies)
        assert numbers(kept) == copies[1::2]


def test_a_view_alone_keeps_its_batch(folder: Path) -> None:
    train, _, _ = load(folder, workers=2)
    views = [batch["inputs_embeds"][1:, 0].numpy()[:, 0] for batch in itertools.islice(train, 12)]
    seen = [view.tolist() for view in views]
    train.set_epoch(0)
    assert [batch[1:] for batch in numbers(train)][:12] == seen


def test_memory_is_used_again(folder: Path) -> None:
    train, _, _ = load(folder, workers=0)
    train.load_state_dict({**train.state_dict(), "shuffle": "global", "window": 1})
    places = {batch["inputs_embeds"].data_ptr() for batch in train}
    assert len(places) <= 3


def test_a_pass_that_is_dropped_ends_its_threads(folder: Path) -> None:
    before = threading.active_count()
    train, _, _ = load(folder, workers=2)
    for _ in range(3):
        running = iter(train)
        next(running)
        assert threading.active_count() == before + 2
        del running
        gc.collect()
        assert threading.active_count() == before
    with suppress(ZeroDivisionError):
        for _ in train:
            raise ZeroDivisionError
    gc.collect()
    train.close()
    assert threading.active_count() == before


def test_a_new_pass_ends_the_old_one(folder: Path) -> None:
    train, _, _ = load(folder)
    old = iter(train)
    first = numbers([next(old)])
    assert numbers([next(iter(train))]) == first
    with pytest.raises(BadInput, match="another one was begun"):
        next(old)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_begins_its_own_pass(folder: Path) -> None:
    train, _, _ = load(folder, workers=1)
    whole = numbers(train)
    train.set_epoch(0)
    running = iter(train)
    next(running)
    child = os.fork()
    if not child:
        try:
            with pytest.raises(BadInput, match="begun in another process"):
                next(running)
            os._exit(0 if numbers(train) == whole else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert numbers(running) == whole[1:]


# Forms and types


@pytest.mark.parametrize("dtype", ["float16", "float64", "uint8"])
def test_other_types_become_float32(tmp_path: Path, dtype: str) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (50, STEPS, FEATURES)).astype(dtype)
    write_shards(tmp_path, rows)
    for workers in (0, 1):
        _, test, _ = load(tmp_path, dtype=dtype, held_out=0.5, workers=workers)
        given = torch.cat([batch["inputs_embeds"].clone() for batch in test])
        assert given.dtype == torch.float32
        assert len(given) == 25
        assert all(any(np.array_equal(one, row) for row in rows) for one in given.numpy())


def packed(path: Path, form: str, stored: np.ndarray) -> Path:
    write_shards(path, stored)
    kind = "one-hot" if form == "ids" else "multi-hot"
    layout = {"surefit_layout": 1, "steps": STEPS, "features": FEATURES, "dtype": "float32"}
    (path / LAYOUT_FILE).write_text(json.dumps({**layout, "kind": kind, "form": form}))
    return path


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shuffle", ["global", "blocks"])
@pytest.mark.parametrize("form", ["ids", "bits"])
def test_packed_rows_are_given_bit_for_bit(
    tmp_path: Path, form: str, shuffle: Any, workers: int
) -> None:
    make = one_hot if form == "ids" else multi_hot
    rows = make(90, STEPS, FEATURES)
    plain = write_shards(tmp_path / "plain", rows)
    stored = (
        rows.argmax(-1).astype("uint8")
        if form == "ids"
        else np.packbits(rows.astype(bool).reshape(90, -1), axis=1)
    )
    small = packed(tmp_path / "packed", form, stored)
    way: dict[str, Any] = {"shuffle": shuffle, "workers": workers}
    one, other = (load(path, **way) for path in (plain, small))
    for expected, given_ in zip(one[:2], other[:2], strict=True):
        for a, b in zip(expected, given_, strict=True):
            assert torch.equal(a["inputs_embeds"], b["inputs_embeds"])


def test_one_hot_rows_as_ids(tmp_path: Path) -> None:
    rows = one_hot(90, STEPS, FEATURES)
    plain = write_shards(tmp_path / "plain", rows)
    small = packed(tmp_path / "packed", "ids", rows.argmax(-1).astype("uint8"))
    for path in (plain, small):
        expected = [batch["inputs_embeds"].argmax(-1) for batch in load(path)[0]]
        given_ = [batch["input_ids"].clone() for batch in load(path, ids=True)[0]]
        assert all(torch.equal(a, b) for a, b in zip(expected, given_, strict=True))
        assert given_[0].dtype == torch.int64


@pytest.mark.parametrize("format_", FORMATS)
def test_all_formats_give_the_same(tmp_path: Path, folder: Path, format_: str) -> None:
    rows = np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])
    name, write, _ = FORMATS[format_]
    write(tmp_path / name, rows)
    for workers in (0, 1):
        train, test, _ = load(tmp_path, workers=workers)
        seen = flat(numbers(train)) + flat(numbers(test))
        assert sorted(seen) == list(range(ROWS))
    for batch in test:
        assert np.array_equal(batch["inputs_embeds"], rows[numbers([batch])[0]])


# Bad input


def test_ids_of_other_rows_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefit.data.features.loaders.SAMPLE_BYTES", 0)
    with pytest.raises(WrongCall, match="needs one-hot rows, and these are continuous"):
        load(folder, ids=True)
    rows = one_hot(4000, STEPS, FEATURES)
    rows[1234, 2] = 0.25
    write_shards(tmp_path, rows)
    with pytest.raises(BadInput) as refused:
        list(load(tmp_path, ids=True, held_out=0)[0])
    place, said = refused.value.findings[0].place, refused.value.findings[0].headline
    assert (place.file, place.row) == ("part-0.npy", 1235)
    assert said == "`part-0.npy`, row 1,234: it is declared to be one-hot, and step 2 is not."


def test_packed_ids_out_of_range_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are all looked at before the first batch; here it comes as they are read."""
    monkeypatch.setattr("surefit.data.features.loaders.SAMPLE_BYTES", 0)
    ids = np.zeros((4000, STEPS), "uint8")
    ids[1234, 1] = 5
    packed(tmp_path, "ids", ids)
    with pytest.raises(BadInput) as refused:
        list(load(tmp_path, held_out=0)[0])
    assert "`part-0.npy`, row 1,234: step 1 names feature 5" in refused.value.findings[0].headline


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("shuffle", ["global", "blocks"])
def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, shuffle: Any, workers: int) -> None:
    numbered(tmp_path, 9000, 100)
    train, _, _ = load(tmp_path, shuffle=shuffle, workers=workers, max_memory_gb=0.03)
    running = iter(train)
    given_ = [next(running) for _ in range(3)]
    before = numbers(given_)
    os.truncate(tmp_path / "part-0.npy", 40_000)
    with pytest.raises(BadInput) as refused:
        for _ in running:
            pass
    (finding,) = refused.value.findings
    assert finding.code == "SF047"
    assert finding.headline == (
        "`part-0.npy` has changed since its header was read: it had 540,128 bytes, and has 40,000."
    )
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["given so far"].startswith("epoch 0, ")
    assert set(facts) <= {"given so far", "wanted"}
    assert numbers(given_) == before
    assert int(train.state_dict()["step"]) >= 3


def test_a_file_that_is_written_to_or_gone_is_found_in_the_next_epoch(tmp_path: Path) -> None:
    numbered(tmp_path, 40, 40)
    train, _, _ = load(tmp_path, held_out=0)
    first = numbers(train)
    changed = np.load(tmp_path / "part-1.npy")
    changed[0] = 0
    np.save(tmp_path / "part-1.npy", changed)
    with pytest.raises(BadInput, match="it was written to"):
        list(train)
    (tmp_path / "part-1.npy").unlink()
    with pytest.raises(BadInput, match="it no longer exists"):
        list(train)
    assert sorted(flat(first)) == list(range(80))


def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered(tmp_path, 40)
    train, _, _ = load(tmp_path)

    def refused_(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused_)
    with pytest.raises(BadInput, match=r"part-0.npy"):
        list(train)


def test_wrong_arguments_are_told_at_once(folder: Path) -> None:
    with pytest.raises(WrongCall) as refused:
        load(folder, batch_size=0, held_out=0.9, workers=-1)
    assert len(refused.value.findings) == 3
    with pytest.raises(WrongCall, match="`rank` must be below `world`, which is 2, and is 2"):
        load(folder, rank=2, world=2)
    with pytest.raises(SurefitError, match="least that works"):
        load(folder, max_memory_gb=0.001)


def test_a_call_that_reads_elsewhere_works_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Linux's own interface is not there, or not allowed."""
    whole = numbers(load(folder, shuffle="blocks")[0])
    monkeypatch.setattr("surefit.data.features.reading.many_reads", lambda: None)
    assert numbers(load(folder, shuffle="blocks")[0]) == whole


def test_rows_that_must_come_from_the_disk_are_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    whole = numbers(load(folder, shuffle="blocks")[0])
    monkeypatch.setattr("surefit.data.features.loaders.free_memory", lambda: 0)
    monkeypatch.setattr(os, "posix_fadvise", lambda *call: asked.append(call[2]), raising=False)
    assert numbers(load(folder, shuffle="blocks")[0]) == whole
    assert sum(asked) == 181 * STEPS * FEATURES * 4


def test_the_launcher_says_which_process_this_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = numbers(load(folder, shuffle="global")[0])
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert numbers(load(folder, shuffle="global")[0]) == [batch[1::2] for batch in whole]


def test_what_was_decided_is_said(folder: Path) -> None:
    _, _, data = load(folder)
    said = str(data).splitlines()
    assert said[0] == (
        "data: [rows, 3, 5] float32, continuous rows in 3 files; 181 rows to train on, 20 held out"
    )
    assert said[1] == "shuffle: global, all 181 rows are mixed at once; they are few"
    assert surefit.loaders is loaders
