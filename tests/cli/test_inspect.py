"""`surefit inspect` on real files, with the embedded tokenizer."""

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from surefit import cli
from surefit.cli.inspect import InspectRows
from surefit.data.inspection import Example, Part
from surefit.doctor.findings import Place
from surefit.recipes.sft_settings import LoraSft
from surefit.render import inspection as render
from surefit.settings import as_dict, names

ROWS: list[dict[str, object]] = [
    {"input": "Ann lives in Rome. Where does she live?", "target": "Rome"},
    {"input": "Bob lives in Oslo. Where does he live?", "target": "Oslo"},
    {"input": "Eve has a red house. What colour is it?", "target": "red"},
    {"input": "Max has a red house. What colour is the roof?", "target": "brown"},
]


def write(path: Path, rows: Sequence[object]) -> str:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def part(file: Path) -> dict[str, Any]:
    found = json.loads(file.read_bytes())["inspection"]
    assert isinstance(found, dict)
    return found


def test_the_embedded_rows_are_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    assert cli.main(["inspect", "--json", str(file)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "embedded: 1,000 rows, none bad\n" in said.out
    assert "first row, embedded:1: " in said.out
    assert "<eos>⟧\n" in said.out
    assert max(map(cell_len, said.out.splitlines())) <= 80
    found = part(file)
    assert (found["rows"], found["bad_rows"]) == (1000, 0)
    assert found["duplicates"]["groups"] == 0
    assert len(found["examples"]) == 3
    assert found["settings"]["data"] == "embedded"


def test_counts_of_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(Path("rows.jsonl"), [*ROWS, ROWS[0]])
    call = ["inspect", data, "--held-out", "0.4", "--examples", "99", "--json", "found.json"]
    assert cli.main(call) == 0
    said = " ".join(capsys.readouterr().out.split())
    found = part(Path("found.json"))
    assert found["characters"]["input"] == {
        "shortest": 38,
        "median": 39,
        "percentile_95": 45,
        "longest": 45,
    }
    assert found["targets"]["distinct"] == 4
    assert "`Rome` in 2 of 5 rows (40.0%)" in said
    assert "as the answer to every row: F1 0.4000" in said
    assert "verbatim in the input 4 of 5 rows (80.0%)" in said
    assert (found["duplicates"]["exact"], found["duplicates"]["near"]) == (2, 0)
    assert "exact 2 rows, such as rows.jsonl:1 and rows.jsonl:5 near 0 rows" in said
    assert found["duplicates"]["held_out"] == 2
    assert sorted(one["place"]["line"] for one in found["examples"]) == [1, 2, 3, 4, 5]
    assert found["tokens_in_all"] == sum(one["tokens"] for one in found["examples"])
    assert found["left_out"] == []


def test_all_bad_rows_are_told_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    bad = ['{"input": "a"', {"input": "a", "target": None}, {"input": "a", "target": ""}]
    long = {"input": "a", "target": "word " * 40}
    data = write(tmp_path / "rows.jsonl", [*ROWS, *bad, bad[1], long])
    call = ["inspect", data, "--max_seq_length", "40", "--json", str(file)]
    assert cli.main(call) == 1
    said = capsys.readouterr()
    told = "".join(said.out.split())  # a long path wraps anywhere
    assert "".join(f"{data}: 9 rows, 5 bad".split()) in told
    assert "the target leaves no room for any input" in " ".join(said.out.split())
    for rule in ("invalid-json", "null-value", "empty-text", "target-too-long"):
        assert f"── error: {rule} ──" in said.err
    written = json.loads(file.read_bytes())
    assert written["ended"]["code"] == 1
    assert {finding["rule"]: finding["place"]["line"] for finding in written["findings"]} == {
        "invalid-json": 5,
        "null-value": 6,
        "empty-text": 7,
        "target-too-long": 9,
    }
    assert (part(file)["rows"], part(file)["bad_rows"], part(file)["measured"]) == (9, 5, 5)

    assert cli.main([*call, "--skip-bad-rows"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("Skipped: ") == 4
    assert "Skipped: `target` is null in 2 of 9 rows, first on line 6.\n" in said.out
    assert len(part(file)["left_out"]) == 4
    assert json.loads(file.read_bytes())["findings"] == []


def test_a_file_without_usable_rows_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "rows.jsonl", [ROWS[0], {"input": 1, "target": "x"}])
    assert cli.main(["inspect", data, "--brief"]) == 1
    said = capsys.readouterr().err
    assert "too-few-rows" in said
    assert "not-text" in said


def test_rows_none_of_which_fits_are_still_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "rows.jsonl", [{"input": "a", "target": "word " * 40}] * 2)
    assert cli.main(["inspect", data, "--max-tokens", "8"]) == 1
    said = capsys.readouterr()
    assert "every row is longer than the limit of 8" in said.out
    assert "0 of 0 tokens" in said.out
    assert "target-too-long" in said.err


def test_a_split_that_leaves_nothing_is_told_and_does_not_stop_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "rows.jsonl", ROWS)
    assert cli.main(["inspect", data, "--held-out", "1", "--skip-bad-rows"]) == 1
    said = capsys.readouterr()
    assert "As the model sees them" in said.out
    assert "nothing-to-train-on" in said.err


def test_fields_template_and_config_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(
        tmp_path / "rows.jsonl", [{"q": f"what is {word}", "a": word} for word in ("up", "down")]
    )
    config = tmp_path / "inspect.toml"
    config.write_text(
        f'data = "{data}"\ninput_field = "q"\ntarget-field = "a"\ntemplate = "Q {{input}} A"\n'
        "max_seq_length = 64\n"
    )
    assert cli.main(["inspect", "--config", str(config), "--examples", "1"]) == 0
    said = capsys.readouterr().out
    assert "  Q what is up A⟦ up<eos>⟧\n" in said
    assert "at 64, current" in said
    assert "another row" not in said


def test_text_of_rows_is_not_obeyed_by_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = {"input": "red \x1b[31m and \u202e back\nnext <eos>", "target": "a\x07b"}
    data = write(tmp_path / "rows.jsonl", [odd, ROWS[0]])
    assert cli.main(["inspect", data]) == 0
    said = capsys.readouterr().out
    assert "  red \\x1b[31m and \\u202e back↵\n  next <eos>↵\n  Answer:⟦ a\\x07b<eos>⟧\n" in said
    assert "special tokens 1 of 2 rows (50.0%) contain the text of one: it stays text" in " ".join(
        said.split()
    )
    assert not set("\x1b\u202e\x07") & set(said)


@pytest.mark.parametrize(
    ("flag", "meant"), [("--max-token", "--max-tokens"), ("--exampels", "--examples")]
)
def test_a_misspelt_flag(flag: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", flag, "3"]) == 2
    said = capsys.readouterr()
    assert f"Write `{meant}`, the nearest name." in said.err
    assert said.out == ""


def test_a_number_out_of_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", "--examples", "-1"]) == 2
    assert "`examples` must be at least 0" in capsys.readouterr().err


def test_help_fits_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--max-seq-length" in page
    assert "surefit inspect rows.jsonl" in page
    assert max(map(cell_len, page.splitlines())) <= 80


def test_settings_are_those_of_sft() -> None:
    fine_tuning, inspecting = as_dict(LoraSft()), as_dict(InspectRows())
    assert inspecting.pop("examples") == 3
    assert inspecting == {name: fine_tuning[name] for name in inspecting}
    aliases = {name: field for name, field in names(InspectRows).items() if field != "examples"}
    assert aliases.items() <= names(LoraSft).items()


def example(*parts: Part) -> Example:
    return Example("first row", Place("r.jsonl", 1), 9, 9, 3, parts)


def shown(one: Example, console: Console) -> str:
    for line in render.example_lines(one, 80):
        console.print(line, soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_colour_only_adds_to_what_is_marked_anyway() -> None:
    one = example(Part("what is it\nAnswer:", False), Part(" up<eos>", True))
    plain = shown(one, Console(file=io.StringIO(), width=80))
    coloured = shown(
        one, Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    )
    assert "\x1b[1;32m⟦ up<eos>⟧\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert plain.endswith("  what is it↵\n  Answer:⟦ up<eos>⟧\n")


def test_a_long_prompt_is_shortened_in_its_middle() -> None:
    prompt = "begin " + "word " * 1000 + "end"
    lines = [line.plain for line in render.example_lines(example(Part(prompt, False)), 80)]
    said = " ".join(" ".join(lines[1:]).split())
    assert said.startswith("begin word")
    assert said.endswith("word end")
    assert re.search(r"… 4,5\d\d characters …", said)
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 12


def test_a_long_conversation_is_shortened_to_its_ends() -> None:
    parts = [Part(f"part {at} ", at % 2 == 1) for at in range(40)]
    _, *lines = [line.plain for line in render.example_lines(example(*parts), 80)]
    assert " ".join("".join(lines).split()) == (
        "part 0 ⟦part 1 ⟧ … 34 prompts and answers … part 36 ⟦part 37 ⟧part 38 ⟦part 39 ⟧"
    )


def test_wide_characters_fold_by_their_cells() -> None:
    lines = [line.plain for line in render.example_lines(example(Part("漢" * 300, False)), 80)]
    assert max(map(cell_len, lines)) <= 80
    assert "".join(line.strip() for line in lines[1:]) == "漢" * 300
