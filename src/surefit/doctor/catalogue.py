"""Every rule there is, found by looking: a rule is a file under `rules/` with a `RULE` in it."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from surefit.doctor.recording import Recording
from surefit.doctor.rule import Cases, Rule

PACKAGE = "surefit.rules"
VIOLATIONS = {
    "Crash": "surefit.laws.crashes",
    "Script": "surefit.interpreter.scripts",
    "Steps": "surefit.laws.runs",
    "Measure": "surefit.laws.runs",
}
"""Kind of observation -> the module that finds the laws that it violates."""
CODE = re.compile(r'^RULE = Rule\(\s*"(\w+)"', re.MULTILINE)
CHECK = re.compile(r"^@RULE\.on\((\w+)\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule as the text of its file tells of it: to import all of them takes half a second."""

    module: str
    name: str
    code: str
    looks_at: frozenset[str]
    """Kinds of observations; none where the text does not tell."""


Known = Rule | RuleFile


def rules() -> tuple[Rule, ...]:
    """In the order of their codes, which is the order in which data flows."""
    return _imported(rule_files())


def rules_on(kinds: Collection[str]) -> tuple[Rule, ...]:
    """Those that look at observations of these kinds; no other is imported."""
    return _imported(file for file in rule_files() if is_about(file, kinds))


def is_about(file: RuleFile, kinds: Collection[str]) -> bool:
    return not file.looks_at or not file.looks_at.isdisjoint(kinds)


def rule_in(file: RuleFile) -> Rule:
    rule: Rule = import_module(file.module).RULE
    return rule


def sources_of_violations(
    kinds: Collection[str],
) -> tuple[Callable[[Recording, list[str]], Cases], ...]:
    """What finds violations in observations of these kinds; no other is imported."""
    names = dict.fromkeys(name for kind, name in VIOLATIONS.items() if kind in kinds)
    return tuple(import_module(name).violations_in for name in names)


def broken() -> tuple[str, ...]:
    """Rule files that could not be imported, a line each; the others are there all the same."""
    return tuple(_failed.values())


@cache
def rule_files() -> tuple[RuleFile, ...]:
    """All of them, without importing any."""
    found = [
        _read(folder, file)
        for folder in map(Path, import_module(PACKAGE).__path__)
        for file in folder.rglob("*.py")
        if file.name != "__init__.py"
    ]
    return tuple(sorted(found, key=lambda file: (file.code, file.name)))


def _read(folder: Path, file: Path) -> RuleFile:
    text = file.read_text(encoding="utf-8")
    code = CODE.search(text)
    return RuleFile(
        ".".join((PACKAGE, *file.relative_to(folder).with_suffix("").parts)),
        file.stem.replace("_", "-"),
        code[1] if code else "",
        frozenset(CHECK.findall(text)),
    )


_failed: dict[str, str] = {}


def _imported(files: Iterable[RuleFile]) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for file in (file for file in files if file.module not in _failed):
        try:
            found.append(rule_in(file))
        except Exception as error:  # noqa: BLE001 - one file must not silence the others
            said = f"{type(error).__name__}: {error}"
            _failed[file.module] = f"the rule file {file.module} failed: {said}"
    return tuple(sorted(found, key=lambda rule: rule.code))
