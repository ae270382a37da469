"""Save and resume, exactly: trained weights, optimizer, schedule, scaler, random state, place."""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.models.shards import is_sharded
from surefit.writing import new_folder, remove_folder, write_json, writing

from .progress import Progress
from .random_state import random_state, restore_random_state
from .ranks import Ranks

DAMAGED = refusal("SF195", "checkpoint-damaged", "A checkpoint is not as it was written.")
FOREIGN = refusal("SF196", "checkpoint-of-another-run", "A checkpoint belongs to another run.")

KEEP = 2
"""Checkpoints that are kept: the newest, and one more in case it is damaged."""

ALONE = Ranks()


class Stateful(Protocol):
    """Whatever gives its state as tensors, numbers and texts, and takes it back."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> object: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What changes in training and must be saved."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    scaler: Any = None
    more: Mapping[str, Stateful] = field(default_factory=dict)
    """What a recipe trains or counts beside these, alike on all processes."""


def save_checkpoint(
    folder: Path, parts: Parts, progress: Progress, identity: dict[str, str], ranks: Ranks = ALONE
) -> None:
    """Written to the side and renamed; older checkpoints go when the new one stands.

    The first process writes; of a sharded model each has written its shards before.
    """
    path = folder / f"step-{progress.step:07d}"
    about = {"progress": asdict(progress), "identity": identity, "processes": ranks.world}
    states = ranks.gathered([random_state()])
    if not is_sharded(parts.model):
        ranks.first_does(lambda: _write(path, _Whole(parts), _state(parts, states), about))
        return
    aside = path.with_name(f".{path.name}.shards")
    try:
        from .sharded_checkpoint import save_shards

        with writing(path):
            groups = save_shards(aside, parts.model, parts.optimizer)
        state = _state(parts, states, groups)
        ranks.first_does(lambda: _write(path, _Shards(aside), state, about))
    finally:
        if ranks.is_first:
            shutil.rmtree(aside, ignore_errors=True)


def _write(
    path: Path, tensors: "_Whole | _Shards", state: dict[str, Any], about: dict[str, Any]
) -> None:
    with new_folder(path) as side:
        tensors.put(side)
        torch.save(state, side / "state.pt")
        sums = {file.name: _sum(file) for file in sorted(side.iterdir())}
        write_json(side / "checkpoint.json", {**about, "sha256": sums})
    for old in checkpoints(path.parent)[:-KEEP]:
        remove_folder(old)
    for left in path.parent.glob(".step-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Tensors of a model that every process holds."""

    parts: Parts

    def put(self, side: Path) -> None:
        save_file(_trained(self.parts.model), side / "weights.safetensors")


@dataclass(frozen=True, slots=True)
class _Shards:
    """Tensors that the processes have written already."""

    aside: Path

    def put(self, side: Path) -> None:
        for file in self.aside.iterdir():
            file.rename(side / file.name)


def checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"))


def load_checkpoint(
    folder: Path,
    parts: Parts,
    identity: dict[str, str],
    ranks: Ranks = ALONE,
    begun_at: int = 0,
) -> Progress:
    """Puts everything back as it was; raises `BadInput` and changes nothing if it cannot.

    After step `begun_at` a new schedule begins, whatever the one before it came to. The processes
    can be more or fewer than those that saved it.
    """
    meta = _read_meta(folder)
    for name, wanted in meta["sha256"].items():
        if not (folder / name).exists() or _sum(folder / name) != wanted:
            raise BadInput(_damaged(folder, name, "its checksum is not the one that was written"))
    _check_identity(folder, meta["identity"], identity)
    state = torch.load(folder / "state.pt", weights_only=True, map_location="cpu")
    if state["groups"] is None:
        _put_back(parts, load_file(folder / "weights.safetensors"), state["optimizer"])
    else:
        from .sharded_checkpoint import load_shards

        load_shards(folder, parts.model, parts.optimizer, state["groups"])
    progress = Progress(**meta["progress"])
    if progress.step == begun_at:
        for group, rate in zip(
            parts.optimizer.param_groups, parts.schedule.get_last_lr(), strict=True
        ):
            group["lr"] = rate
    else:
        parts.schedule.load_state_dict(state["schedule"])
    if parts.scaler is not None and state["scaler"] is not None:
        parts.scaler.load_state_dict(state["scaler"])
    for name, one in parts.more.items():
        one.load_state_dict(state["more"][name])
    restore_random_state(state["random"], ranks.rank)
    return progress


def _check_identity(folder: Path, saved: dict[str, str], now: dict[str, str]) -> None:
    differing = [name for name in now if saved.get(name) != now[name]]
    if differing:
        raise BadInput(
            FOREIGN.finding(
                Place(str(folder)),
                "This checkpoint was written by a run with other "
                f"{', '.join(f'`{name}`' for name in differing)}.",
                facts=[
                    Fact(name, f"{saved.get(name)} in the checkpoint, {now[name]} now")
                    for name in differing
                ],
                why="Resuming from it would mix two runs, and the metrics would belong to neither.",
                fixes=[Fix("Restore the original data, model and settings, or start a new run.")],
            )
        )


def _trained(model: nn.Module) -> dict[str, torch.Tensor]:
    saved = model.state_dict().keys()
    tensors: dict[str, torch.Tensor] = {
        name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad
    }
    tensors.update({name: b for name, b in model.named_buffers() if name in saved})
    return {name: tensor.detach().contiguous() for name, tensor in tensors.items()}


def _state(
    parts: Parts, states: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """`states`: the random numbers of all processes. The shards hold the optimizer's tensors."""
    return {
        "optimizer": parts.optimizer.state_dict() if groups is None else None,
        "groups": groups,
        "schedule": parts.schedule.state_dict(),
        "scaler": parts.scaler.state_dict() if parts.scaler is not None else None,
        "random": states,
        "more": {name: one.state_dict() for name, one in parts.more.items()},
    }


def _put_back(parts: Parts, weights: dict[str, torch.Tensor], optimizer: dict[str, Any]) -> None:
    targets = dict(parts.model.named_parameters()) | dict(parts.model.named_buffers())
    with torch.no_grad():
        for name, tensor in weights.items():
            targets[name].copy_(_like(targets[name], tensor))
    parameters = [one for group in parts.optimizer.param_groups for one in group["params"]]
    for number, held in optimizer["state"].items():
        for name, value in held.items():
            held[name] = _like(parameters[number], value)
    parts.optimizer.load_state_dict(optimizer)


def _like(parameter: torch.Tensor, value: Any) -> Any:
    if not hasattr(parameter, "device_mesh") or not isinstance(value, torch.Tensor):
        return value
    from .sharded_checkpoint import like

    return like(parameter, value)


def fingerprint(*values: object) -> str:
    """A short name for these values: equal only if they are."""
    return hashlib.sha256(msgspec.json.encode(values)).hexdigest()[:16]


def weights_fingerprint(model: nn.Module) -> str:
    """Of names, shapes and a few values of each frozen weight: enough to know another model."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)}".encode())
        if not parameter.requires_grad:
            digest.update(parameter.detach().flatten()[:64].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = msgspec.json.decode((folder / "checkpoint.json").read_bytes())
        Progress(**meta["progress"])
        dict(meta["sha256"]), dict(meta["identity"])
    except (OSError, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise BadInput(_damaged(folder, "checkpoint.json", said)) from error
    return meta


def _damaged(folder: Path, name: str, said: str) -> Finding:
    earlier = [other.name for other in checkpoints(folder.parent) if other.name < folder.name]
    instead = f" to resume from {earlier[-1]}" if earlier else " and start again"
    return DAMAGED.finding(
        Place(str(folder / name)),
        f"`{name}` of checkpoint {folder.name} is damaged: {said}.",
        facts=[Fact("other checkpoints", ", ".join(earlier) or "none")],
        fixes=[Fix(f"Remove the folder {folder}{instead}.")],
    )


def _sum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
