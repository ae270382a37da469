"""Memory is counted tensor by tensor, forecast from a part, and near what a process reaches."""

import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from torch import nn

from benchmarks.memory import in_a_process
from surefit.data import free_memory as free_memory_file
from surefit.data.batches import Batch, PadRows
from surefit.data.packing import PackRows
from surefit.data.tokens import IGNORED
from surefit.losses.next_token import NextTokenLoss
from surefit.models.lora import add_lora
from surefit.train import memory as memory_file
from surefit.train.allocator import give_back_freed_memory
from surefit.train.memory import LiveBytes, Memory, free_memory, measured, memory_of
from surefit.train.preflight import memory_forecast, preflight

Collate = Callable[[list[dict[str, list[int]]]], Batch]
PADDED, PACKED = PadRows(pad_id=0), PackRows()


def batch_of(rows: int, tokens: int = 64, collate: Collate = PADDED) -> Batch:
    ids = torch.randint(2, 1536, (rows, tokens), generator=torch.Generator().manual_seed(0))
    answer = tokens // 2
    return collate(
        [{"input_ids": row, "labels": [IGNORED] * answer + row[answer:]} for row in ids.tolist()]
    )


# Counting


def test_tensors_are_counted_while_they_live() -> None:
    with LiveBytes([]) as live:
        first = torch.zeros(1000)
        view = first[10:].reshape(-1, 10)
        assert live.now == 4000
        second = torch.zeros(500, dtype=torch.float64)
        assert live.now == 8000
        del first
        assert live.now == 8000, "a view keeps it"
        del view, second
        assert live.now == 0
    assert live.peak == 8000


def test_what_was_there_before_is_not_counted() -> None:
    weight = torch.zeros(1000)
    with LiveBytes([weight]) as live:
        weight.detach().mul_(2)
        kept = weight + 1
    assert live.now == kept.nbytes


def test_a_way_there_keeps_and_a_way_back_frees() -> None:
    layers = nn.Sequential(*(nn.Linear(16, 16) for _ in range(8)))
    given = torch.zeros(32, 16)

    def there() -> torch.Tensor:
        total: torch.Tensor = layers(given).sum()
        return total

    _, there_only = measured(layers, [given], there)
    loss, both = measured(layers, [given], there, torch.Tensor.backward)
    assert loss.item() != 0
    assert both.kept == there_only.kept
    # Inputs of 7 layers are kept, of 32 x 16 numbers each; the first is the batch itself.
    assert 7 * 2048 <= both.kept <= 8 * 2048 + 64
    assert both.peak >= sum(p.nbytes for p in layers.parameters())


def test_a_step_is_what_its_largest_moment_is() -> None:
    moments = Memory(100, 40, 20, activations=50, peak=60, stepping=10)
    assert moments.total == 100 + 40 + 60
    assert replace(moments, peak=5, stepping=30).total == 100 + 40 + 20 + 30
    assert replace(moments, accumulates=True).total == 100 + 40 + 60 + 20
    assert "about 0.0 MB: weights 0.0 MB" in str(moments)


def test_weights_gradients_and_moments(tiny_model: Any) -> None:
    count = sum(p.numel() for p in tiny_model.parameters())
    _, whole = preflight(NextTokenLoss(tiny_model), batch_of(2))
    tables = sum(buffer.nbytes for buffer in tiny_model.buffers())
    assert whole.weights == 4 * count + tables
    assert (whole.gradients, whole.optimizer) == (4 * count, 8 * count)
    adapted = add_lora(tiny_model, 4, None, 0.0, ("q_proj",))
    _, adapters = preflight(NextTokenLoss(adapted), batch_of(2))
    assert adapters.gradients == 4 * 2 * (4 * 32 + 32 * 4)
    assert adapters.peak < whole.peak


# Forecasts


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("collate", [PADDED, PACKED])
def test_a_part_tells_of_the_whole(tiny_model: Any, full: bool, collate: Collate) -> None:
    model = tiny_model if full else add_lora(tiny_model, 4, None, 0.0, ("all-linear",))
    loss_of, batch = NextTokenLoss(model), batch_of(16, collate=collate)
    forecast = memory_forecast(loss_of, batch)
    _, found = preflight(loss_of, batch)
    assert forecast.activations == pytest.approx(found.activations, rel=0.1)
    assert forecast.total == pytest.approx(found.total, rel=0.15)


@pytest.mark.parametrize("collate", [PADDED, PACKED])
def test_nothing_as_large_as_the_batch_is_made_for_a_forecast(
    tiny_model: Any, collate: Collate
) -> None:
    loss_of, batch = NextTokenLoss(tiny_model), batch_of(4, collate=collate)
    seen: list[int] = []
    loss_of.register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"].numel()), with_kwargs=True
    )
    memory_forecast(loss_of, batch)
    assert seen == [64, 32, 16, 16]


# Gradient checkpointing


@pytest.mark.parametrize("collate", [PADDED, PACKED])
@pytest.mark.parametrize("full", [False, True])
def test_checkpointing_holds_fewer_activations_and_gives_the_same_gradients(
    tiny_model: Any, full: bool, collate: Collate
) -> None:
    model = tiny_model if full else add_lora(tiny_model, 4, None, 0.0, ("all-linear",))
    model.train()
    loss_of, batch = NextTokenLoss(model), batch_of(4, collate=collate)
    kept, gradients = [], []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        found = measured(
            loss_of, batch.values(), lambda: loss_of(**batch, places=9), torch.Tensor.backward
        )[1]
        kept.append(found.kept)
        gradients.append(
            {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        )
        loss_of.zero_grad()
    assert kept[1] < 0.5 * kept[0]
    assert gradients[0].keys() == gradients[1].keys()
    assert len(gradients[0]) == sum(p.requires_grad for p in model.parameters())
    for name, gradient in gradients[0].items():
        assert torch.equal(gradient, gradients[1][name]), name


# The machine


def test_a_container_has_what_its_limit_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
    monkeypatch.setattr(free_memory_file, "CGROUP", tmp_path)
    assert free_memory(on_gpu=False) == 10_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("3000\n")
    (tmp_path / "memory.stat").write_text("anon 2000\ninactive_file 500\n")
    assert free_memory(on_gpu=False) == 10_000
    (tmp_path / "memory.max").write_text("4000\n")
    assert free_memory(on_gpu=False) == 4000 - 3000 + 500


def test_glibc_is_told() -> None:
    assert give_back_freed_memory() == (platform.libc_ver()[0] == "glibc")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak")
@pytest.mark.parametrize("case", ["qwen3-4x256", "qwen3-4x256-full"])
def test_estimates_are_near_the_peak_of_a_process(case: str) -> None:
    found = in_a_process(case)
    assert found.estimate == pytest.approx(found.measured, rel=0.15)
    assert found.forecast == pytest.approx(found.measured, rel=0.25)


def test_memory_of_nothing_trained_is_its_weights() -> None:
    layer = nn.Linear(4, 4).requires_grad_(False)
    assert memory_of(layer, memory_file.Pass(0, 0)).total == 80
