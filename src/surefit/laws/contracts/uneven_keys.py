"""The default collator takes the keys of the first row: every row of a batch must have them."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import CollatorSeen
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.samples import DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNotInEveryRow(Violation):
    """Some rows of a batch have a key, and others do not."""

    collator: CollatorSeen
    key: str
    without: tuple[int, ...]
    """Rows of the batch, from 0."""


def violations_of(case: Case) -> Iterator[KeyNotInEveryRow]:
    crash = case.crash
    collator = crash.collator if crash is not None else None
    asking = next((frame for frame in case.frames if frame.own), None)
    if crash is None or collator is None or asking is None or crash.kind != "KeyError":
        return
    innermost = case.frames[-1]
    asked = innermost.value("key")
    key = asked.scalar if asked is not None and isinstance(asked.scalar, str) else ""
    if collator.kind == DEFAULT and not innermost.own and key in collator.lacking:
        yield KeyNotInEveryRow(
            use=use_of(asking), collator=collator, key=key, without=collator.lacking[key]
        )
