"""How a value in a crash's frame came to be, as a second run told it: operations, newest first."""

import msgspec

from surefit.doctor.observations import Crash, Operation, Question
from surefit.doctor.recording import Recording

OF_VALUE = "story"


def story_of_value(seen: Recording, crash: Crash, frame: int, text: str) -> list[Operation]:
    """Of the value that an expression has in a frame; empty until a second run has told it."""
    said = seen.ask(Question(OF_VALUE, crash.id, {"frame": frame, "text": text}))
    told = said.get("operations") if said else None
    return msgspec.convert(told or [], list[Operation], strict=False)


def taken(operation: Operation, operations: list[Operation]) -> list[Operation]:
    """The operations that made what this one took, in the order it took them."""
    known = {one.serial: one for one in operations}
    return [known[serial] for serial in operation.takes if serial in known]


def line_of(operation: Operation, seen: Recording) -> str:
    """The statement that it belongs to, on one line; its name where that is unknown."""
    source = seen.source(operation.place)
    line = operation.place.line if operation.place else None
    statement = source.statement_at(line) if source and line else None
    if source is None or statement is None or hasattr(statement, "body"):
        return operation.name
    return " ".join(source.segment(statement).split())
