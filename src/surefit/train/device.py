"""The device and precision that a run computes in."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from surefit.doctor.findings import COMMAND_LINE, Fact, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall

MANY_PROCESSES = refusal(
    "SF188", "one-process-only", "The recipe was started in several processes and trains in one."
)

TINY = 10_000_000
"""Weights below which a second thread costs more than it brings."""

PRECISIONS = {"fp32": "no", "bf16": "bf16", "fp16": "fp16"}


def make_accelerator(precision: str) -> Accelerator:
    """Weights stay fp32; bf16 and fp16 are the arithmetic of the forward pass."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        raise WrongCall(
            MANY_PROCESSES.finding(
                COMMAND_LINE,
                f"This run was launched as {world} processes; `surefit sft` trains in one.",
                facts=[Fact("WORLD_SIZE", str(world))],
                why=f"They would be {world} separate runs that know nothing of each other.",
                fixes=[Fix("Start it without `torchrun` or `accelerate launch`.")],
            )
        )
    # A second run in the same process may ask for another precision.
    AcceleratorState._reset_state()
    return Accelerator(
        mixed_precision=PRECISIONS[choose_precision(precision)],
        cpu=not torch.accelerator.is_available(),
    )


def choose_precision(asked: str) -> str:
    """`auto` is bf16 on a GPU that computes in it, fp32 elsewhere."""
    if asked != "auto":
        return asked
    return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "fp32"


@contextmanager
def threads_put_back() -> Iterator[None]:
    """However many CPU threads are chosen inside, torch has as many as before afterwards."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(asked: int | None, weights: int) -> None:
    if asked is not None:
        torch.set_num_threads(asked)
    elif weights < TINY:
        torch.set_num_threads(1)


def describe_device(accelerator: Accelerator) -> str:
    precision = {"no": "fp32"}.get(accelerator.mixed_precision, accelerator.mixed_precision)
    if accelerator.device.type == "cuda":
        return f"{accelerator.device} ({torch.cuda.get_device_name()}, {precision})"
    return f"{accelerator.device.type} ({precision})"
