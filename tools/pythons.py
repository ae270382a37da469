"""The doctor without torch on every Python here that it supports: `python -m tools.pythons`."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv-pythons"
VERSIONS = ("3.11", "3.12", "3.13")
AT_ONCE = 2
PACKAGES = ("hypothesis", "jsonschema", "pygls", "pytest", "pytest-randomly")
TESTS = (
    *("tests/doctor", "tests/interpreter", "tests/language_server", "tests/logs", "tests/remedies"),
    *("tests/render", "tests/source", "tests/cli/test_lint.py", "tests/cli/test_lint_formats.py"),
    *("tests/cli/test_explain.py", "tests/cli/test_rules.py", "tests/test_read_only.py"),
    *("tests/test_import.py", "tests/test_without_torch.py"),
)
NEED_TORCH = ("tests/doctor/test_scoring.py", "tests/render/test_html.py")
NEED_MORE = ("tests/render/page",)
"""Jinja2 and a browser."""
NEED_TENSORBOARD = "tests/logs/test_reading.py::test_events_of_tensorboard"


def interpreter(version: str) -> Path | None:
    """On the path, or among those of pyenv; a shim of pyenv that leads nowhere is none."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    ours = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin"), reverse=True)
    for file in (folder / f"python{version}" for folder in (*folders, *ours)):
        if file.is_file() and answers(file, version):
            return file
    return None


def answers(file: Path, version: str) -> bool:
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    told = subprocess.run([file, "-c", code], capture_output=True, text=True, check=False)
    return told.stdout.strip() == version


def environment(version: str, file: Path) -> Path:
    """With surefit's own dependencies and what tests need; made once, and again for other pins."""
    folder = ENVIRONMENTS / version
    python = folder / "bin" / "python"
    asked = "".join((ROOT / name).read_text() for name in ("pyproject.toml", "constraints.txt"))
    ready = folder / "ready"
    if not ready.is_file() or ready.read_text() != asked:
        subprocess.run([file, "-m", "venv", "--clear", folder], check=True)
        install: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--constraint",
            "constraints.txt",
        ]
        subprocess.run([*install, "--editable", ".", *PACKAGES], cwd=ROOT, check=True)
        ready.write_text(asked)
    return python


def tested(version: str, file: Path) -> int:
    """What the tests print is shown when they have ended."""
    began = time.monotonic()
    python = environment(version, file)
    left_out = [f"--ignore={test}" for test in (*NEED_TORCH, *NEED_MORE)]
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow", *left_out]
    command: list[str | Path] = [python, "-m", "pytest", *options]
    command += ["--deselect", NEED_TENSORBOARD, *TESTS]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = "failed" if ended.returncode else "passed"
    seconds = time.monotonic() - began
    print(f"{ended.stdout}{ended.stderr}Python {version}: {said}, {seconds:.0f} s", flush=True)
    return ended.returncode


def main() -> int:
    files = {version: interpreter(version) for version in VERSIONS}
    here = {version: file for version, file in files.items() if file is not None}
    for version in files.keys() - here.keys():
        print(f"Python {version}: not here", flush=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = list(pool.map(tested, here, here.values()))
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
