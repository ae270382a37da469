"""`surefit lint` reads scripts, shows findings with their patches, and runs nothing."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from surefit import cli, linting
from surefit.cli import lint as lint_command
from surefit.doctor import diagnose
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.source.edits import call_becomes
from surefit.source.reading import called

RULE = Rule("SF998", "odd-call", Severity.ERROR, "A rule of a test.")
WARNING = Rule("SF997", "odd-name", Severity.WARNING, "Another.")
BROKEN = Rule("SF996", "broken-rule", Severity.ERROR, "It fails itself.")


@RULE.on(Script)
def odd_is_called(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file)
    assert source is not None
    for call in source.calls_in(1, len(source.lines)):
        if called(call) == "odd":
            edit = call_becomes(source, call, "even", "numbers")
            yield RULE.finding(
                Place(script.file, call.lineno),
                "`odd` is called.",
                fixes=(Fix("Call `even`.", edit), Fix("Call nothing.", why_not_tried="Choose.")),
            )


@WARNING.on(Script)
def odd_is_a_name(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file)
    for line, text in enumerate(source.lines if source else (), start=1):
        if text.startswith("odd ="):
            yield WARNING.finding(Place(script.file, line), "`odd` is a name.")


@BROKEN.on(Script)
def fails(_script: Script, _seen: Recording) -> Iterator[Finding]:
    raise ZeroDivisionError("by nought")


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(diagnose, "rules_on", lambda _kinds: (WARNING, RULE))
    monkeypatch.setattr(diagnose, "rule_files", lambda: (WARNING, RULE))
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text.encode())


def lint(*arguments: str) -> tuple[int, list[Any]]:
    """Exit code, and the findings of the JSON document."""
    code = cli.main(["lint", *arguments, "--json", "found.json"])
    document = json.loads(Path("found.json").read_bytes())
    assert document["command"] == "lint"
    assert document["ended"] == {"code": code, "exception": None}
    return code, document["findings"]


def places(findings: list[Any]) -> list[tuple[Any, ...]]:
    return [(one["rule"], one["place"]["file"], one["place"]["line"]) for one in findings]


def test_findings_of_files_and_folders_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    write("b.py", "from numbers import odd\nodd = 1\nodd(2, 3)\n")
    write("src/a.py", "odd()\n")
    write("src/data.txt", "odd()\n")
    code, found = lint("src", "b.py", str(Path("b.py").absolute()))
    assert code == 1
    assert places(found) == [
        ("odd-call", "src/a.py", 1),
        ("odd-name", "b.py", 2),
        ("odd-call", "b.py", 3),
    ]
    told = capsys.readouterr()
    assert told.out == "2 files read: 2 errors, 1 warning\n"
    assert "── error: odd-call" in told.err
    assert "lint runs nothing; `surefit run` tries it" in told.err


def test_warnings_alone_and_nothing_at_all_are_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("a.py", "odd = 1\n")
    assert cli.main(["lint"]) == 0
    assert capsys.readouterr().out == "1 file read: 1 warning\n"
    write("a.py", "raise SystemExit('it was run')\n")
    assert cli.main(["lint", "a.py"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("1 file read: nothing found\n", "")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_patch_applies(newline: str) -> None:
    text = newline.join(["\ufefffrom numbers import odd", "x = odd(1, 2)  # ü", ""])
    write("sub/größe.py", text)
    _, found = lint(".")
    first, second = found[0]["fixes"]
    assert first["proof"] == {
        "status": "not-tried",
        "said": "lint runs nothing; `surefit run` tries it",
    }
    assert (second["patch"], second["proof"]) == (None, {"status": "not-tried", "said": "Choose."})
    subprocess.run(["git", "apply", "-"], input=first["patch"].encode(), check=True)
    assert Path("sub/größe.py").read_bytes().decode() == text.replace(
        "odd(1, 2)", "even(1)"
    ).replace("import odd", "import even")


def test_what_is_allowed_is_not_told() -> None:
    write("a.py", "odd()  # surefit: allow[odd-call]\n# surefit: allow[odd-call]\nodd()\nodd()\n")
    code, found = lint("a.py")
    assert (code, places(found)) == (1, [("odd-call", "a.py", 4)])
    write("a.py", "odd()  # surefit: allow[odd-call, od-name, od-call]\n")
    code, found = lint("a.py")
    assert code == 0
    assert [(one["rule"], one["severity"]) for one in found] == [("unknown-allowance", "note")] * 2


def test_a_file_that_is_no_python_does_not_hide_others() -> None:
    write("a.py", "x = 1\nif x\n    y = 2\n")
    write("b.py", "odd()\n")
    write("c.py", "x = 'a\\d'\n")
    Path("d.py").write_bytes(b"x = '\xff'\n")
    Path("e.py").write_bytes(b"# coding: nought\n")
    Path("f.py").write_bytes(b"x = 1\0\n")
    write("g.py", "-" * 200_000 + "1\n")
    code, found = lint(".")
    assert code == 1
    assert places(found) == [
        ("not-python", "a.py", 2),
        ("odd-call", "b.py", 1),
        ("not-python", "d.py", None),
        ("not-python", "e.py", None),
        ("not-python", "f.py", None),
        ("not-python", "g.py", None),
    ]
    assert found[0]["headline"] == (
        "`a.py` cannot be read as Python, so no rule was asked about it: expected ':'."
    )


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("trian.py", "`trian.py` does not exist."),
        ("nowhere/train.py", "`nowhere/train.py` does not exist."),
        ("notes.toml", "`notes.toml` is not a Python file."),
        ("empty", "`empty` has no Python file in it."),
    ],
)
def test_a_wrong_path(path: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("train.py", "odd()\n")
    write("notes.toml", "")
    write("empty/.venv/a.py", "odd()\n")
    assert cli.main(["lint", path]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert ("Write `train.py`, the nearest name." in told) is (path == "trian.py")


def test_a_rule_that_fails_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnose, "rules_on", lambda _kinds: (BROKEN, RULE))
    write("a.py", "odd()\n")
    assert cli.main(["lint", "--brief"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "a.py:1: error odd-call: `odd` is called."
    assert told[1].startswith("surefit: a.py: the rule broken-rule failed: ZeroDivisionError: by")
    write("a.py", "pass\n")
    assert cli.main(["lint"]) == 1


def test_many_files_are_shared_out_and_told_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        Path(f"script{number:02d}.py").write_text(f"x = {number}\nodd({number})\n")
    process = os.getpid()
    processes: list[bool] = []
    alone = linting.lint_file

    def counted(path: Path, folder: Path) -> linting.Linted:
        processes.append(os.getpid() == process)
        return alone(path, folder)

    monkeypatch.setattr(linting, "lint_file", counted)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert cli.main(["lint", ".", "--brief"]) == 1
    together = capsys.readouterr()
    assert processes == [True] * 12
    monkeypatch.setattr(lint_command, "FILES_OF_A_PROCESS", 6)
    assert cli.main(["lint", ".", "--brief"]) == 1
    assert processes == [True] * 12  # the others ran elsewhere
    assert capsys.readouterr() == together
    assert together.err.count("odd-call") == 12
