"""The Trainer that was at work when a run failed: its columns, and which of them it drops."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.observations import Frame
from surefit.laws.case import Case
from surefit.source.classes import method
from surefit.source.reading import Source, called
from surefit.source.selection import the_only

ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig")
ROWS = ("train_dataset", "eval_dataset")
"""Arguments of a Trainer that are given rows."""


@dataclass(frozen=True, slots=True)
class TrainerState:
    """What the crashed process says of it."""

    probe: ClassVar[str] = "trainer"

    model: str
    removes: bool = False
    """Columns that `forward` does not name are dropped."""
    accepts: tuple[str, ...] | None = None
    """Columns that are kept; None as long as it has not looked."""
    forward: tuple[str, ...] = ()
    collator: str = ""
    dataset: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    """Of a table of `datasets`, with the types that Arrow has for them."""


def is_trainer(frame: Frame) -> bool:
    return frame.place.file.endswith("transformers/trainer.py")


def trainer_of(case: Case) -> TrainerState | None:
    return case.ask(TrainerState) if any(map(is_trainer, case.frames)) else None


def dropped_columns(case: Case, trainer: TrainerState | None) -> dict[str, str]:
    """Columns that are dropped before the batch is created, with their types where these are
    known."""
    if trainer is None or not trainer.removes or not trainer.accepts:
        return {}
    columns = trainer.columns or dict.fromkeys(own_columns(case, trainer.dataset), "")
    return {name: kind for name, kind in columns.items() if name not in trainer.accepts}


def own_columns(case: Case, dataset: str) -> Iterator[str]:
    """Keys that `__getitem__` of a class of the user's writes into its rows."""
    for source, owner in case.recording.every(ast.ClassDef):
        rows = method(source, owner, "__getitem__") if owner.name == dataset else None
        for node in ast.walk(rows) if rows is not None else ():
            keys = node.keys if isinstance(node, ast.Dict) else []
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                keys = [node.slice]
            yield from (
                key.value
                for key in keys
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )


def arguments_call(case: Case) -> tuple[Source, ast.Call] | None:
    """The one call that creates the Trainer's arguments."""
    every = [(source, call) for source, call in case.recording.every(ast.Call)]
    return the_only((source, call) for source, call in every if called(call) in ARGUMENTS)


def is_text(kind: str) -> bool:
    return "string" in kind or "struct" in kind
