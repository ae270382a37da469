"""What a person does from a file of their own to a model that others load, command by command."""

import io
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from surefit import embedded
from surefit.cli import main

pytestmark = pytest.mark.slow


def csv(file: Path, lines: list[str]) -> Path:
    """Rows under columns of other names than surefit's own."""
    rows = [json.loads(line) for line in lines]
    quoted = ([row[name].replace('"', '""') for name in ("input", "target")] for row in rows)
    text = "".join(f'"{question}","{answer}"\n' for question, answer in quoted)
    file.write_text(f"question,answer\n{text}")
    return file


def test_from_ones_own_csv_to_a_model_that_transformers_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with embedded.ROWS.open() as source:
        lines = list(islice(source, 136))
    csv(tmp_path / "train.csv", lines[:120])
    csv(tmp_path / "validation.csv", lines[120:])
    columns = ["--input-field", "question", "--target-field", "answer"]

    def said(*words: str) -> str:
        assert main([*words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    assert "120" in said("inspect", "train.csv", *columns)
    train = ["--data", "train.csv", "--eval-data", "validation.csv", "--out", "run"]
    trained = said("sft", *train, *columns, "--epochs", "3", "--evaluate-every", "40")
    assert "Validating on all 16 examples of validation.csv" in trained
    assert "Step 40: Average F1 Score" in trained
    report = json.loads(Path("run/report.json").read_text())
    assert report["training_rows"] == 120
    assert report["f1"] > report["f1_before"]
    assert report["validation_loss"] < report["validation_loss_before"]

    scored = said("eval", "run", "validation.csv")
    assert f"Average F1 Score = {report['f1']:.4f}" in scored
    assert "None of the rows was trained on" in scored
    assert "rows were trained on" in said("eval", "run", "train.csv")

    question = json.loads(lines[120])["input"]
    answer = said("ask", "run", question).strip()
    monkeypatch.setattr("sys.stdin", io.StringIO(question.replace("\n", "\\\n") + "\n"))
    assert said("ask", "run").strip() == answer

    said("export", "run")
    tokenizer: Any = AutoTokenizer.from_pretrained("run/export")
    model: Any = AutoModelForCausalLM.from_pretrained("run/export")
    given = tokenizer(f"{question}\nAnswer:", return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        written = model.generate(**given, max_new_tokens=16, do_sample=False)
    new = written[0, given["input_ids"].shape[1] :]
    assert tokenizer.decode(new, skip_special_tokens=True).strip() == answer
