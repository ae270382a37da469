"""`surefit rules` lists rules, and finds them by words."""

import json
from pathlib import Path

import pytest

from surefit import cli
from surefit.doctor.catalogue import rule_files


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(["rules", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    return [line.split()[2] for line in lines if line.startswith("SF")]


def test_all_rules_in_the_order_of_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == [file.name for file in rule_files()]


def test_words_are_looked_for_in_names_codes_and_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "view-of") == ["view-of-a-slice"]
    assert listed(capsys, "sf201") == ["ragged-labels"]
    by_page = listed(capsys, "pad", "Labels")
    assert "ragged-labels" in by_page
    assert set(by_page) < set(listed(capsys, "labels"))
    assert "cell-not-python" in listed(capsys, "not-python")  # refusals, too


def test_the_list_as_json(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    assert cli.main(["rules", "view-of", "--json", str(file)]) == 0
    (rule,) = json.loads(file.read_text())["rules"]
    assert (rule["name"], rule["code"], rule["severity"]) == ("view-of-a-slice", "SF302", "error")
    assert rule["summary"].startswith("`.view` was called")


def test_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "paddding"]) == 2
    told = capsys.readouterr().err
    assert "No rule contains `paddding`." in told
    assert "Try `surefit rules padding`." in told
