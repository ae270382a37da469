"""The Trainer that was at work: which columns its rows have, and which of them it passes on."""

import inspect
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import origins, own_code
from surefit.observe.inside.autopsy.collators import dataset_seen
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes

HAS = ("train_dataset", "data_collator", "args", "model")
EVALUATES = ("evaluate", "evaluation_loop", "predict", "get_eval_dataloader")


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    trainer = _trainer(frames)
    if trainer is None:
        return None
    held = attributes(trainer)
    evaluates = any(frame.f_code.co_name in EVALUATES for frame in frames)
    dataset = held.get("eval_dataset" if evaluates else "train_dataset")
    collator = held["data_collator"]
    made_at = origins.made_at(trainer)
    seen = dataset_seen(dataset)
    return {
        "kind": type(trainer).__name__,
        "file": made_at.file if made_at else None,
        "line": made_at.line if made_at else None,
        "removes": attributes(held["args"]).get("remove_unused_columns") is True,
        "accepts": held.get("_signature_columns"),
        "model": type(held["model"]).__name__,
        "own_model": own_code.own_class(type(held["model"])),
        "forward": _parameters(held["model"]),
        "collator": getattr(collator, "__name__", None) or type(collator).__name__,
        "dataset": seen.kind,
        "own_dataset": seen.own,
        "columns": _types(dataset),
    }


def _trainer(frames: Sequence[FrameType]) -> Any:
    for frame in reversed(frames):
        this = frame.f_locals.get("self")
        if all(name in attributes(this) for name in HAS):
            return this
    return None


def _parameters(model: Any) -> list[str]:
    forward = inspect.signature(type(model).forward).parameters.values()
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [one.name for one in forward if one.kind not in kinds and one.name != "self"]


def _types(dataset: Any) -> dict[str, str]:
    """Of a table of `datasets`, as Arrow writes them: `list<item: int64>`."""
    table: Any = attributes(dataset).get("_data")
    if type(table).__module__.partition(".")[0] not in ("datasets", "pyarrow"):
        return {}
    return {str(field.name): str(field.type) for field in table.schema}
