"""What is known of the Trainer that was at work when a run failed."""

from surefit.doctor.observations import Crash, Frame, Json, Question, Script
from surefit.doctor.recording import Recording
from surefit.evidence.row_makers import columns_of, row_makers


def is_trainer(frame: Frame) -> bool:
    return frame.place.file.endswith("transformers/trainer.py")


def trainer_of(crash: Crash, seen: Recording) -> dict[str, Json] | None:
    """As the frozen frames tell it; None where there is none, or until they are asked."""
    if not any(is_trainer(frame) for frame in crash.frames):
        return None
    return seen.ask(Question("trainer", crash.id))


def dropped_columns(seen: Recording, trainer: dict[str, Json] | None) -> dict[str, str]:
    """Columns that a Trainer takes away before the batch is made, with their types where they are
    known."""
    if trainer is None or not trainer["removes"] or not trainer["accepts"]:
        return {}
    columns = {str(name): str(kind) for name, kind in trainer["columns"].items()}
    columns = columns or own_columns(seen, str(trainer["dataset"]))
    return {name: kind for name, kind in columns.items() if name not in trainer["accepts"]}


def own_columns(seen: Recording, dataset: str) -> dict[str, str]:
    """Of a dataset that the user wrote, as the source gives them back."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for maker in row_makers(source) if source else ():
            if source is not None and maker.name.partition(".")[0] == dataset:
                return dict.fromkeys(columns_of(source, maker.function), "")
    return {}


def is_text(kind: str) -> bool:
    return "string" in kind or "struct" in kind
