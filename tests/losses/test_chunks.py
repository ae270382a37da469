"""Logits of a chunk are those of a linear layer, in memory that is taken once."""

import pytest
import torch
import torch.nn.functional as F

from surefit.losses.chunks import IN_CACHE, ChunkLogits, few_rows, parts
from surefit.losses.teacher import Head


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_they_are_divided_by_the_temperature(dtype: torch.dtype, biased: bool) -> None:
    hidden, weight, bias = (torch.randn(*shape).to(dtype) for shape in ((7, 5), (33, 5), (33,)))
    head = Head(weight, bias if biased else None)
    wanted = F.linear(hidden, weight, head.bias).to(torch.promote_types(dtype, torch.float32)) / 3
    for given, by in ((hidden, head), (F.linear(hidden, weight, head.bias), None)):
        logits = ChunkLogits(given, by, 4, 3.0)
        for part in parts(7, 4):
            torch.testing.assert_close(logits.of(part), wanted[part])


def test_memory_is_taken_once_and_rows_begin_at_64_bytes() -> None:
    logits = ChunkLogits(torch.randn(7, 5), Head(torch.randn(33, 5)), 4, 1.0)
    places = [logits.of(part) for part in parts(7, 4)]
    assert [one.shape for one in places] == [(4, 33), (3, 33)]
    assert places[0].data_ptr() == places[1].data_ptr()
    assert places[0].stride(0) * 4 % 64 == 0


def test_what_a_model_rules_out_stays_a_number() -> None:
    given = torch.tensor([[1.0, -torch.inf]])
    made = ChunkLogits(given, None, 4, 1.0).of(slice(0, 1))
    assert made.isfinite().all()
    assert made.softmax(1).tolist() == [[1.0, 0.0]]
    assert given[0, 1] == -torch.inf, "the model's own logits are left as they were"


def test_few_places_at_once_on_a_cpu_and_all_on_a_gpu() -> None:
    logits = torch.empty(100, IN_CACHE // 10)
    assert [part.stop - part.start for part in few_rows(logits)] == [10] * 10
    assert [*few_rows(logits.to("meta"))] == [slice(0, 100)]
    assert [*few_rows(torch.empty(2, 2 * IN_CACHE))] == [slice(0, 1), slice(1, 2)]
