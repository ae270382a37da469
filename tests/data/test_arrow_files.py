"""A full disk is named, and nothing half-written stays."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

PROGRAM = """
    import resource
    from pathlib import Path
    from surefit.cli import main

    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    code = main(["sft", "--held-out", "0"])
    print(code, sorted(path.name for path in Path("work").iterdir()))
"""


def test_a_full_disk_is_named_and_left_empty(tmp_path: Path) -> None:
    """Works for every user: a file may not grow beyond 40 kB in the child process."""
    (tmp_path / "work").mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", dedent(PROGRAM)],
        cwd=tmp_path,
        env={"TMPDIR": "work", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(ran.stderr.split())
    assert "no-room-to-work" in said, ran.stderr
    assert "The disk is full that holds rows and tokens while the run lasts." in said
    assert "File too large" in said
    assert "TMPDIR=FOLDER" in said
    assert ran.stdout.splitlines()[-1] == "1 []"
