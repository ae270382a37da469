"""Device, precision and threads."""

import os

import pytest
import torch

from surefit.errors import WrongCall
from surefit.train.device import (
    TINY,
    choose_threads,
    make_accelerator,
    threads_put_back,
)


@threads_put_back()
def test_tiny_models_get_one_thread_and_others_what_was_there() -> None:
    torch.set_num_threads(2)
    choose_threads(None, TINY)
    assert torch.get_num_threads() == 2
    choose_threads(None, TINY - 1)
    assert torch.get_num_threads() == 1
    choose_threads(2, TINY - 1)
    assert torch.get_num_threads() == 2


def test_threads_are_put_back_after_an_error() -> None:
    @threads_put_back()
    def fail(threads: int) -> None:
        torch.set_num_threads(threads)
        raise ZeroDivisionError

    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        fail(before + 1)
    assert torch.get_num_threads() == before


def test_two_precisions_in_one_process() -> None:
    assert make_accelerator("bf16").mixed_precision == "bf16"
    assert make_accelerator("fp32").mixed_precision == "no"


def test_a_world_that_is_not_the_launchers_is_a_wrong_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_accelerator("fp32")  # a process that trains alone already
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    with pytest.raises(
        WrongCall, match="with 4 processes, but only 1 of them would train together"
    ):
        make_accelerator("fp32")


def test_a_world_without_a_rank_is_a_wrong_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(WrongCall, match="launched with 4 processes, but `RANK` is not set"):
        make_accelerator("fp32")


def test_every_process_loads_real_weights_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """`accelerate launch --use_fsdp` sets it, and transformers reads it when it loads a model."""
    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "true")
    make_accelerator("fp32")
    assert os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] == "false"
