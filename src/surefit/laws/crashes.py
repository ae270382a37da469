"""Contracts that a crash violates: every file in `contracts/` is asked about every crash."""

import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from surefit.doctor.causes import is_cause
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Unanswered, failed
from surefit.doctor.violations import Violation
from surefit.laws import contracts
from surefit.laws.case import Case

ViolationsOf = Callable[[Case], Iterator[Violation]]


@cache
def every_contract() -> tuple[tuple[str, ViolationsOf], ...]:
    """There is no list to edit: a file there has a `violations_of`."""
    names = [file.name for file in pkgutil.iter_modules(contracts.__path__)]
    modules = [(name, import_module(f"{contracts.__name__}.{name}")) for name in sorted(names)]
    return tuple((name, module.violations_of) for name, module in modules)


def violations_in(recording: Recording, broken: list[str]) -> list[tuple[Violation, Case]]:
    """Of all crashes that are causes. A contract that waits for an answer has none yet; one that
    fails itself is added to `broken`."""
    found: list[tuple[Violation, Case]] = []
    for crash in recording.all(Crash):
        if not is_cause(crash, recording):
            continue
        case = Case(recording, crash)
        for name, violations_of in every_contract():
            try:
                found += [(violation, case) for violation in violations_of(case)]
            except Unanswered:
                continue
            except Exception as error:  # noqa: BLE001 - the other contracts still hold or do not
                broken.append(failed(f"the contract {name}", error))
    return found
