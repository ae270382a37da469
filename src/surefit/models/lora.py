"""Adapters: where they go, and how many weights they train."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .quantised import weights_in

ALL_LINEAR = "all-linear"

NO_TARGET = refusal(
    "SF177", "adapter-targets-match-nothing", "A LoRA target names no layer of the model."
)


@dataclass(frozen=True, slots=True)
class Trainable:
    """How many weights are trained, of how many."""

    trained: int
    all: int

    @property
    def share(self) -> float:
        return self.trained / self.all


def add_lora(
    model: Any, rank: int, alpha: int | None, dropout: float, targets: tuple[str, ...]
) -> Any:
    """The model with fresh adapters (all else frozen); their start comes from torch's seed.

    Adapters are fp32, whatever the frozen weights are held in.
    """
    from peft import LoraConfig, get_peft_model

    _check_targets(model, targets)
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank if alpha is None else alpha,
        lora_dropout=dropout,
        target_modules=ALL_LINEAR if ALL_LINEAR in targets else list(targets),
        fan_in_fan_out=any(type(module).__name__ == "Conv1D" for module in model.modules()),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def sum_in_fp32(model: nn.Module) -> None:
    """Has the outputs of layers with adapters be fp32 where these are added to them.

    In bf16 what an adapter adds in its first steps is less than half the distance from an output to
    the next number, and adding it changes nothing.
    """
    for layer in model.modules():
        below = getattr(layer, "base_layer", None)
        if hasattr(layer, "lora_A") and isinstance(below, nn.Module):
            below.register_forward_hook(_in_fp32)


def _in_fp32(_layer: nn.Module, _given: Any, states: torch.Tensor) -> torch.Tensor:
    return states.float()


def count_trainable(model: nn.Module) -> Trainable:
    parameters = list(model.parameters())
    return Trainable(
        trained=sum(weights_in(p) for p in parameters if p.requires_grad),
        all=sum(weights_in(p) for p in parameters),
    )


def _check_targets(model: nn.Module, targets: tuple[str, ...]) -> None:
    layers = [name for name, module in model.named_modules() if _takes_adapter(module)]
    missing = [
        target
        for target in targets
        if target != ALL_LINEAR
        and not any(name == target or name.endswith(f".{target}") for name in layers)
    ]
    if missing:
        raise BadInput(_no_target(missing, targets, layers))


def _takes_adapter(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear | nn.Embedding) or type(module).__name__ == "Conv1D"


def _no_target(missing: list[str], targets: tuple[str, ...], layers: list[str]) -> Finding:
    names = sorted({name.rpartition(".")[2] for name in layers})
    meant = {name: nearest(name, names) for name in missing}
    better = [meant.get(target) or target for target in targets]
    fixes = (
        [Fix(f"Take the nearest names:  --lora-targets {' '.join(better)}")]
        if all(meant.values())
        else []
    )
    return NO_TARGET.finding(
        COMMAND_LINE,
        f"`--lora-targets` names {', '.join(f'`{name}`' for name in missing)}, and no layer of "
        "this model is called so.",
        facts=[Fact("layers that take adapters", ", ".join(names))],
        why="A target that matches nothing trains nothing there.",
        fixes=[*fixes, Fix("Or train all of them:  --lora-targets all-linear")],
    )
