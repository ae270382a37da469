"""Wheel and source distribution: what is in them, and that the wheel alone is the doctor."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from surefit.cli.demo import CRASH, SILENT
from swapped_product import SCRIPT

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def fresh(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (wheel,) = built.glob("*.whl")
    python = str(folder / "bin" / "python")
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", *options, wheel], check=True
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in needed_by("surefit"):
        link(name, packages)
    return folder / "bin"


def needed_by(name: str, known: frozenset[str] = frozenset()) -> set[str]:
    """Distributions that it asks for without any extra, and all that they ask for."""
    names: set[str] = set()
    for requirement in distribution(name).requires or ():
        wanted, _, marker = requirement.partition(";")
        match = re.match(r"[\w.-]+", wanted)
        assert match is not None
        if installed(match[0]) and "extra" not in marker and match[0] not in known | names:
            names |= {match[0], *needed_by(match[0], known | names)}
    return names


def installed(name: str) -> bool:
    try:
        distribution(name)
    except ModuleNotFoundError:
        return False
    return True


def link(name: str, packages: Path) -> None:
    """In place of an installation from a network."""
    for top in sorted({file.parts[0] for file in distribution(name).files or ()}):
        source = Path(str(distribution(name).locate_file(top)))
        if top != ".." and source.exists() and not (packages / top).exists():
            (packages / top).symlink_to(source)


def names_in(built: Path) -> Iterator[set[str]]:
    (wheel,) = built.glob("*.whl")
    yield set(zipfile.ZipFile(wheel).namelist())
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as opened:
        yield {name.partition("/")[2] for name in opened.getnames()}


def test_what_is_in_them(built: Path) -> None:
    wheel, source = names_in(built)
    assert {"surefit/py.typed", "surefit/rules/pages/ragged-labels.md"} <= wheel
    assert {f"surefit/tour/{name}" for name in (CRASH, SILENT)} <= wheel
    assert not any(name.startswith(("tests/", "tools/")) for name in wheel)
    assert {"src/surefit/py.typed", "docs/rules/ragged-labels.md", "pyproject.toml"} <= source
    assert {"tests/conftest.py", "CITATION.cff", "LICENSE", "README.md"} <= source


def run(fresh: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    surroundings = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [fresh / "surefit", *words],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_alone_is_the_doctor(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    linted = run(fresh, tmp_path, "lint", "--format", "gcc", "train.py")
    assert (linted.returncode, linted.stderr) == (0, "")
    assert linted.stdout.startswith("train.py:5:10: warning: `asked` has 24 in its last axis")
    page = run(fresh, tmp_path, "explain", "ragged-labels")
    assert (page.returncode, page.stderr) == (0, "")
    assert page.stdout.startswith("# ragged-labels")
    assert "## Example" in page.stdout  # its pages came with it
    found = run(fresh, tmp_path, "rules", "ragged")
    assert "SF201" in found.stdout
    shown = run(fresh, tmp_path, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "lint" in shown.stdout
    python = subprocess.run(
        [fresh / "python", "-c", "import torch"], capture_output=True, check=False
    )
    assert python.returncode == 1  # the environment has no more than the wheel needs


def test_what_the_demo_needs_is_said(fresh: Path, tmp_path: Path) -> None:
    ended = run(fresh, tmp_path, "demo")
    assert ended.returncode == 1
    assert "is not installed, and this command needs it." in ended.stderr
    assert '.whl[train]"' in ended.stderr, "it came from this file"
    assert "Traceback" not in ended.stderr
