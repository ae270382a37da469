"""`surefit lint` for programs: forms of output, rules selected and ignored, `pyproject.toml`."""

import json
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from notebook_files import notebook
from surefit import cli
from surefit.source.patches import Edit, Replace, patched
from surefit.source.spans import Span
from swapped_product import HEADLINE, SCRIPT

SCHEMAS = Path(__file__).parents[2] / ".venv" / "sarif"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    return tmp_path


@cache
def schema() -> Any:
    """Version 2.1.0 (rtm.4), as the source distribution of `sarif-om` has it."""
    archives = sorted(SCHEMAS.glob("sarif_om-*.tar.gz"))
    assert archives, "`make setup` downloads it"
    with tarfile.open(archives[-1]) as opened:
        (name,) = (name for name in opened.getnames() if name.endswith("/sarif-2.1.0-rtm.4.json"))
        file = opened.extractfile(name)
        assert file is not None
        return json.load(file)


def lint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["lint", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def rules_told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code, out, _ = lint(capsys, "--format", "json", *arguments)
    return code, [finding["rule"] for finding in json.loads(out)["findings"]]


def test_json_is_the_document_of_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lint(capsys, "--format", "json", "--json", "file.json", "--quiet")
    assert (code, err) == (0, "")
    assert out == Path("file.json").read_text()
    (finding,) = json.loads(out)["findings"]
    assert finding["place"] == {
        **{"file": "train.py", "line": 5, "end_line": 5},
        **{"column": 10, "end_column": 15},
    }


def test_gcc_and_github(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = lint(capsys, "--format", "gcc")
    assert out == f"train.py:5:10: warning: {HEADLINE} [product-does-not-fit]\n"
    code, out, _ = lint(capsys, "--format", "github")
    assert code == 0
    assert out.startswith(
        "::warning file=train.py,line=5,endLine=5,col=10,endColumn=14,"
        f"title=product-does-not-fit (SF309)::{HEADLINE}%0A"
    )
    assert out.count("\n") == 1


def test_what_a_workflow_would_obey_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").rename("a,b: 100%.py")
    _, out, _ = lint(capsys, "--format", "github")
    assert out.startswith("::warning file=a%2Cb%3A 100%25.py,line=5,")


def test_sarif_is_valid_and_its_fix_is_the_patch(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("if x\n")
    Path("notebook.ipynb").write_text(notebook("import torch", *SCRIPT.split("\n\n")))
    code, out, _ = lint(capsys, "--format", "sarif", ".")
    assert code == 1
    document = json.loads(out)
    jsonschema.validate(document, schema())
    (run,) = document["runs"]
    broken, cell, script = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [
        *("SF017", "SF309", "SF309")
    ]
    assert rules[script["ruleIndex"]]["name"] == "product-does-not-fit"
    assert rules[script["ruleIndex"]]["help"]["markdown"].startswith("## What happens")
    assert (broken["level"], script["level"]) == ("error", "warning")
    where = script["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "train.py"}
    assert where["region"] == {"startLine": 5, "startColumn": 10, "endLine": 5, "endColumn": 15}
    assert cell["locations"][0]["logicalLocations"][0]["name"] == "cell 3"
    assert "region" not in cell["locations"][0]["physicalLocation"]
    assert applied(script["fixes"][0], SCRIPT) == SCRIPT.replace(
        "@ answers", "@ answers.transpose(-2, -1)"
    )


def applied(fix: Any, text: str) -> str:
    """As a program that reads SARIF does it."""
    (change,) = fix["artifactChanges"]
    parts = []
    for part in change["replacements"]:
        region = part["deletedRegion"]
        span = Span(
            region["startLine"],
            region["startColumn"] - 1,
            region["endLine"],
            region["endColumn"] - 1,
        )
        parts.append(Replace(span, part["insertedContent"]["text"]))
    return patched(Edit("train.py", tuple(parts)), text)


def test_sarif_tells_rules_that_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from surefit.doctor import catalogue

    monkeypatch.setitem(catalogue._failed, "surefit.rules.odd", "the rule file odd failed: odd")
    code, out, err = lint(capsys, "--format", "sarif")
    document = json.loads(out)
    jsonschema.validate(document, schema())
    (called,) = document["runs"][0]["invocations"]
    assert (code, called["executionSuccessful"]) == (1, False)
    assert "the rule file odd failed" in called["toolExecutionNotifications"][0]["message"]["text"]
    assert "surefit: train.py: the rule file odd failed" in err


@pytest.mark.parametrize(
    ("flags", "rules", "code"),
    [
        ("", ["product-does-not-fit"], 0),
        ("--select SF3", ["product-does-not-fit"], 0),
        ("--select SF3 train.py", ["product-does-not-fit"], 0),
        ("--select sf309,view-of-a-slice", ["product-does-not-fit"], 0),
        ("--select SF4 --select SF5", [], 0),
        ("--ignore product-does-not-fit", [], 0),
        ("--select SF3 --ignore SF309", [], 0),
        ("--fail-on warning", ["product-does-not-fit"], 1),
        ("--fail-on note", ["product-does-not-fit"], 1),
        ("--fail-on note --ignore SF3", [], 0),
        ("--fail-on never", ["product-does-not-fit"], 0),
    ],
)
def test_rules_are_selected(
    flags: str, rules: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules_told(capsys, *flags.split()) == (code, rules)


def test_a_file_that_cannot_be_read_is_not_selected_away(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("train.py").write_text("if x\n")
    assert rules_told(capsys, "--select", "SF3") == (1, ["not-python"])
    assert rules_told(capsys, "--select", "SF3", "--fail-on", "never") == (0, ["not-python"])
    assert rules_told(capsys, "--ignore", "SF017") == (0, [])


def test_a_project_says_what_is_told_and_flags_win(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.surefit]\nignore = ["SF3"]\nfail-on = "warning"\n')
    Path("inner/deep").mkdir(parents=True)
    Path("inner/pyproject.toml").write_text("[project]\nname = 'x'\n")  # says nothing of surefit
    Path("inner/deep/a.py").write_text(SCRIPT)
    Path("other").mkdir()
    Path("other/pyproject.toml").write_text('[tool.surefit]\nselect = "product-does-not-fit"\n')
    Path("other/a.py").write_text(SCRIPT)
    assert rules_told(capsys, "train.py", "inner") == (0, [])
    assert rules_told(capsys, "inner", "--ignore", "SF4") == (1, ["product-does-not-fit"])
    assert rules_told(capsys, "other") == (0, ["product-does-not-fit"])
    assert rules_told(capsys, "other", "--fail-on", "warning") == (1, ["product-does-not-fit"])


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('\n[tool.surefit]\nignroe = ["SF3"]\n', 3, "Write `ignore`, the nearest name."),
        ("[tool.surefit]\n[tool.surefit.lint]\nx = 1\n", 2, "`lint` is not a setting of"),
        ("[tool.surefit]\nfail_on = 'errors'\n", 2, "`fail_on` takes one of `error`,"),
        ("[tool.surefit]\nselect = [1]\n", 2, "`select` takes a list, each item a text"),
        ("[tool.surefit]\nselect = ['SF0x']\n", 2, "surefit has no rule `SF0x`."),
        ("[tool.surefit]\nignore = ['raged-labels']\n", 2, "Write `ragged-labels`, the nearest"),
        ("[tool.surefit]\nselect = 1\n[tool.surefit", 3, "is not valid TOML"),
    ],
)
def test_a_project_that_cannot_be_followed(
    text: str, line: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").write_text(text)
    code, out, err = lint(capsys, "--format", "sarif")
    assert (code, out) == (2, "")
    assert f" pyproject.toml:{line} " in err
    assert says in " ".join(err.split())


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--select raged-labels", "Write `ragged-labels`, the nearest name."),
        ("--ignore SF99999", "surefit has no rule `SF99999`."),
        ("--format sarfi", "sarfi"),
        ("--fail-on bad", "bad"),
    ],
)
def test_wrong_flags(flags: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lint(capsys, *flags.split())
    assert (code, out) == (2, "")
    assert says in err


def test_a_config_file_takes_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lint.toml").write_text('format = "gcc"\nselect = ["SF4", "SF309"]\nfail_on = "note"\n')
    code, out, _ = lint(capsys, "--config", "lint.toml", "train.py")
    assert code == 1
    assert out.startswith("train.py:5:10: warning:")


def test_the_process_ends_with_the_code() -> None:
    command = [sys.executable, "-m", "surefit", "lint", "--format", "gcc", "--fail-on", "warning"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("train.py:5:10: warning:")
