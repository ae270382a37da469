"""`surefit eval` and `surefit ask` on the folder of a real run."""

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from surefit import embedded
from surefit.cli import main
from surefit.recipes import sft
from surefit.recipes.trained import load_trained
from surefit.train.record import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    with embedded.ROWS.open() as source:
        (place / "rows.jsonl").write_text("".join(islice(source, 40)))
    sft.run(data=str(place / "rows.jsonl"), out=place / "run", epochs=1, held_out=0.1)
    return place / "run"


def test_eval_gives_the_score_that_training_printed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held_out = RunFolder(run).predictions(1)
    data = tmp_path / "held-out.jsonl"
    data.write_text(
        "".join(json.dumps({k: r[k] for k in ("input", "target")}) + "\n" for r in held_out)
    )
    report = RunFolder(run).read_report()
    page, lines = tmp_path / "page.json", tmp_path / "answers.jsonl"
    assert (
        main(["eval", str(run), str(data), "--predictions", str(lines), "--json", str(page)]) == 0
    )
    assert f"Average F1 Score = {report.f1:.4f}" in capsys.readouterr().out
    assert json.loads(page.read_text())["score"]["f1"] == report.f1
    answers = [json.loads(line)["answer"] for line in lines.read_text().splitlines()]
    assert answers == [row["answer"] for row in held_out]


def test_ask_answers_as_the_run_did(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = RunFolder(run).predictions(1)[0]
    assert main(["ask", str(run), row["input"]]) == 0
    said = capsys.readouterr().out.strip()
    assert said.startswith(row["answer"])
    assert load_trained(run).ask(row["input"]) == said


def test_a_folder_that_is_no_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", str(tmp_path), "What?"]) == 1
    assert "not-a-run" in capsys.readouterr().err


def test_a_run_without_an_epoch_has_nothing_to_ask(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.json").write_bytes((run / "settings.json").read_bytes())
    assert main(["ask", str(tmp_path), "What?"]) == 1
    assert "no trained weights yet" in " ".join(capsys.readouterr().err.split())


CHATML = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def test_a_run_on_conversations_is_asked_through_their_template(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(embedded.MODEL, model)
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(model)
    rows = tmp_path / "rows.jsonl"
    turns = [("user", "Who pays?"), ("assistant", "Ann")]
    messages = [{"role": role, "content": text} for role, text in turns]
    rows.write_text("".join(json.dumps({"messages": messages, "row": n}) + "\n" for n in range(12)))
    out = tmp_path / "run"
    sft.run(data=str(rows), model=str(model), out=out, epochs=12, held_out=0, learning_rate=6e-3)
    assert RunFolder(out).read_settings()["template"] == "chat"
    assert RunFolder(out).read_settings()["learning_rate"] == 6e-3
    assert load_trained(out).ask("Who pays?") == "Ann"
