"""Every rule there is, found by looking: a rule is a file under `rules/` with a `RULE` in it."""

import pkgutil
from functools import cache
from importlib import import_module

from surefit.doctor.rule import Rule


def rules() -> tuple[Rule, ...]:
    """In the order of their codes, which is the order in which data flows."""
    return _found()[0]


def broken() -> tuple[str, ...]:
    """Rule files that cannot be imported, a line each; the others are there all the same."""
    return _found()[1]


@cache
def _found() -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    root = import_module("surefit.rules")
    found: list[Rule] = []
    failed: list[str] = []
    for module in pkgutil.walk_packages(root.__path__, "surefit.rules."):
        if module.ispkg:
            continue
        try:
            found.append(import_module(module.name).RULE)
        except Exception as error:  # noqa: BLE001 - one file must not silence the others
            failed.append(f"the rule file {module.name} failed: {type(error).__name__}: {error}")
    return tuple(sorted(found, key=lambda rule: rule.code)), tuple(failed)
