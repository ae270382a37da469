"""What surefit leaves in a script's output is told from folders that are called surefit."""

import sys
from pathlib import Path

import pytest

import running
from running import lines_about_surefit


@pytest.mark.parametrize("checkout", ["/surefit", "/home/me/surefit", "/home/surefit/work"])
def test_lines_about_surefit(checkout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECKOUT", Path(checkout))
    monkeypatch.setattr(sys, "prefix", f"{checkout}/.venv")
    monkeypatch.setattr(sys, "base_prefix", "/opt/surefit-python")
    innocent = f"""\
  File "/tmp/of-surefit/script.py", line 3, in <module>
  File "{checkout}/.venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
  File "/opt/surefit-python/lib/python3.11/runpy.py", line 88, in _run_code
{checkout}/tests/fork_server.py:3: UserWarning: careful
"""
    assert lines_about_surefit(innocent, Path("/tmp/of-surefit")) == []
    leaks = [
        f'  File "{checkout}/src/surefit/observe/inside/install.py", line 38, in install',
        f'  File "{checkout}/.venv/lib/python3.11/site-packages/surefit/errors.py", line 3, in f',
        "surefit: not observed: the script: RuntimeError: broken",
        "AttributeError: 'Loader' has no attribute 'surefit_crash'",
        "FileNotFoundError: '/tmp/of-surefit-1/spool.jsonl'",
    ]
    for leak in leaks:
        text = f"{innocent}{leak}\n{innocent}"
        assert len(lines_about_surefit(text, Path("/tmp/of-surefit"))) == 1, leak
