"""The device and precision that a run computes in."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import InitProcessGroupKwargs

from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall

from .ranks import Ranks, ranks_of

OTHER_WORLD = refusal(
    "SF178",
    "world-size-differs",
    "The launcher started more or fewer processes than train together.",
)

TINY = 10_000_000
"""Weights below which a second thread costs more than it brings."""

PRECISIONS = {"fp32": "no", "bf16": "bf16", "fp16": "fp16"}

LONGEST_WAIT = timedelta(minutes=30)
"""For the slowest process in one exchange: saving, or its share of the held-out rows."""


def make_accelerator(precision: str) -> Accelerator:
    """Weights stay fp32; bf16 and fp16 are the arithmetic of the forward pass."""
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    if launched > 1 and "RANK" not in os.environ:
        raise WrongCall(_other_world(launched, "`RANK` is not set"))
    # Else FSDP leaves all processes but the first without weights until they are sharded, and
    # what is checked before that, on every process, would be checked on nothing.
    os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"
    # A second run in the same process may ask for another precision.
    AcceleratorState._reset_state()
    accelerator = Accelerator(
        mixed_precision=PRECISIONS[precision],
        # Unless told so, accelerate 1.15 makes of processes without a GPU as many separate runs.
        cpu=not torch.accelerator.is_available(),
        kwargs_handlers=[InitProcessGroupKwargs(timeout=LONGEST_WAIT)],
    )
    if accelerator.mixed_precision == "fp16" and accelerator.device.type == "cpu":
        # accelerate 1.15 would compute in fp32 there, without a word.
        accelerator.native_amp = True
        accelerator.scaler = torch.amp.GradScaler("cpu")
    if launched not in (1, accelerator.num_processes):
        seen = f"only {accelerator.num_processes} of them would train together"
        raise WrongCall(_other_world(launched, seen))
    return accelerator


def _other_world(launched: int, seen: str) -> Finding:
    return OTHER_WORLD.finding(
        COMMAND_LINE,
        f"This run was launched with {launched} processes, but {seen}.",
        facts=[Fact("WORLD_SIZE", str(launched))],
        why="The processes would be separate, unsynchronised runs.",
        fixes=[
            Fix("Launch it again:  torchrun --nproc-per-node N -m surefit sft ..."),
            Fix("Or unset `WORLD_SIZE` to train in one process."),
        ],
    )


def launched_ranks() -> Ranks:
    """The processes of this launch, before it is known in which precision they compute."""
    return ranks_of(make_accelerator("fp32"))


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
    world = accelerator.num_processes
    together = f", {world} processes" if world > 1 else ""
    if accelerator.device.type == "cuda":
        return f"{accelerator.device} ({torch.cuda.get_device_name()}, {precision}{together})"
    return f"{accelerator.device.type} ({precision}{together})"
