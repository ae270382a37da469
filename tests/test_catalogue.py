"""What every rule owes: a code and a name of its own, a page, a case, and checks that are pure."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import surefit
from surefit.doctor.catalogue import rule_files, rule_in, rules, rules_on
from surefit.doctor.observations import Crash, Script
from surefit.doctor.pages import refusals
from surefit.doctor.recording import kinds as kinds_of_observations
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Violation
from surefit.interpreter import contracts
from surefit.interpreter.scripts import LIBRARIES
from surefit.laws.law import BrokenLaw

PACKAGE = Path(surefit.__file__).parent
FILES = sorted(file for file in (PACKAGE / "rules").rglob("*.py") if not file.name.startswith("__"))
CASES = Path(__file__).parent / "cases"
SECTIONS = ["What happens", "Why it matters", "What to do", "How it is recognised"]
ONLY_READ = "script that is only read"
"""What is looked for there; a page without it speaks of runs alone."""

by_name = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
by_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def test_codes_and_names_are_used_once() -> None:
    known = (*rules(), *refusals())
    assert [code for code, times in Counter(rule.code for rule in known).items() if times > 1] == []
    assert [name for name, times in Counter(rule.name for rule in known).items() if times > 1] == []


def test_every_file_is_a_rule_and_every_rule_a_file() -> None:
    assert sorted(rule.name for rule in rules()) == sorted(
        file.stem.replace("_", "-") for file in FILES
    )


def test_the_text_of_a_file_tells_what_its_rule_looks_at() -> None:
    """Only files that must be are imported: what they say of themselves has to be so."""
    for file in rule_files():
        rule = rule_in(file)
        assert (file.name, file.code) == (rule.name, rule.code)
        assert file.looks_at == {kind.__name__ for kind, _ in rule.checks}, file.module


def test_rules_are_found_by_what_they_look_at() -> None:
    for kind in kinds_of_observations().values():
        with_check = {rule.name for rule in rules() if kind in {one for one, _ in rule.checks}}
        assert {rule.name for rule in rules_on([kind.__name__])} == with_check


IMPORTED = """
import sys
from surefit.cli import main
assert main(["lint", sys.argv[1]]) == 0
print(*(name.rpartition(".")[2] for name in sys.modules if name.startswith("surefit.rules.")))
"""


def test_rules_without_a_word_about_source_are_not_imported_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1  # surefit: allow[ragged-labels]\n")
    command = [sys.executable, "-c", IMPORTED, str(tmp_path / "train.py")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files = {file.stem for file in FILES if "@RULE.on(Script)" in file.read_text(encoding="utf-8")}
    assert said.splitlines()[0] == "1 file read: nothing found"
    assert {*said.split()} & {file.stem for file in FILES} == files


def test_every_case_is_of_a_rule() -> None:
    folders = {folder.name for folder in CASES.iterdir() if folder.is_dir()}
    assert folders - {"__pycache__"} == {rule.name for rule in rules()}


@by_name
def test_a_rule_has_a_case(rule: Rule) -> None:
    for name in ("bad.py", "good.py", "diagnosis.txt"):
        assert (CASES / rule.name / name).is_file(), name
    said = (CASES / rule.name / "diagnosis.txt").read_text(encoding="utf-8")
    assert f"── {rule.severity}: {rule.name} " in said
    assert f" ── {rule.code}\n" in said


@by_name
def test_a_rule_explains_itself(rule: Rule) -> None:
    lines = rule.explanation.splitlines()
    assert lines[0].endswith(".")
    assert lines[1] == ""
    assert [line[3:] for line in lines if line.startswith("## ")] == SECTIONS
    for number, line in enumerate(lines):
        if line.startswith("## "):
            assert lines[number + 1].strip(), line


@by_name
def test_a_rule_has_checks_of_things_that_are_observed(rule: Rule) -> None:
    kinds = [kind for kind, _ in rule.checks]
    assert kinds
    observed = {kind for kind in kinds if not issubclass(kind, Violation)}
    assert {kind.__name__ for kind in observed} <= set(kinds_of_observations())
    said = " ".join(rule.explanation.split())
    reads = Script in kinds or not read_violations().isdisjoint(kinds)
    assert reads or ONLY_READ not in said, f"`{ONLY_READ}`: is that so?"
    assert Script not in kinds or ONLY_READ in said


def read_violations() -> set[type]:
    """What the interpreter derives from source: the violations that its contracts know."""
    names = [file.name for file in pkgutil.iter_modules(contracts.__path__)]
    modules = [import_module(f"{contracts.__name__}.{name}") for name in names]
    modules += [import_module(reader.__module__) for reader in LIBRARIES.values()]
    known = [value for module in modules for value in vars(module).values()]
    return {value for value in known if isinstance(value, type) and issubclass(value, Violation)}


@by_name
def test_a_rule_about_crashes_says_how_they_look(rule: Rule) -> None:
    """`surefit explain -` must find it by what Python says of its own case."""
    kinds = [kind for kind, _ in rule.checks if not issubclass(kind, BrokenLaw)]
    kinds = [kind for kind in kinds if not kind.__module__.startswith(contracts.__name__)]
    if not any(issubclass(kind, Crash | Violation) for kind in kinds):
        return  # a law that no library enforces leaves no traceback, nor does what is only read
    assert rule.symptoms
    said = python_said((CASES / rule.name / "diagnosis.txt").read_text(encoding="utf-8"))
    if said:  # its case may be a silent one
        assert any(symptom.fits(said, ()) or symptom.passed for symptom in rule.symptoms), said
    assert all(symptom.decides for symptom in rule.symptoms)


def python_said(diagnosis: str) -> str:
    """The `python` line of the first finding, which may go on over the next ones."""
    found = re.search(r"^  python +(.*(?:\n {13}.*)*)", diagnosis, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


@by_file
def test_a_rule_is_found_under_its_file(file: Path) -> None:
    name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    rule = importlib.import_module(name).RULE
    assert rule.name == file.stem.replace("_", "-")
    assert rule.explanation == importlib.import_module(name).__doc__


@by_file
def test_a_rule_knows_plain_data_only(file: Path) -> None:
    """Of surefit the doctor and what is below it; of the rest, the standard library."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    own = {name for name in names if name.partition(".")[0] == "surefit"}
    plain = {"doctor", "interpreter", "laws", "lineage", "remedies", "source"}
    assert {name for name in own if name.split(".")[1] not in plain} == set()
    heavy = {"torch", "numpy", "transformers", "datasets", "peft", "accelerate", "trl"}
    assert {name.partition(".")[0] for name in names} & heavy == set()
