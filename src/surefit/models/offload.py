"""A model whose weights lie elsewhere and come to the device layer by layer while a pass runs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .load import ModelSource, empty_model, load_model

NOT_FROM_DISK = refusal(
    "SF144", "teacher-not-offloaded", "The weights of this model cannot come layer by layer."
)

Offload = Literal["none", "cpu", "disk"]
"""Where a model's weights lie while it is not at work: on its device, in memory, in files."""


def load_offloaded(
    source: ModelSource, dtype: torch.dtype, device: torch.device, offload: Offload, folder: Path
) -> Any:
    """The causal model, its passes to be made on `device`; the head is always there, whole.

    From `disk`, weights are read from their own files. Only what these hold otherwise than the
    model does (experts one by one, pickles) is written again, to `folder`, which must outlast the
    model.
    """
    if offload == "disk":
        return _from_disk(source, dtype, device, folder)
    model = load_model(source, dtype)
    if offload == "none" or device.type == "cpu":
        return model.to(device)
    return stream_from_memory(model, device)


class AbsentWeight(RuntimeError):  # noqa: N818 - it reads as what it is
    """A weight was to be used while it lay elsewhere."""


class OnlyPresentWeights(TorchDispatchMode):
    """While entered, an operation on a weight that was not brought raises `AbsentWeight`.

    On a CPU, torch multiplies with a weight of the device `meta` without a word, and the product is
    whatever the memory held. A layer that takes another's weight without calling it does just that.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [one for one in tree_iter((args, kwargs)) if isinstance(one, torch.Tensor)]
        absent = [one for one in given if one.is_meta]
        if absent and len(absent) < len(given):
            shape = " x ".join(map(str, absent[0].shape))
            raise AbsentWeight(f"{func.name()} was given a weight of {shape} that is not here")
        return func(*args, **(kwargs or {}))


def some_are_absent(model: nn.Module) -> bool:
    return any(one.is_meta for one in model.parameters())


def where_weights_lie(offload: Offload, device: torch.device) -> str:
    """In words, for people."""
    if offload == "disk":
        return f"on disk; layers are loaded to the {_named(device)} one by one, except the head"
    if offload == "none":
        return f"on the {_named(device)}"
    if device.type == "cpu":
        return "on the CPU, which also runs the forward pass, as there is no GPU"
    return f"on the CPU; layers move to the {_named(device)} one by one, except the head"


def stream_from_memory(model: Any, device: torch.device) -> Any:
    """The same model; its weights stay where they are and are copied to the device as needed."""
    from accelerate.hooks import attach_align_device_hook_on_blocks
    from accelerate.utils import find_tied_parameters, retie_parameters

    blocks = _blocks(model, _kept(model))
    tied = find_tied_parameters(model)
    attach_align_device_hook_on_blocks(
        model,
        execution_device={"": device, **dict.fromkeys(blocks, device)},
        offload=dict(blocks),
        weights_map=dict(model.state_dict()),
        skip_keys=getattr(model, "_skip_keys_device_placement", None),
        tied_params_map={model.get_parameter(one[0]).data_ptr(): {} for one in tied},
    )
    retie_parameters(model, tied)
    return model


def _from_disk(source: ModelSource, dtype: torch.dtype, device: torch.device, folder: Path) -> Any:
    if source.gguf_file:
        raise BadInput(_packed(source))
    empty = empty_model(source)
    places = {
        name: "disk" if offloaded else str(device)
        for name, offloaded in _blocks(empty, _kept(empty)).items()
    }
    model = load_model(source, dtype, placed={"device_map": places, "offload_folder": str(folder)})
    if device.type == "cpu":
        _copy_when_read(model, folder)
    return model


def _copy_when_read(model: nn.Module, folder: Path) -> None:
    """Weights that were written again are copied as they are read, not used where files are mapped.

    Their beginnings in a file are no multiples of what memory of their own has, and products of
    experts then round otherwise than they do in a model that is whole.
    """
    for loader in {id(one): one for one in _loaders(model)}.values():
        again = {
            name
            for name, about in loader.index.items()
            if Path(about.get("safetensors_file", "")).parent == folder
        }
        loader.state_dict = _Copies(again, type(loader)(index=loader.index))


def _loaders(model: nn.Module) -> Iterator[Any]:
    """accelerate's, of which its hooks take weights."""
    for module in model.modules():
        hook = getattr(module, "_hf_hook", None)
        for one in getattr(hook, "hooks", [hook]):
            if getattr(one, "weights_map", None) is not None:
                yield one.weights_map.dataset


class _Copies(Mapping[str, torch.Tensor]):
    """Some of a loader's weights, each in memory of its own."""

    def __init__(self, names: set[str], loader: Mapping[str, torch.Tensor]) -> None:
        self._names = names
        self._loader = loader

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._loader[name].clone()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _kept(model: Any) -> set[str]:
    """Modules that stay on the device: the head, and an embedding that shares its weight."""
    head = model.get_output_embeddings() or model.get_input_embeddings()
    return {
        name
        for name, module in model.named_modules()
        if any(one is head.weight for one in module.parameters(recurse=False))
    }


def _blocks(module: nn.Module, kept: set[str], before: str = "") -> dict[str, bool]:
    """The largest parts of a model of which all weights are offloaded, or none are: is it so?

    What a part computes for itself, such as rotary frequencies, is small and stays on the device.
    """
    found: dict[str, bool] = {}
    for name, child in module.named_children():
        path = before + name
        if path in kept:
            found[path] = False
        elif any(one.startswith(f"{path}.") for one in kept):
            found |= _blocks(child, kept, f"{path}.")
        elif any(True for _ in child.parameters()):
            found[path] = True
        elif any(True for _ in child.buffers()):
            found[path] = False
    return found


def _named(device: torch.device) -> str:
    return "CPU" if device.type == "cpu" else f"GPU ({device})"


def _packed(source: ModelSource) -> Finding:
    return NOT_FROM_DISK.finding(
        Place(source.name),
        f"The weights of `{source.name}` are packed in a GGUF file and cannot be loaded layer by "
        "layer.",
        facts=[Fact("file", str(source.gguf_file))],
        why="They are unpacked together when the model is loaded.",
        fixes=[
            Fix("Keep them in main memory:  --offload-teacher cpu"),
            Fix("Name a folder with the same model as safetensors files."),
        ],
    )
