"""`surefit eval` and `surefit ask` on the folder of a real run."""

import io
import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGUFReader
from transformers import AutoModelForCausalLM, AutoTokenizer

from surefit import embedded
from surefit.cli import main
from surefit.data.rows import Fields, Turn
from surefit.recipes import sft
from surefit.recipes.trained import Conversation, Trained, load_trained
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


def test_eval_tells_rows_that_were_trained_on_from_the_others(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, page = RunFolder(run).read_report(), tmp_path / "page.json"
    assert main(["eval", str(run), str(run.parent / "rows.jsonl"), "--json", str(page)]) == 0
    said = capsys.readouterr().out
    assert "36 of 40 rows were trained on; on the other 4: " in said
    assert f"on the other 4: Average F1 Score = {report.f1:.4f}" in said
    told = json.loads(page.read_text())
    assert (told["in_training"], told["not_in_training"]["rows"]) == (36, 4)
    assert told["not_in_training"]["f1"] == report.f1
    assert told["score"]["tokens"] > told["not_in_training"]["tokens"]


def test_an_export_loads_without_surefit_and_names_no_machine(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "exported"
    tokenizer: Any
    assert main(["export", str(run), "--out", str(out), "--gguf"]) == 0
    assert "Merged: logits differ from the adapted model by at most" in capsys.readouterr().out
    held = GGUFReader(out / "model-f16.gguf")
    assert len(held.tensors) == len(AutoModelForCausalLM.from_pretrained(out).state_dict()) - 1
    fields = {name: held.fields[name].contents() for name in held.fields}
    assert fields["tokenizer.ggml.tokens"][:2] == ["<pad>", "<eos>"]
    assert (fields["qwen3.block_count"], fields["qwen3.attention.key_length"]) == (4, 32)
    trained, row = load_trained(run), RunFolder(run).predictions(1)[0]
    model = AutoModelForCausalLM.from_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    ids = tokenizer(f"{row['input']}\nAnswer:", return_tensors="pt")["input_ids"]
    assert ids[0].tolist() == trained.prompt([Turn("user", row["input"])])
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, trained.model(ids).logits, atol=1e-3, rtol=0)
        base = AutoModelForCausalLM.from_pretrained(embedded.MODEL, dtype=torch.float32)
        assert not torch.allclose(base(ids).logits, model(ids).logits, atol=1e-1)
    report, card = RunFolder(run).read_report(), (out / "README.md").read_text()
    assert f"| loss, mean over tokens | {report.validation_loss_before:.4f} |" in card
    assert "rows.jsonl, 36 rows to train on and 4 to validate on" in card
    texts = [file.read_text() for file in out.iterdir() if file.suffix in {".json", ".md"}]
    assert len(texts) > 3
    assert not any(str(run.parent) in text or str(Path.home()) in text for text in texts)
    capsys.readouterr()
    assert main(["export", str(run), "--out", str(out)]) == 1
    assert "out-folder-in-use" in capsys.readouterr().err


def test_a_question_comes_from_standard_input(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = RunFolder(run).predictions(1)[0]
    monkeypatch.setattr("sys.stdin", io.StringIO(row["input"] + "\n"))
    assert main(["ask", str(run), "-", "--system", ""]) == 0
    assert capsys.readouterr().out.strip().startswith(row["answer"])


def test_a_conversation_is_kept_until_a_new_one(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def answer(_trained: Trained, turns: list[Turn]) -> str:
        asked.append([turn.text for turn in turns])
        return f"answer {len(asked)}"

    monkeypatch.setattr(Trained, "answer", answer)
    monkeypatch.setattr("sys.stdin", io.StringIO("Who?\nAnd why?\n/new\nWhen?\n"))
    assert main(["ask", str(run), "--system", "Be brief."]) == 0
    assert capsys.readouterr().out.split("\n") == ["answer 1", "answer 2", "answer 3", ""]
    assert asked == [
        ["Be brief.", "Who?"],
        ["Be brief.", "Who?", "answer 1", "And why?"],
        ["Be brief.", "When?"],
    ]


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
    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(model)
    rows = tmp_path / "rows.jsonl"
    turns = [("system", "You settle."), ("user", "Who pays?"), ("assistant", "Ann")]
    messages = [{"role": role, "content": text} for role, text in turns]
    rows.write_text("".join(json.dumps({"messages": messages, "row": n}) + "\n" for n in range(12)))
    out = tmp_path / "run"
    sft.run(data=str(rows), model=str(model), out=out, epochs=12, held_out=0, learning_rate=6e-3)
    assert RunFolder(out).read_settings()["template"] == "chat"
    assert RunFolder(out).read_settings()["learning_rate"] == 6e-3
    trained = load_trained(out)
    assert trained.ask("Who pays?") == "Ann"
    asked = tokenizer.apply_chat_template(messages[:2], add_generation_prompt=True)
    in_training = asked["input_ids"]
    begun = Conversation(trained)
    begun.ask("Who pays?")
    assert trained.prompt(begun.turns[:-1]) == in_training
    assert trained.prompt([Turn("user", "Who pays?")]) != in_training
    assert trained.system == "You settle."
    bare = tmp_path / "bare.csv"
    bare.write_text("input,target\nWho pays?,Ann\nWho asks?,Bob\n")
    found = trained.score(str(bare), Fields())
    assert (found.in_training, found.predictions[0]["answer"]) == (1, "Ann")


def test_eval_takes_the_columns_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "rows.csv", tmp_path / "run"
    lines = "".join(f"What is {n}?,{n}\n" for n in range(12))
    data.write_text(f"question,answer\n{lines}")
    columns = ["--input-field", "question", "--target-field", "answer"]
    few = ["--max-steps", "1", "--held-out", "0", "--max-new-tokens", "1"]
    assert main(["sft", "--data", str(data), "--out", str(out), *columns, *few]) == 0
    assert main(["eval", str(out), str(data)]) == 0
    assert "12 of 12 rows were trained on: the score measures mem" in capsys.readouterr().out
