"""`surefit explain` prints a rule's page, from the page or from the rule alone."""

import json
from pathlib import Path

import pytest

from surefit import cli
from surefit.cli.explain import reflowed
from surefit.doctor import pages
from surefit.doctor.catalogue import rules
from surefit.doctor.findings import Severity
from surefit.doctor.pages import Example, fenced, page, refusals
from surefit.doctor.rule import Rule

RULE = Rule("SF998", "odd-call", Severity.WARNING, "One\nsentence.\n\n## What happens\nThis.\n")


@pytest.mark.parametrize("name", ["ragged-labels", "SF201", "sf201", "ragged_labels"])
def test_by_name_and_by_code(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", name]) == 0
    told = capsys.readouterr().out
    assert told.startswith("# ragged-labels\n\n`SF201`, error\n\nLabel rows of different lengths")
    assert "\n## What to do\n" in told


def test_without_a_page_the_rule_itself_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "PAGES", (tmp_path / "nowhere", tmp_path))
    (tmp_path / "feature-width-mismatch.md").write_text("The page.\n")
    assert cli.main(["explain", "SF301"]) == 0
    assert capsys.readouterr().out.strip() == "The page."
    assert cli.main(["explain", "SF201"]) == 0
    told = capsys.readouterr().out
    assert "\n## How it is recognised\n" in told
    assert "## Example" not in told


def test_refusals_have_a_name_and_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "no-pad-token"]) == 0
    assert capsys.readouterr().out.startswith("# no-pad-token\n\n`SF152`, error\n\n")
    by_name = {rule.name: rule for rule in refusals()}
    assert by_name["unknown-allowance"].severity is Severity.NOTE
    assert not {rule.name for rule in rules()} & set(by_name)


def test_a_name_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "raged-labels"]) == 2
    told = capsys.readouterr().err
    assert "surefit has no rule `raged-labels`." in told
    assert "Write `surefit explain ragged-labels`, the nearest name." in told
    assert cli.main(["explain", "xyz"]) == 2
    assert "ragged-labels" in capsys.readouterr().err
    assert cli.main(["explain"]) == 2
    assert "`explain` needs `RULE`: a text." in capsys.readouterr().err


def test_the_page_as_json(tmp_path: Path) -> None:
    file = tmp_path / "page.json"
    assert cli.main(["explain", "SF201", "--json", str(file)]) == 0
    document = json.loads(file.read_bytes())
    assert document["command"] == "explain"
    assert document["page"].startswith("# ragged-labels\n")


def test_a_page_with_its_example() -> None:
    made = page(RULE, Example("x = '```'\n", "── error\n", "x = 1\n"))
    assert made == (
        "# odd-call\n\n`SF998`, warning\n\nOne\nsentence.\n\n## What happens\nThis.\n\n"
        "## Example\n\n````python\nx = '```'\n````\n\n"
        "`surefit run bad.py` says:\n\n```text\n── error\n```\n\n"
        "Mended:\n\n```python\nx = 1\n```\n"
    )
    assert pages.summary(RULE) == "One sentence."


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a `b` ````\n", "text") == "`````text\na `b` ````\n`````"


def test_paragraphs_are_wrapped_and_code_is_not() -> None:
    long = "word " * 40
    text = f"# Title\n{long}\n{long}\n\n- item\n\n```python\n{long}\n```\nend\n"
    lines = list(reflowed(text))
    assert lines[0] == "# Title"
    assert max(map(len, lines[1:6])) <= 80
    assert lines.count(long) == 1
    assert "- item" in lines
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


def test_a_case_is_an_example_if_all_of_it_is_there(tmp_path: Path) -> None:
    for name in ("bad.py", "diagnosis.txt"):
        (tmp_path / name).write_text(name)
        assert pages.example(tmp_path) is None
    (tmp_path / "good.py").write_text("good")
    assert pages.example(tmp_path) == Example("bad.py", "diagnosis.txt", "good")
