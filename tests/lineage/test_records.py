"""Records stay within their budget, and say what they let go."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from recorded_lineage import recording, run, texts
from surefit.observe.inside.lineage import contents, libraries, records


def test_a_long_loop_is_noted_in_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FIRST", 20)
    monkeypatch.setattr(records, "LAST", 10)
    monkeypatch.setattr(records, "MOST_IN_DETAIL", 400)
    with recording() as recorder:
        names = run("for i in range(1000):\n    x = i * 3\nask(x)\n", tmp_path, recorder)
    products = [one for one in recorder.by_serial.values() if one.node >= 0 and one.times > 20]
    assert 10 < len({one.times for one in products}) < 120
    assert recorder.left_out > 500
    assert "not kept" in names["asked"][0].budget


def test_the_last_step_is_noted_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_IN_DETAIL", 4)
    with recording() as recorder:
        recorder.stepped(2, [2])
        names = run("for i in range(90):\n    x = [i, 3]\nask(x)\n", tmp_path, recorder)
    assert recorder.left_out == 0
    assert texts(names["asked"][0]) == ["[i, 3]", "3", "range(90)", "90"]


def test_values_beyond_the_budget_are_let_go(tmp_path: Path) -> None:
    with recording() as recorder:
        recorder.budget = 20_000
        names = run(
            "keep = []\nfor i in range(50):\n    keep.append(list(range(i, 200)))\nask(keep[0])\n",
            tmp_path,
            recorder,
        )
    assert recorder.let_go > 10
    assert recorder.bytes <= 20_000
    lineage = names["asked"][0]
    assert "not kept" in (lineage.budget + lineage.ended)


def test_large_tensors_and_graphs_are_not_kept_alive(tmp_path: Path) -> None:
    source = """
import torch, weakref
def f():
    large = torch.zeros(2, 1 << 18)
    layer = torch.nn.Linear(2, 2)
    loss = layer(torch.ones(1, 2)).sum()
    small = torch.ones(3)
    refs = [weakref.ref(large), weakref.ref(loss), weakref.ref(small)]
    pair = large, loss
    return refs
refs = f()
alive = [one() is not None for one in refs]
for i in range(60):
    pair = torch.ones(1, requires_grad=True) + i, i
later = [one() is not None for one in refs]
"""
    with recording() as recorder:
        names = run(source, tmp_path, recorder)
    assert names["alive"] == [True, True, True]  # in a tuple
    assert names["later"] == [False, False, True]
    dead = [
        one
        for one in recorder.by_serial.values()
        if one.light and one.light["shape"] == (2, 1 << 18)
    ]
    assert dead
    assert dead[0].value is records.GONE


def test_class_attributes_and_settings_of_objects(tmp_path: Path) -> None:
    source = """
from dataclasses import dataclass
import torch
class Config:
    width = 12
@dataclass
class Settings:
    depth: int = 3
    rate: float = 0.5
layer = torch.nn.Linear(Config.width, Settings(depth=7).depth)
ask(layer.in_features)
ask(layer.out_features)
ask(Settings().rate)
"""
    with recording() as recorder:
        names = run(source, tmp_path, recorder)
    written = [one.written() for one in names["asked"]]
    assert [one.text if one else None for one in written] == ["12", "7", "0.5"]


def test_contents_are_equal_across_libraries() -> None:
    numbers = [3, 1, 2]
    every = [
        numbers,
        (3, 1, 2),
        [[3], [1], [2]],
        np.array(numbers, dtype=np.int32),
        np.array(numbers, dtype=np.float64),
        torch.tensor(numbers),
        torch.tensor(numbers).float().reshape(3, 1),
        [torch.tensor(one) for one in numbers],
    ]
    assert len({contents.fingerprint(one) for one in every}) == 1
    assert contents.fingerprint([3, 2, 1]) != contents.fingerprint(numbers)
    assert contents.fingerprint([0.1, 0.2]) == contents.fingerprint(torch.tensor([0.1, 0.2]))
    for nothing in ([1], [1, 1, 1], [], {"a": 1}, object(), torch.zeros(2, 2), "ab"):
        assert contents.fingerprint(nothing) is None
    assert list(contents.without_padding([4, 5, 0, 0])) == [[4, 5], [4, 5, 0], [5, 0, 0]]
    assert [4, 5] in list(contents.without_padding([0, 0, 4, 5]))


def test_loaders_work_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    module = torch.utils.data.dataloader
    monkeypatch.setattr(module.DataLoader, "__init__", module.DataLoader.__init__)
    libraries.loaders(module)
    rows: Any = [1, 2, 3]
    loader: Any = torch.utils.data.DataLoader(
        rows, 2, num_workers=3, prefetch_factor=4, persistent_workers=True, timeout=9
    )
    assert loader.num_workers == 0
    assert [one.tolist() for one in loader] == [[1, 2], [3]]
    assert torch.utils.data.DataLoader(rows, 1, False, None, None, 2).num_workers == 0


def test_what_a_function_returns_to_a_library_is_part_of_the_call(tmp_path: Path) -> None:
    source = """
import re
def shout(match):
    return match[0].upper()
def noise(x):
    return -x
class Rows:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return i + 40
for row in reversed(sorted([3, 1], key=noise)):
    pass
for row in Rows():
    last = len("abc")
ask(re.sub("b", shout, "abc"))
ask(last)
ask(sorted([3, 1], key=noise))
"""
    with recording() as recorder:
        names = run(source, tmp_path, recorder)
    assert "match[0].upper()" in texts(names["asked"][0])
    assert texts(names["asked"][1]) == ['len("abc")', '"abc"']
    assert "-x" not in texts(names["asked"][2])
