"""The pages of rules are written where they differ, and a check names those that do."""

from pathlib import Path

import pytest

from surefit.doctor.catalogue import rules
from tools.rule_pages import main, row


def test_pages_are_written_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], tmp_path / "rules") == 1
    told = capsys.readouterr().out
    assert not (tmp_path / "rules").exists()
    names = ["README.md", *(f"{rule.name}.md" for rule in rules())]
    assert [line.split()[0] for line in told.splitlines()] == [f"docs/rules/{n}" for n in names]
    assert main([], tmp_path / "rules") == 0
    assert sorted(file.name for file in (tmp_path / "rules").iterdir()) == sorted(names)
    capsys.readouterr()
    assert main(["--check"], tmp_path / "rules") == 0
    assert capsys.readouterr().out == ""
    (tmp_path / "rules" / names[1]).write_text("edited by hand")
    assert main(["--check"], tmp_path / "rules") == 1
    assert capsys.readouterr().out.startswith(f"docs/rules/{names[1]} is not what its rule says")


def test_the_index_links_every_page(tmp_path: Path) -> None:
    main([], tmp_path)
    index = (tmp_path / "README.md").read_text()
    for rule in rules():
        assert row(rule, f"[{rule.name}]({rule.name}.md)") in index
        assert (tmp_path / f"{rule.name}.md").is_file()
    assert "| SF005 | unknown-command | error | surefit has no command of that name. |" in index
