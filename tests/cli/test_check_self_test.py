"""`surefit check --self-test` tries this device, without a script."""

import json
import sys
from pathlib import Path

import pytest

from surefit import cli
from surefit.train import self_test, self_test_losses


def test_it_tells_and_writes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "told.json"
    assert cli.main(["check", "--self-test", "--json", str(file)]) == 0
    told = capsys.readouterr()
    document = json.loads(file.read_bytes())
    assert document["findings"] == []
    assert document["ended"]["code"] == 0
    assert len(document["self_test"]) == 38
    for tried in document["self_test"]:
        assert tried["held"]
        assert f"ok   {tried['name']} " in told.out
        assert f" {tried['measured']} ({tried['bound']})\n" in told.out
    assert told.out.endswith("38 of 38 hold\n")
    assert told.err == ""


def test_what_does_not_hold_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test_losses, "MOST_OF_ITSELF", -1.0)
    monkeypatch.setattr(self_test, "TRIES", (self_test_losses.divergence_of_itself,))
    file = tmp_path / "told.json"
    assert cli.main(["check", "--self-test", "--json", str(file), "--brief"]) == 1
    told = capsys.readouterr()
    document = json.loads(file.read_bytes())
    assert document["ended"]["code"] == 1
    assert [(one["rule"], one["code"]) for one in document["findings"]] == [
        ("self-test-failed", "SF079")
    ] * 5
    assert "FAIL forward-kl of a model from itself" in told.out
    assert "0 of 5 hold\n" in told.out
    assert "environment: error self-test-failed: Forward-kl of a model from itself" in told.err


def test_without_torch_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "surefit.train.self_test")
    monkeypatch.delattr("surefit.train.self_test")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.main(["check", "--self-test", "--brief"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("environment: error missing-part: `torch` ")
    assert "Traceback" not in told


def test_a_script_is_still_needed_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--brief"]) == 2
    assert "`surefit check` needs a script." in capsys.readouterr().err


def test_a_script_that_is_named_is_looked_for_after_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "TRIES", (self_test.views_of_slices,))
    assert cli.main(["check", "--self-test", "--brief", "no_such_script.py"]) == 2
    told = capsys.readouterr()
    assert "4 of 4 hold\n" in told.out
    assert "There is no file and no command named `no_such_script.py`" in told.err
