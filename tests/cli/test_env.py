"""`surefit env` tries what works here, and does without torch."""

import json
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from surefit import cli, environment


def test_env_tells_and_writes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "environment.json"
    assert cli.main(["env", "--json", str(file)]) == 0
    told = capsys.readouterr().out
    written = json.loads(file.read_bytes())["environment"]
    assert written["versions"]["surefit"] == "0.1.0"
    assert written["precisions"]["fp32 on cpu"] == "works"
    assert written["attention"]["eager on cpu"] == "works"
    assert written["distribution"]["gloo"] == "works"
    found = written["4 bits"]["bitsandbytes on cpu"]
    assert (found == "no: not installed") == (find_spec("bitsandbytes") is None)
    for section, entries in written.items():
        assert f"{section}\n" in told
        for name in entries:
            assert f"\n  {name} " in told
    assert max(map(len, told.splitlines())) <= 80


def test_what_fails_says_why() -> None:
    def fails() -> None:
        raise RuntimeError("not implemented for 'Half'\nand much more")

    assert environment.tried(fails) == "no: not implemented for 'Half'"
    assert environment.tried(lambda: None) == "works"


def test_without_torch_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(environment, "version", absent)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    sections = {section.name: section.entries for section in environment.look()}
    assert sections["devices"] == (environment.Entry("torch", "not installed"),)
    assert environment.Entry("peft", "not installed") in sections["versions"]
