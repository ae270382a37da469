"""The hook that other repositories use: its manifest is valid, and pre-commit runs its entry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from swapped_product import SCRIPT

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
BIN = Path(sys.executable).parent


def pre_commit(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    surroundings = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(folder / "store"),
    }
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )


def test_the_manifest_is_valid(tmp_path: Path) -> None:
    ended = pre_commit("validate-manifest", str(MANIFEST), folder=tmp_path)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    """In this environment, not in one that pre-commit installs: nothing comes from a network."""
    (hook,) = yaml.safe_load(MANIFEST.read_text())
    hook |= {"language": "system", "args": ["--fail-on", "warning"]}
    repository = {"repo": "local", "hooks": [hook]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [repository]}))
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "data.txt").write_text("not to be read\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "train.py", "data.txt"], cwd=tmp_path, check=True)
    ended = pre_commit("run", folder=tmp_path)
    assert ended.returncode == 1
    assert "warning: product-does-not-fit" in ended.stdout
    assert "1 file read: 1 warning" in ended.stdout
    (tmp_path / "train.py").write_text("import torch\n")
    subprocess.run(["git", "add", "train.py"], cwd=tmp_path, check=True)
    ended = pre_commit("run", folder=tmp_path)
    assert (ended.returncode, "Passed" in ended.stdout) == (0, True), ended.stdout
