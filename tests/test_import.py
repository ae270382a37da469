"""What importing surefit, and asking for help, does not load."""

import subprocess
import sys

import pytest

import surefit

HEAVY = ("torch", "transformers", "numpy")


def loaded_after(program: str, *modules: str) -> str:
    """Which of the modules a fresh Python has loaded after a program."""
    tell = f"print('loaded', *sorted({set(modules)!r} & set(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\n{tell}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ran.stdout.splitlines()[-1]


def test_import_surefit_loads_nothing_heavy() -> None:
    program = "import surefit\ndir(surefit)"
    assert loaded_after(program, *HEAVY, "rich", "cyclopts", "yaml", "msgspec") == "loaded"


def test_help_loads_nothing_heavy() -> None:
    program = (
        "from surefit.cli import main\n"
        "assert main(['--help']) == main(['sft', '--help']) == main(['env', '--help']) == 0"
    )
    assert loaded_after(program, *HEAVY) == "loaded"


@pytest.mark.slow
def test_a_path_that_is_not_there_is_told_before_torch_is_loaded() -> None:
    calls = [
        *(["ask", "nowhere", "Who?"], ["eval", "nowhere", "rows.jsonl"], ["export", "nowhere"]),
        *(["report", "nowhere"], ["inspect", "nowhere.jsonl"], ["sft", "--data", "nowhere.jsonl"]),
        *([command, "--resume", "nowhere"] for command in ("sft", "pretrain", "distill")),
        *(["pretrain", "--data", "nowhere"], ["distill", "--data", "nowhere.txt"]),
    ]
    program = f"from surefit.cli import main\nassert {{main(call) for call in {calls}}} <= {{1, 2}}"
    assert loaded_after(program, "torch", "transformers") == "loaded"


def test_public_names_are_there_when_used() -> None:
    assert surefit.Finding.__name__ == "Finding"
    assert surefit.LoraSft().epochs >= 1
    assert issubclass(surefit.SurefitError, Exception)
    assert set(surefit.__all__) <= set(dir(surefit))


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nought'"):
        surefit.nought  # type: ignore[attr-defined]  # noqa: B018


def test_python_dash_m() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "surefit", "--version"], check=True, capture_output=True, text=True
    )
    assert ran.stdout == "surefit 0.1.0\n"
