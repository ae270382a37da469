"""What `torch.load` reads unless told otherwise: tensors, numbers, texts and their containers."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of

SERIALIZATION = "torch/serialization.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpicklingRefused(Violation):
    """A file holds objects of other classes."""

    file: str = ""
    class_name: str = ""
    """Of source that was only read: the class that is saved."""
    saved_at: str = ""


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    last = crash.frames[-1] if crash is not None and crash.frames else None
    if crash is None or own is None or last is None:
        return
    here = last.place.file.replace("\\", "/").endswith(SERIALIZATION)
    asked = crash.value("weights_only")
    refused = asked is not None and asked.scalar is True
    if here and refused and crash.kind.rpartition(".")[2] == "UnpicklingError":
        texts = [value.scalar for value in own.values if isinstance(value.scalar, str)]
        expression = own.expression or ""
        named = [text for text in texts if text in expression] or texts
        yield UnpicklingRefused(use=use_of(own), file=named[0] if named else "")
