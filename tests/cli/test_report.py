"""`surefit report`: which file it writes, and what it refuses."""

import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from run_folders import healthy_run, write_run
from surefit.cli import functions_for, main, make_app, read_call
from surefit.cli.config_flags import ConfigFlags
from surefit.render.page.html import MARK

DOCS = Path(__file__).parents[2] / "docs" / "report.md"
COMMANDS = re.findall(r"^surefit .*", DOCS.read_text(), re.MULTILINE)


def test_a_page_goes_into_its_run_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy_run(tmp_path / "runs" / "a")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "runs/a"]) == 0
    assert capsys.readouterr().out == "runs/a/report.html\n"
    assert MARK in (tmp_path / "runs/a/report.html").read_text()
    assert main(["report", "runs/a", "--out", "mine.html"]) == 0
    assert main(["report", "runs/a", "runs/a/"]) == 0
    assert not (tmp_path / "runs/comparison.html").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_docs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are understood; those that end by themselves and do not train are run."""
    call = read_call(shlex.split(command)[1:])
    app, _ = make_app(ConfigFlags(None, ()), functions_for(call))
    app.parse_args(call.tokens, exit_on_error=False, print_error=False)
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        healthy_run(tmp_path / "runs" / name)
    (tmp_path / "train.py").write_text("")
    if call.command != "sft" and "--serve" not in call.tokens:
        assert main(shlex.split(command)[1:]) == 0
        assert len([*tmp_path.rglob("*.html")]) == 1


def test_a_comparison_goes_beside_the_runs(tmp_path: Path) -> None:
    first, second = healthy_run(tmp_path / "a"), write_run(tmp_path / "b")
    assert main(["report", str(first), str(second)]) == 0
    assert "2 runs compared" in (tmp_path / "comparison.html").read_text()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ([], "needs a run folder"),
        (["nothing"], "The folder `nothing` does not exist"),
        (["."], "`.` is not a run folder"),
        (["a", "--out", "notes.txt"], "exists and is not a surefit page"),
        (["a", "--out", "a"], "is a folder"),
        (["a", "--out", "none/page.html"], "in a folder that does not exist"),
        (["a", "--serve", "--port", "99999"], "Port 99999 of this machine cannot be used"),
    ],
)
def test_wrong_calls(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    call: list[str],
    says: str,
) -> None:
    healthy_run(tmp_path / "a")
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert main(["report", *call]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_jinja_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    healthy_run(tmp_path / "a")
    assert main(["report", str(tmp_path / "a")]) == 1
    assert "pip install jinja2" in capsys.readouterr().err
    script = tmp_path / "train.py"
    script.write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--html", "page.html", "train.py"]) == 1
    assert "pip install jinja2" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_page_of_a_script_replaces_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before the script is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("open('ran', 'w')")
    assert main(["run", "--html", "train.py", "train.py"]) == 2
    assert "is not a surefit page" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_it_serves_until_it_is_interrupted_and_imports_no_torch(tmp_path: Path) -> None:
    folder = healthy_run(tmp_path / "run")
    script = "import sys; from surefit.cli import main; code = main(sys.argv[1:]); "
    script += "assert 'torch' not in sys.modules; sys.exit(code)"
    command = [sys.executable, "-c", script, "report", "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert MARK in answer.read().decode()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 0
