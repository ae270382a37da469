"""Rows that one process prepared are the same in another that opens them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.million_rows import make_rows
from surefit.data.tokens import TokenSet
from surefit.errors import BadInput
from surefit.recipes import token_rows
from surefit.recipes.sft_settings import LoraSft
from surefit.recipes.token_rows import open_prepared, part_rows, prepare

OPENED = """
import sys
from pathlib import Path
from surefit.recipes.token_rows import open_prepared
found = open_prepared(Path(sys.argv[1]))
print(found.template, len(found.held_out), found.train_set.fingerprint(), found.train_set.rows[4])
print("torch" in sys.modules)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "work"
    made.mkdir()
    return made


def settings(**changed: Any) -> LoraSft:
    return LoraSft(**{"augmentation_factor": 3, "seed": 5, **changed})


def all_of(tokens: TokenSet) -> tuple[Sequence[object], ...]:
    return tokens.rows, tokens.tokens, tokens.lengths.tolist(), tokens.fingerprint()


def test_another_process_opens_what_one_prepared(folder: Path, small_tokenizer: Any) -> None:
    made = prepare(settings(), small_tokenizer, folder)
    assert (len(made.train_set), len(made.held_out), made.template) == (2700, 100, "plain")
    again = open_prepared(folder)
    assert all_of(again.train_set) == all_of(made.train_set)
    assert all_of(again.held_out) == all_of(made.held_out)
    child = [sys.executable, "-c", OPENED, str(folder)]
    said = subprocess.run(child, capture_output=True, text=True, check=True).stdout
    wanted = f"plain 100 {made.train_set.fingerprint()} {made.train_set.rows[4]}\nFalse\n"
    assert said == wanted


@pytest.mark.parametrize("parted_in_memory", [True, False])
def test_rows_that_were_parted_before_are_not_read_again(
    folder: Path, tmp_path: Path, small_tokenizer: Any, parted_in_memory: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    rows = part_rows(settings(), None if parted_in_memory else elsewhere)
    made = prepare(settings(), small_tokenizer, folder, rows)
    assert (folder / "rows.arrow").exists() == parted_in_memory
    assert all_of(open_prepared(folder).train_set) == all_of(made.train_set)


def test_rows_that_became_no_tokens_are_left_out_on_both_sides(
    folder: Path, small_tokenizer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [{"input": f"Where is {at}?", "target": "far " * (at % 5 * 30 + 1)} for at in range(40)]
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    chosen = settings(data="rows.jsonl", max_tokens=64, held_out=0.25, augmentation_factor=1)
    with pytest.raises(BadInput) as refused:
        prepare(chosen, small_tokenizer, folder)
    assert {finding.rule for finding in refused.value.findings} == {"target-too-long"}
    chosen = settings(
        data="rows.jsonl", max_tokens=64, held_out=0.25, augmentation_factor=1, skip_bad_rows=True
    )
    made, again = prepare(chosen, small_tokenizer, folder), open_prepared(folder)
    assert "Skipped: The target leaves no room" in capsys.readouterr().out
    for one, other in (
        (made.train_set, again.train_set),
        (made.held_out, again.held_out),
    ):
        assert 0 < len(one) < 30
        assert all_of(one) == all_of(other)
        assert [row.number for row in one.rows] == [tokens.number for tokens in one.tokens]


def test_what_many_rows_cost_is_said(
    folder: Path,
    small_tokenizer: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = prepare(settings(), small_tokenizer, folder)
    assert "Prepared" not in capsys.readouterr().out
    monkeypatch.setattr(token_rows, "MANY_ROWS", 2700)
    prepare(settings(), small_tokenizer, folder)
    tokens = int(made.train_set.lengths.sum() + made.held_out.lengths.sum())
    (line,) = (said for said in capsys.readouterr().out.splitlines() if "Prepared" in said)
    assert line.startswith(f"Prepared 2,800 rows with {tokens:,} tokens in ")
    megabytes = line.partition("peak memory ")[2].removesuffix(" MB").replace(",", "")
    assert 50 < int(megabytes) < 100_000


MEASURED = """
import json, sys
from pathlib import Path
from surefit.data.peak_memory import peak_memory
from surefit.models.load import find_model, load_tokenizer
from surefit.recipes.token_rows import prepare
from surefit.recipes.sft_settings import LoraSft

tokenizer = load_tokenizer(find_model("embedded"))
for name in ("few", "many"):
    Path(f"work-{name}").mkdir()
    made = prepare(LoraSft(data=f"{name}.jsonl"), tokenizer, Path(f"work-{name}"))
    print(json.dumps([peak_memory(), int(made.train_set.lengths.sum())]))
"""
BYTES_A_ROW = 1800
"""Of so few rows half stay mapped. As lists of numbers the tokens of a row alone, 140 of them and
as many labels, would take 2200 bytes, and its text 600 more."""


@pytest.mark.slow
def test_memory_grows_by_less_than_a_row_takes(tmp_path: Path) -> None:
    few, many = 8000, 28_000
    make_rows(tmp_path / "few.jsonl", few)
    make_rows(tmp_path / "many.jsonl", many)
    child = [sys.executable, "-c", MEASURED]
    said = subprocess.run(child, capture_output=True, text=True, check=True).stdout
    told = [json.loads(line) for line in said.splitlines() if line.startswith("[")]
    (least, tokens_in_few), (most, tokens_in_many) = told
    assert (tokens_in_many - tokens_in_few) / (many - few) > 100
    assert (most - least) / (many - few) < BYTES_A_ROW


def test_rows_to_validate_on_come_from_a_file_of_their_own(
    folder: Path, tmp_path: Path, small_tokenizer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training sees none of them, whatever the case and the white space."""
    rows = [{"input": f"Who has number {n}?", "target": f"Ann {n}"} for n in range(20)]
    twin = {"input": "who  has number 3?", "target": "ANN 3"}
    others = [{"input": f"And where is {n}?", "target": f"in {n}"} for n in range(4)]
    for name, lines in (("train", rows), ("validation", [*others, twin])):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text)
    chosen = {"data": "train.jsonl", "eval_data": "validation.jsonl", "augmentation_factor": 1}
    made = prepare(settings(**chosen), small_tokenizer, folder)
    assert [row.target for row in made.held_out.rows] == ["in 0", "in 1", "in 2", "in 3", "ANN 3"]
    assert [row.number for row in made.train_set.rows] == [n for n in range(20) if n != 3]
    said = capsys.readouterr().out
    assert "Validating on all 5 examples of validation.jsonl" in said
    assert "Duplicates of validation rows removed from the training rows: 1" in said
    again = open_prepared(folder)
    assert all_of(again.train_set) == all_of(made.train_set)
    assert all_of(again.held_out) == all_of(made.held_out)
    with pytest.raises(BadInput) as caught:
        part_rows(settings(**chosen | {"eval_data": "train.jsonl"}))
    assert caught.value.findings[0].rule == "all-rows-validated-on"
