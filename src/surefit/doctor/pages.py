"""A rule's page as Markdown: its explanation and, where its case is at hand, the examples."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path

from surefit.doctor.catalogue import Known, RuleFile, rule_files, rule_in
from surefit.doctor.findings import Severity
from surefit.doctor.rule import Rule

PACKAGE = Path(__file__).resolve().parents[1]
PAGES = (PACKAGE / "rules" / "pages", PACKAGE.parents[1] / "docs" / "rules")
"""Where generated pages lie: in an installed package, and in a clone."""


@dataclass(frozen=True, slots=True)
class Example:
    """A script that fails for one reason, what surefit says of it, and the least change to it."""

    bad: str
    diagnosis: str
    good: str


def example(folder: Path) -> Example | None:
    """The case in a folder, if all of it is there."""
    files = [folder / name for name in ("bad.py", "diagnosis.txt", "good.py")]
    if not all(file.is_file() for file in files):
        return None
    return Example(*(file.read_text(encoding="utf-8") for file in files))


def page(rule: Rule, shown: Example | None = None) -> str:
    parts = [f"# {rule.name}", f"`{rule.code}`, {rule.severity}", cleandoc(rule.explanation)]
    if shown:
        parts += ["## Example", fenced(shown.bad, "python")]
        parts += ["`surefit run bad.py` says:", fenced(shown.diagnosis, "text")]
        parts += ["Mended:", fenced(shown.good, "python")]
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str) -> str:
    """A code block; its fence is longer than any in the text."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def summary(rule: Rule) -> str:
    """The first paragraph of the explanation, on one line."""
    return " ".join(cleandoc(rule.explanation).split("\n\n")[0].split())


def known_rule(name: str) -> Known | None:
    """A rule or a refusal by its name."""
    known: tuple[Known, ...] = (*rule_files(), *refusals())
    return next((rule for rule in known if rule.name == name), None)


def explanation(name: str) -> str:
    """What a rule says of itself, without examples; nothing where there is no such rule."""
    about = known_rule(name)
    rule = rule_in(about) if isinstance(about, RuleFile) else about
    return cleandoc(rule.explanation) if rule is not None else ""


def written_page(about: Known) -> str:
    """The page that was generated with examples; without one, what the rule itself says."""
    for folder in PAGES:
        file = folder / f"{about.name}.md"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return page(rule_in(about) if isinstance(about, RuleFile) else about)


@cache
def refusals() -> tuple[Rule, ...]:
    """Rules that stand beside the checks that make them, read from the source of surefit: to import
    them all would take torch."""
    found = [
        rule
        for file in sorted(PACKAGE.rglob("*.py"))
        if not file.is_relative_to(PACKAGE / "rules")
        for rule in constants(file.read_text(encoding="utf-8"))
    ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def constants(text: str) -> Iterator[Rule]:
    """Refusals, and rules of the same short form, that a file defines."""
    if "refusal(" not in text and "Rule(" not in text:
        return
    for statement in ast.parse(text).body:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            continue
        texts = [one.value for one in value.args if isinstance(one, ast.Constant)]
        levels = [one.attr for one in value.args if isinstance(one, ast.Attribute)]
        if value.func.id in ("refusal", "Rule") and len(texts) == 3:
            code, name, explanation = map(str, texts)
            yield Rule(code, name, Severity[levels[0] if levels else "ERROR"], explanation)
