"""Healthy scripts that look like faults: every rule stays silent, run and read."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from running import forked_plainly, forked_run

CLEAN = sorted((Path(__file__).parent / "clean").glob("*.py"))
COMMAND = (sys.executable, "-m", "surefit")


@pytest.mark.slow
@pytest.mark.parametrize("script", CLEAN, ids=lambda script: script.stem)
def test_a_healthy_run_gets_no_word(script: Path, tmp_path: Path) -> None:
    shutil.copy(script, tmp_path)
    plain = forked_plainly([script.name], tmp_path)
    assert plain.code == 0, plain.err
    ran = forked_run([script.name], tmp_path)
    assert ran.document["findings"] == []
    assert ran.document["not_observed"] == []
    assert ran.out == plain.out
    assert ran.code == 0


def test_reading_healthy_scripts_finds_nothing(tmp_path: Path) -> None:
    out = tmp_path / "findings.json"
    command = [*COMMAND, "lint", "--json", str(out), *map(str, CLEAN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert json.loads(out.read_text(encoding="utf-8"))["findings"] == []
    assert done.returncode == 0
