"""What docs/ci.md, docs/editors.md and docs/notebooks.md tell people to type, executed.

Cells of docs/notebooks.md run in tests/jupyter, in the kernel that is there.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from notebook_files import notebook
from surefit import cli
from surefit.lint_settings import project_above
from swapped_product import SCRIPT

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
GUIDES = ("ci", "editors", "notebooks")

pytestmark = pytest.mark.slow


def blocks(guide: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


COMMANDS = [
    line for guide in GUIDES for block in blocks(guide, "sh") for line in block.splitlines() if line
]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From where `pip install surefit` takes it here."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the scripts and notebooks that the guides name."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "model.py").write_text("import torch\n")
    (tmp_path / "notebooks").mkdir()
    for name in ("train.ipynb", "notebooks/train.ipynb"):
        (tmp_path / name).write_text(notebook("x = 1", "print(x)"))
    return tmp_path


def run(command: str, project: Path, wheels: Path) -> subprocess.CompletedProcess[str]:
    surroundings = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_TARGET": str(project / "site-packages"),
    }
    return subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS))
def test_commands(
    command: str, project: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if re.match(r"surefit (?!run)[^>]*$", command):
        monkeypatch.chdir(project)
        assert cli.main(shlex.split(command)[1:]) == 0
        return
    ended = run(command, project, request.getfixturevalue("wheels"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if command.startswith("pip"):
        assert (project / "site-packages" / "surefit" / "py.typed").is_file()
    if command.endswith("surefit.sarif"):
        assert len(json.loads((project / "surefit.sarif").read_text())["runs"]) == 1


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 14


def test_the_workflow_is_valid_and_its_steps_run(project: Path, wheels: Path) -> None:
    workflow, _ = blocks("ci", "yaml")
    file = project / "workflow.yml"
    file.write_text(workflow)
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    subprocess.run([*check, "vendor.github-workflows", file], check=True, capture_output=True)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    codes = [run(step, project, wheels).returncode for step in steps]
    assert codes == [0, 0, 1]  # the script has a warning, and the last step fails on it


def test_the_configuration_of_pre_commit_names_the_hook(project: Path) -> None:
    _, text = blocks("ci", "yaml")
    (project / ".pre-commit-config.yaml").write_text(text)
    command = [sys.executable, "-m", "pre_commit", "validate-config"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (named,) = yaml.safe_load(text)["repos"][0]["hooks"]
    assert named["id"] in {hook["id"] for hook in hooks}


def test_the_table_of_a_project_is_followed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (text,) = blocks("ci", "toml")
    (project / "pyproject.toml").write_text(text)
    project_above.cache_clear()
    settings = project_above(project)
    assert (settings.ignore, settings.fail_on) == (("view-of-a-slice",), "warning")


def server_commands() -> list[list[str]]:
    """As the configurations of editors start it."""
    (lua,) = blocks("editors", "lua")
    (lisp,) = blocks("editors", "elisp")
    (helix,) = blocks("editors", "toml")
    server: Any = tomllib.loads(helix)["language-server"]["surefit"]
    in_lua, in_lisp = re.search(r"cmd = \{(.*)\}", lua), re.search(r"\. \((.*?)\)", lisp)
    assert in_lua is not None
    assert in_lisp is not None
    return [
        re.findall(r'"(.*?)"', in_lua[1]),
        [server["command"], *server["args"]],
        re.findall(r'"(.*?)"', in_lisp[1]),
    ]


def test_editors_start_the_server() -> None:
    for command in server_commands():
        asked = b'{"id": 1, "method": "initialize", "params": {}}'
        raw = b"Content-Length: %d\r\n\r\n%b" % (len(asked), asked)
        ended = subprocess.run(
            [BIN / command[0], *command[1:]], input=raw, capture_output=True, check=False
        )
        assert b'"serverInfo":{"name":"surefit"' in ended.stdout


def test_the_task_of_code_writes_what_its_matcher_reads(project: Path, wheels: Path) -> None:
    (text,) = blocks("editors", "json")
    (task,) = json.loads(text)["tasks"]
    ended = run(task["command"], project, wheels)
    assert ended.returncode == 0
    gcc = r"^(.*):(\d+):(\d+):\s+(?:fatal\s+)?(warning|error):\s+(.*)$"
    """The pattern of `$gcc` in Visual Studio Code, without notes."""
    (line,) = ended.stdout.splitlines()
    assert re.match(gcc, line)
    assert shlex.split(task["command"])[0] == "surefit"


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.citation-file-format", ["CITATION.cff"]),
        ("vendor.github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"]),
        (
            "vendor.github-issue-forms",
            [
                str(file)
                for file in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
                if file.stem != "config"
            ],
        ),
    ],
)
def test_files_for_github_are_valid(schema: str, files: list[str]) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
