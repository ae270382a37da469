"""What the README and the pages in docs/ tell people to type can be typed; links lead to files.

Commands of docs/ci.md, docs/editors.md and docs/notebooks.md are executed in test_guides.py.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import surefit
from surefit.cli import Call, functions_for, main, make_app, parsed, read_call
from surefit.cli.config_flags import ConfigFlags
from tools import doc_pages

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXECUTED = {"api", "coming-from", "settings"}
"""Pages whose snippets stand by themselves; those of others name models and rows of the reader."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands() -> Iterator[tuple[str, str]]:
    """Page and command line, also behind a pipe or a launcher."""
    for page in PAGES:
        for kind, block in blocks(page):
            for line in block.splitlines() if kind in ("", "sh") else ():
                typed = line.partition("  #")[0].split(" > ")[0].rpartition("| ")[2].strip()
                typed = re.sub(r"^(torchrun|accelerate).* -m surefit ", "surefit ", typed)
                if typed.startswith("surefit "):
                    yield page.stem, typed


COMMANDS = list(dict.fromkeys(commands()))
PYTHON = [
    (page.stem, code)
    for page in PAGES
    for kind, code in blocks(page)
    if kind == "python" and page.stem != "notebooks"  # executed in tests/jupyter
]


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_commands_are_understood(page: str, command: str) -> None:
    call = read_call(shlex.split(command)[1:])
    app, _ = make_app(ConfigFlags(None, ()), functions_for(call))
    function, _ = parsed(app, Call(call.tokens))
    assert function.__module__.startswith("surefit.") or "--help" in call.tokens, page


def test_there_are_commands_to_test() -> None:
    assert len(COMMANDS) >= 60
    assert {"README", "start", "diagnose", "train", "pretrain", "distil"} <= dict(COMMANDS).keys()


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        target
        for page in PAGES
        for _, block in blocks(page)
        for target in re.findall(r"^make ([\w-]+)", block, re.MULTILINE)
    }
    assert {"demo", "test"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_is_python(page: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = compile(code, f"{page}.md", "exec")
    if page in EXECUTED:
        exec(compiled, {"surefit": surefit})
    assert not capsys.readouterr().err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if not (page.parent / link).exists()]


def test_the_readme_fits_one_screen() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 95


def test_pages_are_what_the_source_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(doc_pages.differing(doc_pages.DOCS)) == []
    for name in doc_pages.PARTS:
        (tmp_path / name).write_text((doc_pages.DOCS / name).read_text(encoding="utf-8"))
    laws = tmp_path / "laws.md"
    laws.write_text(laws.read_text().replace("the future is not visible", "nothing"))
    assert doc_pages.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out.startswith("docs/laws.md is not what the source says")
    assert doc_pages.main([], tmp_path) == 0
    assert doc_pages.main(["--check"], tmp_path) == 0


QUICK = [
    typed
    for page, typed in COMMANDS
    if page not in ("ci", "editors", "notebooks")
    and re.match(r"surefit (lint|explain ragged|inspect rows|rules|\w+ --help)", typed)
]


@pytest.mark.slow
def test_quick_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a script without faults, and on a few rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for script in ("train.py", "src/model.py"):
        (tmp_path / script).write_text("import torch\n")
    rows = [{"input": f"Who is number {n}?", "target": f"Number {n}."} for n in range(20)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(set(QUICK)) >= 4
    ended = {typed: main(shlex.split(typed)[1:]) for typed in dict.fromkeys(QUICK)}
    assert ended == dict.fromkeys(ended, 0)


@pytest.mark.slow
def test_the_site_is_built_and_asks_no_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    start = (tmp_path / "start.html").read_text()
    assert 'href="project/SECURITY.html"' in (tmp_path / "diagnose.html").read_text()
    assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?:', start)
