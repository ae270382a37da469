"""Where a value of a crash comes from, in a few words."""

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.rule import Unanswered
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import code
from surefit.laws.case import NO_LINEAGE, Case
from surefit.lineage.properties import Property, length, none, shape

SHORT = 60


def origin(value: Value, frame: int, case: Case) -> str:
    """`, from train.py:12  load(path)`; empty while no second run has told it, and where it was
    born in the failing line itself."""
    written = born_at(value, frame, case)
    if written is None or written.text == value.text:
        return f", created at {value.made_at}" if value.made_at is not None else ""
    place = Place(written.place.file, written.place.line)
    return f", from {place}  {shortened(written.text, SHORT)}"


def born_at(value: Value, frame: int, case: Case) -> Written | None:
    """The user's expression in which a value of a frame became what it is."""
    side = Operand(value=value, name=code(value.text), frame=frame)
    try:
        lineage = case.lineage(side)
    except Unanswered:
        lineage = NO_LINEAGE
    property_of = what_it_is(value)
    birth = lineage.birth(of=property_of) if property_of is not None else None
    written = lineage.written()
    is_written = written is not None and written.text in (str(value.scalar), repr(value.scalar))
    return birth or (written if is_written else next(iter(lineage.expressions), written))


def what_it_is(value: Value) -> Property | None:
    """What the first expression of its lineage that matters has in common with it."""
    if value.kind == "NoneType":
        return none
    if value.shape is not None:
        return shape(value.shape)
    return length(value.length) if value.length is not None and value.scalar is None else None


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
