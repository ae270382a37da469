"""Writes a page for every rule to docs/rules: `python -m tools.rule_pages [--check]`.

With `--check` nothing is written; pages that differ are named, and the exit code is 1 if there are
any.
"""

import sys
from pathlib import Path

from surefit.doctor.catalogue import rules
from surefit.doctor.pages import example, page, refusals, summary
from surefit.doctor.rule import Rule

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "rules"
CASES = ROOT / "tests" / "cases"

ABOUT = """\
# Rules

What surefit looks for, in the order in which data flows. `surefit explain RULE` prints a page.
These pages are made from the rules and their cases by `python -m tools.rule_pages`."""
REFUSALS = """\
## Refusals

Input that surefit will not work on, and calls that make no sense."""


def pages() -> dict[str, str]:
    """File name -> text."""
    made = {f"{rule.name}.md": page(rule, example(CASES / rule.name)) for rule in rules()}
    return {"README.md": index(), **made}


def index() -> str:
    linked = [row(rule, f"[{rule.name}]({rule.name}.md)") for rule in rules()]
    plain = [row(rule, rule.name) for rule in refusals()]
    return "\n\n".join([ABOUT, table(linked), REFUSALS, table(plain)]) + "\n"


def row(rule: Rule, name: str) -> str:
    said = summary(rule).replace("|", r"\|")
    return f"| {rule.code} | {name} | {rule.severity} | {said} |"


def table(rows: list[str]) -> str:
    return "\n".join(["| code | name | severity | |", "| --- | --- | --- | --- |", *rows])


def differing(made: dict[str, str], folder: Path) -> list[str]:
    return [
        name
        for name, text in made.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str], folder: Path = PAGES) -> int:
    made = pages()
    differ = differing(made, folder)
    if arguments == ["--check"]:
        for name in differ:
            print(f"docs/rules/{name} is not what its rule says; run `python -m tools.rule_pages`")
        return 1 if differ else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in differ:
        (folder / name).write_text(made[name], encoding="utf-8")
        print(f"docs/rules/{name} is written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
