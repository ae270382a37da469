"""The trained weights and optimizer state of a sharded model: each process saves what it holds."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.tensor import DTensor, distribute_tensor

OPTIONS = StateDictOptions(ignore_frozen_params=True, strict=False)

Groups = list[dict[str, Any]]
"""What an optimizer knows of its groups beside tensors: learning rates and the like."""


def save_shards(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Groups:
    """All processes together, into one folder; what is no tensor is given back, to be kept too."""
    weights, state = get_state_dict(model, optimizer, options=OPTIONS)
    tensors = {"weights": weights, "optimizer": state["state"]}
    save(tensors, storage_writer=FileSystemWriter(folder))
    groups: Any = state["param_groups"]
    kept: Groups = groups
    return kept


def load_shards(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, groups: Groups
) -> None:
    """Into as many processes as there are now, sharded or whole."""
    weights, state = get_state_dict(model, optimizer, options=OPTIONS)
    tensors = {"weights": weights, "optimizer": state["state"]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")  # in one process, meant
        load(tensors, storage_reader=TensorReader(folder))
    set_state_dict(
        model,
        optimizer,
        model_state_dict=weights,
        optim_state_dict={"state": state["state"], "param_groups": groups},
        options=OPTIONS,
    )


def like(parameter: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """A whole tensor, in shards where the parameter is and it has the parameter's shape."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    mesh = parameter.device_mesh
    return distribute_tensor(tensor.to(mesh.device_type), mesh, parameter.placements)


class TensorReader(FileSystemReader):
    """Reads a checkpoint's table of contents without running what it is told to."""

    def read_metadata(self, *_: Any, **__: Any) -> Metadata:
        with (Path(self.path) / ".metadata").open("rb") as file:
            found: Metadata = OnlyTables(file).load()
        if found.storage_meta is None:
            raise pickle.UnpicklingError("the table of contents does not say how it was stored")
        found.storage_meta.load_id = self.load_id
        return found


class OnlyTables(pickle.Unpickler):
    """Unpickles the classes that a table of contents is made of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        named = (module, name) in NAMES
        of_a_table = module.startswith("torch.distributed.checkpoint.") and isinstance(found, type)
        if named or of_a_table or isinstance(found, torch.dtype):
            return found
        raise pickle.UnpicklingError(f"a table of contents has no use for `{module}.{name}`")


NAMES = {
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
    ("collections", "OrderedDict"),
    ("pathlib", "PosixPath"),
    ("pathlib", "WindowsPath"),
}
