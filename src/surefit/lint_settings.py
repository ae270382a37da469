"""Which rules `surefit lint` asks, and what makes it fail: `[tool.surefit]` in `pyproject.toml`."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from surefit.config_file import Lines, config_text, read_toml
from surefit.did_you_mean import nearest
from surefit.doctor.allowed import UNKNOWN_ALLOWANCE
from surefit.doctor.catalogue import Known, rule_files
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.linting import NOT_PYTHON
from surefit.settings import Misfit, fit, unknown_setting, wrong_type

UNKNOWN_SELECTION = refusal(
    "SF026", "unknown-selection", "A rule that was to be selected or ignored does not exist."
)

FailOn = Literal["error", "warning", "note", "never"]
PROJECT_FILE = "pyproject.toml"
TABLE = "tool.surefit"
CODE_BEGINS = re.compile(r"SF\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LintSettings:
    """Names are of rules (`ragged-labels`), of codes (`SF201`), or begin codes (`SF2`)."""

    select: tuple[str, ...] = ()
    """Only these rules are told; without it all are."""
    ignore: tuple[str, ...] = ()
    """These are not told."""
    fail_on: FailOn = "error"
    """The least severity that makes the exit code 1."""

    def tells(self, finding: Finding) -> bool:
        """A file that cannot be read is told unless that very rule is ignored."""
        selected = not self.select or finding.rule == NOT_PYTHON.name
        return (selected or names_rule(self.select, finding)) and not names_rule(
            self.ignore, finding
        )

    def fails_on(self, finding: Finding) -> bool:
        severities = list(Severity)
        if self.fail_on == "never":
            return False
        return severities.index(finding.severity) <= severities.index(Severity(self.fail_on))


def names_rule(names: Collection[str], finding: Finding) -> bool:
    return any(
        finding.code.startswith(name.upper()) if is_code(name) else finding.rule == name
        for name in names
    )


def is_code(name: str) -> bool:
    return CODE_BEGINS.fullmatch(name) is not None


def refuse_unknown(names: Sequence[str], place: Place) -> None:
    """Of names that no rule has."""
    rules: tuple[Known, ...] = (*rule_files(), UNKNOWN_ALLOWANCE, NOT_PYTHON)
    known = {rule.name for rule in rules}
    codes = {rule.code for rule in rules}
    wrong = [
        name
        for name in names
        if not (
            any(code.startswith(name.upper()) for code in codes) if is_code(name) else name in known
        )
    ]
    if wrong:
        raise WrongCall(*(unknown_selection(name, known, place) for name in wrong))


def unknown_selection(name: str, known: Collection[str], place: Place) -> Finding:
    meant = nearest(name.replace("_", "-"), known)
    advice = f"Write `{meant}`, the nearest name." if meant else "`surefit rules` lists all rules."
    return UNKNOWN_SELECTION.finding(place, f"surefit has no rule `{name}`.", fixes=(Fix(advice),))


def settings_for(file: Path, flags: LintSettings, flags_set: Collection[str]) -> LintSettings:
    """Flags win, then the nearest project above the file, then defaults."""
    project = project_above(file.absolute().parent)
    return replace(project, **{name: getattr(flags, name) for name in flags_set})


@cache
def project_above(folder: Path) -> LintSettings:
    """Of the nearest `pyproject.toml` with a `[tool.surefit]`; defaults where there is none."""
    file = folder / PROJECT_FILE
    if file.is_file():
        settings = read_project(Path(os.path.relpath(file)))
        if settings is not None:
            return settings
    return project_above(folder.parent) if folder != folder.parent else LintSettings()


def read_project(file: Path) -> LintSettings | None:
    """None where the file says nothing of surefit; of a key that is not known, its line."""
    text = config_text(file)
    if "surefit" not in text:
        return None
    values, lines = read_toml(file, text)
    tool = values.get("tool")
    table = tool.get("surefit") if isinstance(tool, dict) else None
    return checked(file, table, lines) if isinstance(table, dict) else None


def checked(file: Path, table: dict[str, Any], lines: Lines) -> LintSettings:
    hints = get_type_hints(LintSettings)
    known = {field.name.replace("_", "-"): field.name for field in fields(LintSettings)}
    wrong: list[Finding] = []
    values: dict[str, Any] = {}
    for key, value in table.items():
        line = lines.get((TABLE, key)) or lines.get((f"{TABLE}.{key}",)) or lines.get((TABLE,))
        place = Place(str(file), line)
        name = known.get(key.replace("_", "-"))
        if name is None:
            wrong.append(unknown_setting(key, f"[{TABLE}]", list(known), place))
            continue
        try:
            values[name] = fit(hints[name], value)
        except Misfit as misfit:
            wrong.append(wrong_type(key, value, misfit.takes, place))
            continue
        if name != "fail_on":
            refuse_unknown(values[name], place)
    if wrong:
        raise WrongCall(*wrong)
    return LintSettings(**values)
