"""The command-line frame, with commands as light as the real ones."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated

import pytest
from cyclopts import Parameter

from surefit import cli
from surefit.doctor.findings import Fact, Place, Severity
from surefit.doctor.rule import Rule, refusal
from surefit.errors import BadInput, Stopped
from surefit.recipes.sft_settings import LoraSft
from surefit.render import console, outcome
from surefit.render.console import say

DEFAULTS = LoraSft()
BAD_ROW = refusal("SF999", "bad-row", "A row of a test.")
WARNING = Rule("SF998", "odd-row", Severity.WARNING, "Another row of a test.")


def sft(settings: Annotated[LoraSft, Parameter(name="*")] = DEFAULTS) -> None:
    """Fine-tune on rows.

    The rest of the story.

    Example:

        surefit sft --epochs 10 --augmentation_factor 3
    """
    say(f"epochs {settings.epochs}, model {settings.model}, out {settings.out}")
    say(f"targets {settings.lora_targets}, lr {settings.learning_rate}, bucket {settings.bucket}")


def ask(run: Path, text: str) -> int:
    """Answer one prompt."""
    say(f"{run} {text}")
    return 1 if text == "wrong" else 0


def fail(how: str) -> None:
    """End in the way that is asked for."""
    if how == "warn":
        outcome.tell(WARNING.finding(Place("rows.jsonl", 4), "Row 4 is odd."))
        outcome.add_part("rows", {"odd": 1})
        return
    raise {
        "bad": BadInput(
            BAD_ROW.finding(Place("rows.jsonl", 3), "Row 3 is bad.", facts=(Fact("it is", "bad"),))
        ),
        "stop": Stopped(BAD_ROW.finding(Place("run"), "The run was stopped.")),
        "interrupt": KeyboardInterrupt(),
        "bug": ZeroDivisionError("by nought"),
        "torch": ModuleNotFoundError("No module named 'torch'", name="torch.nn"),
        "gguf": ModuleNotFoundError("No module named 'gguf'", name="gguf"),
        "other": ModuleNotFoundError("No module named 'nought'", name="nought"),
        "exit": SystemExit(3),
    }[how]


@pytest.fixture(autouse=True)
def light_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    light = {name: f"{__name__}:{name}" for name in ("sft", "ask", "fail")}
    monkeypatch.setattr(cli, "COMMANDS", light)


def test_no_arguments_and_help_list_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    bare = capsys.readouterr().out
    assert cli.main(["--help"]) == 0
    assert capsys.readouterr().out == bare
    assert "Fine-tune on rows." in bare
    assert "Answer one prompt." in bare
    assert "--config FILE" in bare
    assert max(map(len, bare.splitlines())) <= 80


def test_help_of_a_command_shows_its_example_and_its_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["sft", "--help"]) == 0
    page = capsys.readouterr().out
    assert "\nExample:\n\n    surefit sft --epochs 10 --augmentation_factor 3\n" in page
    assert "--max-seq-length" in page
    assert "Number of passes over the training rows." in page
    assert "[default: yes]" in page
    assert "[default: None]" not in page
    assert "--json FILE" in page


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "surefit 0.1.0\n"


def test_hyphens_underscores_and_aliases_are_alike(capsys: pytest.CaptureFixture[str]) -> None:
    call = "sft --epochs=2 --model_name m --output-dir o --lora_targets q v --lr 1 --no-bucket"
    assert cli.main(call.split()) == 0
    assert capsys.readouterr().out == (
        "epochs 2, model m, out o\ntargets ('q', 'v'), lr 1.0, bucket False\n"
    )


def test_a_command_gives_its_exit_code() -> None:
    assert cli.main(["ask", "run", "right"]) == 0
    assert cli.main(["ask", "run", "wrong"]) == 1


WRONG_CALLS = {
    "sft --lora_rr 3": (
        "unknown-setting: `--lora_rr` is not a setting of `sft`.",
        "Write `--lora-r`, the nearest name.",
    ),
    "sft --qiet": (
        "unknown-setting: `--qiet` is not a setting of `sft`.",
        "Write `--quiet`, the nearest name.",
    ),
    "--versoin": (
        "unknown-setting: `--versoin` is not a setting of `surefit`.",
        "Write `--version`, the nearest name.",
    ),
    "ask a b --zz": (
        "unknown-setting: `--zz` is not a setting of `ask`.",
        "--brief, --config, --json, --quiet, --run, --text",
    ),
    "sft --lora-r x": (
        "setting-of-wrong-type: `--lora-r` takes a whole number, and was given the text `x`.",
        "SF002",
    ),
    "sft --precision bf61": (
        "setting-of-wrong-type: `--precision` takes one of `auto`, `fp32`, `bf16`, `fp16`, "
        "and was given the text `bf61`.",
        "SF002",
    ),
    "sft --epochs 0": (
        "setting-out-of-range: `epochs` must be at least 1 and is 0.",
        "Give `epochs` a number that is at least 1.",
    ),
    "sft --model a --model_name b": (
        "setting-given-twice: `--model` and `--model_name` are the same setting, `--model`, "
        "and both were given.",
        "Keep one of them.",
    ),
    "sft --epochs 1 --epochs 2": ("setting-given-twice: `--epochs` was given twice.", "SF004"),
    "sft --json a --json b": ("setting-given-twice: `--json` was given twice.", "SF004"),
    "sftt": (
        "unknown-command: surefit has no command `sftt`.",
        "Write `surefit sft`, the nearest command.",
    ),
    "ask run": ("missing-setting: `ask` needs `TEXT`: a text.", "`surefit ask --help`"),
    "sft --epochs": (
        "missing-setting: `--epochs` takes a whole number, and none was given.",
        "SF007",
    ),
    "sft --config": ("missing-setting: `--config` takes a path, and none was given.", "SF007"),
    "sft --json --brief": ("missing-setting: `--json` takes a path, and none was given.", "SF007"),
    "ask a b c": ("unexpected-argument: `ask` has no use for `c`.", "`surefit ask --help`"),
    "sft --json no/such/folder/x.json": (
        "unwritable-json: `no/such/folder/x.json` is in a folder that does not exist.",
        "SF012",
    ),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_call_is_a_finding(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    headline, more = WRONG_CALLS[call]
    assert cli.main(call.split()) == 2
    shown = capsys.readouterr()
    rule, _, sentence = headline.partition(": ")
    assert f"── error: {rule} ──" in shown.err
    flat = " ".join(shown.err.split())
    assert sentence in flat
    assert more in flat
    assert shown.out == ""


def test_flags_win_over_the_file_and_the_file_over_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        "epochs = 3\nlr = 1\n\n[sft]\nmodel_name = 'none'\nout = 'from-file'\nbucket = false\n"
        "lora-targets = ['q', 'v']\n\n[ask]\ntext = 'why'\n"
    )
    assert cli.main(["sft", "--config", str(config), "--epochs", "7"]) == 0
    assert capsys.readouterr().out == (
        "epochs 7, model none, out from-file\ntargets ('q', 'v'), lr 1.0, bucket False\n"
    )


def test_a_required_argument_can_come_from_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "ask.yaml"
    config.write_text("ask:\n  text: why\n")
    assert cli.main(["ask", "here", f"--config={config}"]) == 0
    assert capsys.readouterr().out == "here why\n"


def test_every_fault_of_a_config_file_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("seed: 1\nepochz: 3\nbatch_size: x\nmodel: a\nmodel_name: b\n")
    assert cli.main(["sft", "--config", str(config), "--brief"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{config}:2: error unknown-setting: `epochz` is not a setting of `sft`.",
        f"{config}:3: error setting-of-wrong-type: `batch_size` takes a whole number, and was "
        "given the text `x`.",
        f"{config}:5: error setting-given-twice: `model` and `model_name` are the same setting, "
        "`model`, and both were given.",
    ]


def test_a_number_out_of_range_is_placed_where_it_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("seed: 1\nepochs: 0\n")
    assert cli.main(["sft", "--config", str(config), "--brief", "--batch-size", "0"]) == 2
    said = capsys.readouterr().err
    assert f"{config}:2: error setting-out-of-range: `epochs` must be" in said
    assert "command line: error setting-out-of-range: `batch_size` must be" in said
    assert cli.main(["sft", "--config", str(config), "--epochs", "1"]) == 0


def test_findings_of_bad_input_go_to_stderr_with_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["fail", "bad"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0].endswith("─ rows.jsonl:3 ── SF999")
    assert cli.main(["fail", "bad", "--brief"]) == 1
    assert capsys.readouterr().err == "rows.jsonl:3: error bad-row: Row 3 is bad.\n"


def test_json_is_written_whatever_happened(tmp_path: Path) -> None:
    file = tmp_path / "findings.json"
    assert cli.main(["sft", "--json", str(file)]) == 0
    assert json.loads(file.read_bytes()) == {
        "surefit": "0.1.0",
        "schema": 2,
        "command": "sft",
        "script": None,
        "ended": {"code": 0, "exception": None},
        "findings": [],
        "not_observed": [],
    }
    assert cli.main(["fail", "bad", "--json", str(file)]) == 1
    written = json.loads(file.read_bytes())
    assert written["ended"] == {"code": 1, "exception": None}
    assert [finding["rule"] for finding in written["findings"]] == ["bad-row"]
    assert cli.main(["fail", "warn", "--json", str(file)]) == 0
    written = json.loads(file.read_bytes())
    assert [finding["severity"] for finding in written["findings"]] == ["warning"]
    assert written["rows"] == {"odd": 1}
    assert cli.main(["fail", "bug", "--json", str(file)]) == 1
    assert json.loads(file.read_bytes())["ended"] == {
        "code": 1,
        "exception": "ZeroDivisionError: by nought",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["findings.json"]


def test_quiet_says_nothing_and_ends_with_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sft", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert not console.quiet


def test_a_stopped_run_and_an_interrupt_end_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fail", "stop"]) == 130
    assert "The run was stopped." in capsys.readouterr().err
    assert cli.main(["fail", "interrupt"]) == 130
    assert capsys.readouterr().err == "Stopped.\n"
    assert cli.main(["fail", "exit"]) == 3


@pytest.mark.parametrize(("package", "extra"), [("torch", "train"), ("gguf", "gguf")])
def test_a_missing_part_says_how_to_get_it(
    package: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert cli.main(["fail", package]) == 1
    said = capsys.readouterr().err
    assert "── error: missing-part ──" in said
    assert f"`{package}` is not installed, and this command needs it." in said
    assert f'[{extra}]"' in said
    assert "Traceback" not in said


@pytest.mark.parametrize("how", ["bug", "other"])
def test_any_other_exception_is_surefits_own_fault(
    how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fail", how]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "This is a bug in surefit." in said
    assert "`surefit env`" in said


def test_nobody_reads_the_output() -> None:
    program = (
        "import sys\nfrom surefit import cli\n"
        "cli.COMMANDS = {'env': 'surefit.cli.env:env'}\nsys.stdin.read()\n"
        "sys.exit(cli.main(['env', '--help']))"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin
    assert running.stdout
    assert running.stderr
    running.stdout.close()
    running.stdin.close()
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait(timeout=60) in (1, 141)
    assert said == b""
