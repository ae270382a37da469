"""A script that uses no library, under observation: on every Python that surefit supports."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """\
rows = [{"text": "a", "label": 1}, {"text": "b"}]
total = 0
for row in rows:
    total += row["label"]
"""


def test_a_crash_is_observed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    told = tmp_path / "told.json"
    command = [sys.executable, "-m", "surefit", "run", "--json", str(told), "train.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    document = json.loads(told.read_text())
    (finding, *_) = document["findings"]
    assert document["ended"]["exception"] == "KeyError: 'label'"
    assert (finding["place"]["file"], finding["place"]["line"]) == ("train.py", 4)
    assert "surefit failed" not in str(document["not_observed"])
