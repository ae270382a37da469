"""Distillation end to end, on the embedded models and a few texts."""

import json
import math
import re
import shutil
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from surefit import embedded
from surefit.cli import main
from surefit.losses.comparison import compared
from surefit.recipes import distill, distill_judge, distill_teacher
from surefit.recipes.distill_report import DistillReport
from surefit.render.page.left_behind import LeftBehind
from surefit.render.page.of_run import page_of_run
from surefit.train.checkpoint import checkpoints
from surefit.train.record import RunFolder

LINE = re.compile(
    r"Step (\d+): loss [\d.]+ \(ce [\d.]+, kd [\d.]+\), ppl [\d.]+, evaluated (\d+)/(\d+) batches"
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 40 embedded texts."""
    file = tmp_path_factory.mktemp("texts") / "texts.txt"
    file.write_text("\n\n".join(embedded.TEXT.read_text().split("\n\n")[:40]))
    return file


def few_steps(texts: Path, out: Path, **more: Any) -> dict[str, Any]:
    return {
        "data": str(texts),
        "out": str(out),
        "steps": 6,
        "evaluate_every": 3,
        "batch_size": 4,
        "max_tokens": 64,
        "learning_rate": 1e-3,
        "threads": 1,
        **more,
    }


def records(out: Path, name: str) -> list[dict[str, Any]]:
    return [record for record in RunFolder(out, "distill").metrics() if name in record]


@pytest.fixture(scope="module")
def plain(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six steps."""
    out = tmp_path_factory.mktemp("plain") / "run"
    distill.run(**few_steps(texts, out))
    return out


def test_parts_of_the_loss_are_told_apart(plain: Path) -> None:
    steps = records(plain, "learning_rate")
    assert [record["step"] for record in steps] == list(range(1, 7))
    for record in steps:
        mixed = 0.5 * record["cross_entropy"] + 0.5 * record["divergence"]
        assert record["loss"] == pytest.approx(mixed, rel=1e-5)
        assert record["divergence"] > 0
        assert record["gradient_norm"] > 0
        assert (record["updates"], record["skipped"]) == (record["step"], 0)
        assert record["peak_memory"] > 1e8


def test_its_page_says_whether_it_learned(plain: Path) -> None:
    left = LeftBehind(plain)
    assert left.data is not None
    assert [fact.name for fact in left.data.fingerprints] == [
        "settings",
        "rows",
        "student",
        "teacher",
    ]
    page = page_of_run(left)
    assert page.conclusion.headline.startswith("It learned: perplexity fell from")
    assert {"Loss", "Perplexity", "Divergence from the teacher"} <= {c.name for c in page.charts}


def test_perplexity_is_that_of_the_saved_weights(texts: Path, plain: Path) -> None:
    """By the models themselves, row by row, on the rows that the report was made of."""
    from surefit.recipes.distill_settings import Distillation
    from surefit.recipes.token_rows import part_rows, tokenize_rows

    settings = Distillation(**few_steps(texts, plain))
    tokenizer = AutoTokenizer.from_pretrained(plain / "model")
    _, held_out = tokenize_rows(settings, part_rows(settings), "plain", tokenizer)
    report = RunFolder(plain, "distill").read_report_as(DistillReport)
    student = AutoModelForCausalLM.from_pretrained(plain / "model", dtype=torch.float32)
    teacher = AutoModelForCausalLM.from_pretrained(embedded.TEACHER, dtype=torch.float32)
    sums, tokens = torch.zeros(4, dtype=torch.float64), 0
    for row in held_out.tokens:
        ids = torch.tensor([row.ids])
        with torch.no_grad():
            own, other = (model(ids).logits[0, :-1].double() for model in (student, teacher))
        log_q, log_p, targets = own.log_softmax(-1), other.log_softmax(-1), ids[0, 1:]
        sums += torch.stack(
            (
                F.nll_loss(log_q, targets, reduction="sum"),
                F.nll_loss(log_p, targets, reduction="sum"),
                (log_p.exp() * (log_p - log_q)).sum(),
                (log_p.argmax(-1) == log_q.argmax(-1)).sum().double(),
            )
        )
        tokens += len(targets)
    figures = (
        report.cross_entropy,
        report.teacher_cross_entropy,
        report.divergence,
        report.agreement,
    )
    assert report.held_out_tokens == tokens
    assert figures == pytest.approx((sums / tokens).tolist(), rel=1e-4)
    assert report.perplexity == pytest.approx(math.exp(report.cross_entropy))


def test_it_can_be_scored_and_asked(
    texts: Path, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = RunFolder(plain, "distill").read_report_as(DistillReport)
    page = tmp_path / "page.json"
    assert main(["eval", str(plain), str(texts), "--json", str(page)]) == 0
    assert "36 of 40 rows were trained on; on the other 4: Loss" in capsys.readouterr().out
    others = json.loads(page.read_text())["not_in_training"]
    assert others["loss"] == pytest.approx(report.cross_entropy, rel=1e-5)
    assert others["tokens"] == report.held_out_tokens
    assert main(["ask", str(plain), "Once upon"]) == 0
    assert capsys.readouterr().out.strip()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"input": "Who pays?", "target": "Ann"}\n' * 3)
    assert main(["eval", str(plain), str(rows)]) == 0
    assert "Average F1 Score = " in capsys.readouterr().out


def test_a_finished_run_is_extended(plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(plain, out)
    report = distill.run(resume=out, steps=9)
    folder = RunFolder(out, "distill")
    assert report.steps == report.updates == 9
    assert [record["step"] for record in records(out, "learning_rate")] == list(range(1, 10))
    assert folder.segments() == [{"from_step": 0, "steps": 6}, {"from_step": 6, "steps": 9}]
    rates = [record["learning_rate"] for record in records(out, "learning_rate")]
    assert rates[6:] == sorted(rates[6:], reverse=True)
    assert rates[6] == rates[0]


def test_the_best_evaluation_is_kept(plain: Path) -> None:
    report = RunFolder(plain, "distill").read_report_as(DistillReport)
    scores = {record["step"]: record["cross_entropy"] for record in records(plain, "perplexity")}
    assert list(scores) == [0, 3, 6]
    assert report.cross_entropy == min(scores[3], scores[6])
    assert report.cross_entropy_before == scores[0]
    assert not (plain / "best").exists()
    assert report.gap_closed is not None


@pytest.mark.slow
def test_a_run_resumed_after_an_evaluation_reports_what_an_unbroken_run_does(
    plain: Path, tmp_path: Path
) -> None:
    """As if killed after the checkpoint of step 3: all figures but those of the machine."""
    out = tmp_path / "run"
    shutil.copytree(plain, out)
    (out / "report.json").unlink()
    shutil.rmtree(checkpoints(out / "checkpoints")[-1])
    distill.run(resume=out)
    whole, resumed = (asdict(RunFolder(run).read_report_as(DistillReport)) for run in (plain, out))
    for name in ("folder", "trained", "seconds", "peak_memory", "pace"):
        del whole[name], resumed[name]
    assert resumed == whole
    assert resumed["teacher_passes"] > 0


def test_the_sources_command_runs(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its flags, on the embedded models: fp16 arithmetic and a scaler on a CPU."""
    out = tmp_path / "run"
    words = (
        "--teacher_model embedded-teacher --student_model embedded-student --model_dtype float16"
    )
    more = f"--train_steps 5 --student_lr 5e-6 --data {texts} --out {out} --evaluate-every 5"
    assert main(["distill", *words.split(), *more.split(), "--max-tokens=32"]) == 0
    said = capsys.readouterr().out
    (line,) = LINE.finditer(said)
    assert line.group(1) == "5"
    assert line.group(2) == line.group(3)
    assert "(fp16)" in said
    assert "KL(teacher ‖ student) at temperature 2, times 4" in said
    before, after = records(out, "perplexity")
    assert after["cross_entropy"] < before["cross_entropy"]
    model = load_file(out / "model" / "model.safetensors")
    assert {tensor.dtype for tensor in model.values()} == {torch.float32}


@pytest.mark.parametrize("objective", ["reverse-kl", "jsd", "skew-kl", "skew-reverse-kl"])
def test_every_objective_pulls_the_student_to_its_teacher(
    texts: Path, tmp_path: Path, objective: str
) -> None:
    more = {"objective": objective, "alpha": 1.0, "temperature": 1.0, "max_tokens": 32}
    report = distill.run(**few_steps(texts, tmp_path / "run", **more))
    assert report.divergence < report.divergence_before


def test_rows_are_learned_at_their_answers_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with embedded.ROWS.open() as source:
        lines = list(islice(source, 24))
    file.write_text("".join(lines))
    report = distill.run(**few_steps(file, tmp_path / "run", steps=2, max_tokens=128))
    tokenizer = AutoTokenizer.from_pretrained(embedded.STUDENT)
    answers = [" " + json.loads(line)["target"] for line in lines]
    longest = max(len(ids) + 1 for ids in tokenizer(answers)["input_ids"])
    assert report.held_out_tokens <= longest * report.held_out_rows


def test_alpha_0_needs_no_teacher_to_learn(texts: Path, tmp_path: Path) -> None:
    distill.run(**few_steps(texts, tmp_path / "run", alpha=0.0, steps=2))
    for record in records(tmp_path / "run", "learning_rate"):
        assert record["loss"] == pytest.approx(record["cross_entropy"], rel=1e-6)


def test_sar_trains_routers_and_leaves_the_teacher_as_it_was(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = embedded.TEACHER / "model.safetensors"
    before = file.read_bytes()
    more = {"router": "sar", "steps": 3, "max_tokens": 32, "max_new_tokens": 8}
    report = distill.run(**few_steps(texts, tmp_path / "run", **more))
    assert file.read_bytes() == before
    said = capsys.readouterr().out
    assert "Routers: 4 layers with 8 experts, 2 active" in said
    assert re.search(
        r"Teacher on the held-out rows: ppl [\d.]+ with 2 experts per token, [\d.]+", said
    )
    assert "0 cross entropy + 1 KL(student ‖ teacher)" in said
    steps = records(tmp_path / "run", "router_divergence")
    assert len(steps) == 3
    assert all(record["on_policy"] for record in steps)
    assert all(record["router_norm"] > 0 for record in steps)
    # Whatever the routers were trained to, the teacher that judges is the one that was loaded.
    scores = records(tmp_path / "run", "perplexity")
    assert len({record["teacher_cross_entropy"] for record in scores}) == 1
    assert report.updates == 3


@pytest.mark.slow
def test_ka_takes_two_updates_and_compares_with_as_many(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    more = {"router": "ka", "compare": True, "steps": 3, "max_tokens": 32, "max_new_tokens": 8}
    report = distill.run(**few_steps(texts, out, **more))
    assert report.updates == 6
    assert report.baseline is not None
    assert report.baseline["updates"] == 6
    settings = json.loads((out / "baseline" / "settings.json").read_text())
    assert (settings["router"], settings["updates"], settings["on_policy"]) == ("none", 2, 1.0)
    assert settings["objective"] == "reverse-kl"
    assert report.baseline["cross_entropy_before"] == report.cross_entropy_before
    assert "same number of updates (6)" in capsys.readouterr().out


def test_a_dense_teacher_has_no_router_and_teaches_all_the_same(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"teacher_model": "embedded", "router": "sar", "steps": 2}
    distill.run(**few_steps(texts, tmp_path / "run", **more))
    said = capsys.readouterr().out
    assert "`embedded` is a dense model without routers" in said
    assert "KL(teacher ‖ student) at temperature 2" in said
    assert not any(record["on_policy"] for record in records(tmp_path / "run", "learning_rate"))


@pytest.mark.slow
def test_a_cache_stands_in_for_the_teacher(
    texts: Path, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    made = distill.run(**few_steps(texts, tmp_path / "one", cache_teacher=cache, top_k=1536))
    loaded: list[object] = []
    monkeypatch.setattr(distill_teacher, "load_teacher", lambda *given: loaded.append(given))
    again = distill.run(**few_steps(texts, tmp_path / "two", cache_teacher=cache, top_k=1536))
    assert loaded == []
    assert again.teacher_passes == 0
    assert (
        records(tmp_path / "one", "loss")[-1]["loss"]
        == (records(tmp_path / "two", "loss")[-1]["loss"])
    )
    assert made.cross_entropy == again.cross_entropy
    whole = RunFolder(plain, "distill").read_report_as(DistillReport)
    assert again.teacher_cross_entropy == pytest.approx(whole.teacher_cross_entropy, rel=1e-4)
    assert again.cross_entropy == pytest.approx(whole.cross_entropy, rel=1e-3)
    assert again.divergence == pytest.approx(whole.divergence, rel=1e-2)
    few = distill.run(**few_steps(texts, tmp_path / "few", cache_teacher=cache, top_k=16))
    assert few.divergence < whole.divergence_before
    words = [f"--{name}={value}" for name, value in few_steps(texts, tmp_path / "x").items()]
    assert main(["distill", *words, f"--cache-teacher={cache}", "--temperature=3"]) == 1


@pytest.mark.slow
def test_a_teacher_on_disk_teaches_the_same_to_the_bit(
    texts: Path, plain: Path, tmp_path: Path
) -> None:
    report = distill.run(**few_steps(texts, tmp_path / "run", offload_teacher="disk"))
    names = ("loss", "gradient_norm", "cross_entropy", "divergence")
    one, other = records(tmp_path / "run", "loss"), records(plain, "loss")
    assert [[r[n] for n in names] for r in one] == [[r[n] for n in names] for r in other]
    whole = RunFolder(plain, "distill").read_report_as(DistillReport)
    assert report.teacher_passes == whole.teacher_passes > 6


def padded(tmp_path: Path, rows: int) -> Path:
    """The embedded student with rows behind its tokens that stand for nothing."""
    place = tmp_path / "padded"
    model: Any = AutoModelForCausalLM.from_pretrained(embedded.STUDENT, dtype=torch.float32)
    model.resize_token_embeddings(1536 + rows, mean_resizing=False)
    with torch.no_grad():
        # Logits of these rows win where they are not left out.
        model.get_input_embeddings().weight[1536:] = 5.0
    model.save_pretrained(place)
    AutoTokenizer.from_pretrained(embedded.STUDENT).save_pretrained(place)
    return place


def test_rows_that_fill_up_a_head_are_left_out(
    texts: Path, plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    student = str(padded(tmp_path, 64))
    distill.run(**few_steps(texts, tmp_path / "run", student_model=student))
    assert "teacher's head (1,536 rows) and of the student's (1,600 rows)" in (
        capsys.readouterr().out
    )
    one, other = records(tmp_path / "run", "loss"), records(plain, "loss")
    for few, many in zip(one, other, strict=True):
        assert few["loss"] == pytest.approx(many["loss"], rel=1e-4)


def test_one_failing_batch_of_an_evaluation_ends_the_run(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[object] = []

    def fails(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 5:  # the second of three batches of the evaluation after step 3
            raise RuntimeError("view size is not compatible")
        return compared(*given)

    monkeypatch.setattr(distill_judge, "compared", fails)
    out = tmp_path / "run"
    words = [f"--{name}={value}" for name, value in few_steps(texts, out).items()]
    assert main(["distill", *words]) == 1
    said = capsys.readouterr()
    assert "Batch 2 of 3 of the held-out rows could not be evaluated" in " ".join(said.err.split())
    assert [record["step"] for record in records(out, "perplexity")] == [0]
    assert "view size is not compatible" in said.err + said.out
    assert not (out / "report.json").exists()
