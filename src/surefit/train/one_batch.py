"""One batch of features there and back: what cannot work stops here, in seconds."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from surefit.doctor.findings import Fact, Fix, Place
from surefit.errors import BadInput, refuse_if

from .lost_updates import finding, lost_updates, refused
from .memory import Memory, free_memory, measured, megabytes, memory_of
from .preflight import BAD_LOSS, NO_GRADIENT, NO_MEMORY

Given = Mapping[str, Any]

FEW = (2, 4)
"""Rows whose cost tells that of a whole batch."""


def one_batch(
    loss_of: nn.Module,
    given: Given,
    *,
    learning_rate: float,
    backward: Callable[[torch.Tensor], object] = torch.Tensor.backward,
) -> tuple[float, Memory]:
    """The loss of a batch before training, and what memory a step takes.

    Raises `BadInput` for what cannot work. Gradients are taken away again.
    """
    forecast = forecast_memory(loss_of, given)
    _check_room(forecast, given)
    made, found = measured(loss_of, _tensors(given), lambda: loss_of(**given), backward)
    loss = made.item()
    trained = [parameter for parameter in loss_of.parameters() if parameter.requires_grad]
    try:
        if not math.isfinite(loss):
            raise BadInput(_bad_loss(loss))
        if not any(p.grad is not None and bool((p.grad != 0).any()) for p in trained):
            raise BadInput(_no_gradient(loss, len(trained)))
        refuse_if(finding(one) for one in lost_updates(trained, learning_rate) if refused(one))
    finally:
        loss_of.zero_grad(set_to_none=True)
    return loss, memory_of(loss_of, found)


def unused_parameters(loss_of: nn.Module, given: Given) -> list[str]:
    """Names of weights to be trained that the loss does not reach; gradients are taken away."""
    loss_of(**_rows(given, FEW[0])).backward()
    names = [
        name
        for name, parameter in loss_of.named_parameters()
        if parameter.requires_grad and parameter.grad is None
    ]
    loss_of.zero_grad(set_to_none=True)
    return names


def forecast_memory(loss_of: nn.Module, given: Given) -> Memory:
    """From passes of a few rows: what is kept and what comes and goes grow with rows."""
    rows = len(given["inputs_embeds"])
    if rows <= FEW[1]:
        return memory_of(loss_of, measured(loss_of, _tensors(given), lambda: loss_of(**given))[1])
    few = [_rows(given, count) for count in FEW]
    one, two = (
        measured(loss_of, _tensors(part), lambda part=part: loss_of(**part))[1]  # type: ignore[misc]
        for part in few
    )
    more = (rows - FEW[1]) / (FEW[1] - FEW[0])
    kept = two.kept + int(more * max(0, two.kept - one.kept))
    peak = two.peak + int(more * max(0, two.peak - one.peak))
    return memory_of(loss_of, type(one)(kept, max(kept, peak)))


def _rows(given: Given, count: int) -> dict[str, Any]:
    return {
        name: value[:count] if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }


def _tensors(given: Given) -> list[torch.Tensor]:
    return [value for value in given.values() if isinstance(value, torch.Tensor)]


def _check_room(memory: Memory, given: Given) -> None:
    features = given["inputs_embeds"]
    room = free_memory(features.is_cuda)
    if memory.beside_weights <= room:
        return
    raise BadInput(
        NO_MEMORY.finding(
            Place("settings"),
            f"A step on a batch of {len(features)} rows needs {megabytes(memory.beside_weights)}, "
            f"and {megabytes(room)} are free.",
            facts=[
                Fact("batch", " x ".join(map(str, features.shape))),
                Fact("activations", megabytes(memory.activations)),
                Fact("gradients and optimizer", megabytes(memory.gradients + memory.optimizer)),
            ],
            fixes=[Fix(f"Smaller batches:  --batch-size {max(1, len(features) // 2)}")],
        )
    )


def _bad_loss(loss: float) -> Any:
    return BAD_LOSS.finding(
        Place("model"),
        f"The loss of the first batch is {loss}, before any training.",
        why="Features or weights are not finite, or overflow this precision.",
        fixes=[
            Fix("Check the data for NaN and Inf:  surefit inspect DIR"),
            Fix("Try `--precision fp32`."),
        ],
    )


def _no_gradient(loss: float, tensors: int) -> Any:
    return NO_GRADIENT.finding(
        Place("model"),
        f"The loss ({loss:.4f}) gives none of the {tensors} trainable tensors a gradient.",
        why="The loss does not depend on them, so no optimizer step would change them.",
    )
