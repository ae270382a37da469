"""The help of every command fits a terminal of 80 columns and shows each parameter once."""

import pytest
from rich.cells import cell_len

from surefit import cli


@pytest.mark.parametrize("command", [[], *([name] for name in cli.COMMANDS)], ids=" ".join)
def test_help_fits_80_columns(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([*command, "--help"]) == 0
    page = capsys.readouterr().out
    assert max(map(cell_len, page.splitlines())) <= 80
    assert "Parameters\n---" not in page
    assert all(f"surefit {name}" in page for name in command)


def test_every_command_has_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.FIRST_OF_GROUP.keys() <= cli.COMMANDS.keys()
    assert next(iter(cli.COMMANDS)) in cli.FIRST_OF_GROUP
    assert cli.main(["--help"]) == 0
    page = capsys.readouterr().out
    headings = [page.index(f"╭─ {heading} ") for heading in cli.FIRST_OF_GROUP.values()]
    assert headings == sorted(headings)
