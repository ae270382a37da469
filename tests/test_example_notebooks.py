"""The example notebooks run to their end and say what they are kept with."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tools.notebooks import EXAMPLES, executed

CHANGES = re.compile(
    r"\x1b\[[0-9;?]*[a-zA-Z]|\d+\.\d+(e-\d+)?|\d+ s\b|free now.*"
    r"|[\d,]+ (?=tokens/s|of them supervised|sequence steps/s)|(?<=peak memory )[\d,]+"
)
"""Colours, seconds, speed, memory, what is free, and fractions, whose last digit depends on the
processor."""


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.stem)
def test_it_runs_as_it_is_kept(file: Path) -> None:
    kept = json.loads(file.read_text())
    assert said(json.loads(json.dumps(executed(file)))) == said(kept)


def said(notebook: Any) -> list[list[str]]:
    """What each cell printed or gave back, without what differs from run to run."""
    cells = [cell for cell in notebook["cells"] if "outputs" in cell]
    assert all(cell["execution_count"] for cell in cells)
    return [[line for one in cell["outputs"] for line in lines(one)] for cell in cells]


def lines(output: dict[str, Any]) -> list[str]:
    assert output["output_type"] != "error", output
    text = output.get("text") or output["data"]["text/plain"]
    whole = CHANGES.sub("", "".join(text))
    return [line.rstrip() for line in whole.splitlines() if line.strip()]
