"""Frozen weights held in 4 bits by bitsandbytes, for adapters to be trained on (QLoRA)."""

from importlib import import_module
from typing import Any

import torch
from torch import nn

from surefit.doctor.findings import COMMAND_LINE, Fact, Fix
from surefit.doctor.rule import refusal
from surefit.environment import four_bit, version_of
from surefit.errors import BadInput, WrongCall
from surefit.installing import install_command

from .shards import held_here

NO_FOUR_BIT = refusal(
    "SF167", "no-4bit-here", "Weights cannot be held in 4 bits on this device, or not trained."
)
FOUR_BIT_FULL = refusal(
    "SF168", "4bit-trained-whole", "Weights held in 4 bits cannot themselves be trained."
)

SCHEME = "nf4"
"""Sixteen values spread as normally distributed weights are; the scales are quantised in turn."""


def check_four_bit(device: str | None = None, *, full: bool = False) -> None:
    """Raises unless adapters can be trained on 4-bit weights there; a small layer is tried.

    By default on the device that a model is loaded to: the GPU if there is one.
    """
    if full:
        raise WrongCall(
            FOUR_BIT_FULL.finding(
                COMMAND_LINE,
                "`--full` trains all weights, and `--load-in-4bit` holds them in 4 bits.",
                why="4-bit weights cannot be updated by an optimizer; only adapters on top of "
                "them can be trained.",
                fixes=[
                    Fix("Train adapters on 4-bit weights: leave out `--full`."),
                    Fix("Train all weights, in fp32: leave out `--load-in-4bit`."),
                ],
            )
        )
    device = device or _where_models_go()
    found = four_bit(torch, device)
    if found != "works":
        raise BadInput(_not_here(device, found.removeprefix("no: ")))


def four_bit_config(compute: torch.dtype) -> Any:
    """For `from_pretrained`: NF4 with quantised scales, products in `compute`."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=SCHEME,
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=compute,
    )


def quantise(model: Any, compute: torch.dtype) -> Any:
    """The same for a model in memory, which `from_pretrained` cannot do to a GGUF file."""
    bitsandbytes = import_module("bitsandbytes")
    head = model.get_output_embeddings()
    linear = [(name, layer) for name, layer in model.named_modules() if type(layer) is nn.Linear]
    for name, layer in linear:
        if layer is head:
            continue
        smaller = bitsandbytes.nn.Linear4bit(
            layer.in_features,
            layer.out_features,
            bias=layer.bias is not None,
            compute_dtype=compute,
            quant_type=SCHEME,
            device="meta",
        )
        smaller.weight = bitsandbytes.nn.Params4bit(
            layer.weight.data, requires_grad=False, quant_type=SCHEME
        ).to(layer.weight.device)
        smaller.bias = layer.bias
        model.set_submodule(name, smaller)
    model.is_loaded_in_4bit = True  # where peft looks
    return model


def keep_gradients(model: nn.Module) -> None:
    """Forbids bitsandbytes to repack weights when a model answers, as it does on some CPUs.

    Products with repacked weights have no gradient (bitsandbytes 0.50): after the first answer
    the loss stays right and gradients of earlier layers are 77 % wrong.
    """
    for layer in model.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            setattr(layer, "support_avx512bf16_for_cpu", False)  # noqa: B010 - not a tensor


def weights_in(parameter: torch.Tensor) -> int:
    """How many weights it stands for; 4-bit ones are packed, several to a number."""
    state = getattr(parameter, "quant_state", None)
    return parameter.numel() if state is None else int(state.shape.numel())


def bytes_of(parameter: torch.Tensor) -> int:
    """What it occupies, the scales of 4-bit weights included."""
    state = getattr(parameter, "quant_state", None)
    tensors = [held_here(parameter), *_tensors_of(state)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _where_models_go() -> str:
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return "cpu" if found is None else found.type


def _tensors_of(state: Any) -> list[torch.Tensor]:
    values = list(vars(state).values()) if state is not None else []
    inner = [found for value in values if hasattr(value, "absmax") for found in _tensors_of(value)]
    return [value for value in values if isinstance(value, torch.Tensor)] + inner


def _not_here(device: str, reason: str) -> Any:
    absent = reason == "not installed"
    return NO_FOUR_BIT.finding(
        COMMAND_LINE,
        "`--load-in-4bit` needs bitsandbytes, which is not installed."
        if absent
        else f"`--load-in-4bit` does not work on `{device}` here.",
        facts=[
            Fact("bitsandbytes", version_of("bitsandbytes")),
            Fact("tried", f"one 4-bit layer on `{device}`, forward and back: {reason}"),
        ][: 1 if absent else 2],
        fixes=[
            Fix(install_command("4bit"))
            if absent
            else Fix("Look for a version that serves this device:  pip install -U bitsandbytes"),
            Fix(
                "Or leave out `--load-in-4bit`: `--precision bf16` holds frozen weights in 2 bytes."
            ),
        ],
    )
