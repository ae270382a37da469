"""What the README tells people to type can be typed."""

import re
import shlex
from pathlib import Path

import pytest

from surefit.cli import functions_for, make_app, read_call
from surefit.cli.config_flags import ConfigFlags

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("#")[0].strip()
    for _, block in BLOCKS
    for line in block.splitlines()
    if line.startswith("surefit ")
]
TARGETS = re.findall(r"^make (\w+)", README.read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    call = read_call(shlex.split(command)[1:])
    app, _ = make_app(ConfigFlags(None, ()), functions_for(call))
    app.parse_args(call.tokens, exit_on_error=False, print_error=False)


def test_there_are_commands_to_test() -> None:
    assert len(COMMANDS) >= 6
    assert TARGETS[:2] == ["demo", "test"]


def test_make_targets_exist() -> None:
    makefile = (README.parent / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in TARGETS)


@pytest.mark.parametrize("code", [block for kind, block in BLOCKS if kind == "python"])
def test_python_is_python(code: str) -> None:
    compile(code, "README.md", "exec")
