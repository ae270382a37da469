"""The recipe end to end, on a few rows: what it prints, writes and gives back."""

import json
import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file

from surefit import embedded
from surefit.cli import main
from surefit.errors import BadInput
from surefit.losses.next_token import NextTokenLoss
from surefit.models.load import find_model, load_model, load_tokenizer
from surefit.recipes import sft
from surefit.recipes.sft_settings import LoraSft
from surefit.recipes.token_rows import part_rows, tokenize_rows
from surefit.render.page.left_behind import LeftBehind
from surefit.train import arithmetic
from surefit.train.record import Report, RunFolder


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The first 40 embedded rows."""
    file = tmp_path / "rows.jsonl"
    with embedded.ROWS.open() as source:
        file.write_text("".join(islice(source, 40)))
    return file


def few_steps(rows: Path, out: Path, **more: object) -> LoraSft:
    names: dict[str, object] = {"epochs": 2, "generate_batch_size": 4, "max_new_tokens": 4, **more}
    return LoraSft(data=str(rows), out=out, **names)  # type: ignore[arg-type]


def records(out: Path, name: str) -> list[dict[str, float]]:
    return [record for record in RunFolder(out).metrics() if name in record]


def test_a_run_leaves_a_folder_that_peft_loads(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    report = sft.train(few_steps(rows, out))

    assert (report.epochs, report.steps, report.training_rows, report.held_out_rows) == (
        2,
        18,
        36,
        4,
    )
    assert [record["step"] for record in records(out, "loss")] == list(range(1, 19))
    assert [record["epoch"] for record in records(out, "f1")] == [0, 1, 2]
    assert report.f1 == max(record["f1"] for record in records(out, "f1")[1:])
    for epoch in range(3):
        assert len(RunFolder(out).predictions(epoch)) == 4
    base = load_model(find_model("embedded"))
    loaded = PeftModel.from_pretrained(base, str(out / "adapter"))
    adapters = [p for name, p in loaded.named_parameters() if "lora_B" in name]
    assert adapters
    assert all(bool((p != 0).any()) for p in adapters)
    assert json.loads((out / "report.json").read_text())["f1"] == report.f1
    left = LeftBehind(out)
    assert left.data is not None
    assert [sum(lengths.counts) for lengths in left.data.lengths] == [36, 4]
    assert left.data.supervised_share is not None
    assert {fact.name for fact in left.data.fingerprints} == {"settings", "rows", "model"}
    assert "on 4 held-out rows" in (out / "report.html").read_text()


def test_validation_loss_and_speed_are_recorded(rows: Path, tmp_path: Path) -> None:
    """The loss is a mean over tokens, as the model itself has it row by row."""
    out = tmp_path / "run"
    settings = few_steps(rows, out, epochs=1, evaluate_every=4, batch_size=3)
    report = sft.train(settings)
    scores = records(out, "validation_loss")
    assert [(record["step"], record.get("epoch")) for record in scores] == [
        (0, 0), (4, None), (8, None), (12, 1)
    ]  # fmt: skip
    model = PeftModel.from_pretrained(load_model(find_model("embedded")), str(out / "adapter"))
    train_set, held_out = tokenize_rows(
        settings, part_rows(settings), "plain", load_tokenizer(find_model("embedded"))
    )
    total, places = 0.0, 0
    for row in held_out.tokens:
        with torch.no_grad():
            ids, labels = torch.tensor([row.ids]), torch.tensor([row.labels])
            total += float(model(input_ids=ids, labels=labels).loss) * row.supervised
        places += row.supervised
    assert report.validation_loss == pytest.approx(total / places, rel=1e-5)
    assert report.validation_loss == scores[-1]["validation_loss"]
    steps = records(out, "tokens_per_second")
    assert sum(record["tokens"] for record in steps) == train_set.lengths.sum()
    for record in steps:
        ratio = record["tokens_per_second"] / record["supervised_tokens_per_second"]
        assert ratio == pytest.approx(record["tokens"] / record["supervised_tokens"])
    assert report.pace is not None
    seconds = sum(record["seconds"] for record in steps)
    assert report.pace.tokens_per_second * seconds == pytest.approx(train_set.lengths.sum())
    assert report.pace.peak_memory > 1e8


def test_same_seed_same_bits_other_seed_other_bits(rows: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        settings = few_steps(
            rows, tmp_path / name, seed=seed, epochs=1, max_steps=3, evaluate_before=False
        )
        sft.train(settings)
    a, b, c = (load_file(tmp_path / n / "adapter/adapter_model.safetensors") for n in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert any(not torch.equal(a[name], c[name]) for name in a)


def test_the_sources_flags_print_the_sources_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1000 rows, factor 3: 2700 to train on, 100 to validate on, 675 steps an epoch."""
    monkeypatch.chdir(tmp_path)
    flags = "--epochs 10 --augmentation_factor 3 --lora_r 16 --batch_size 4 --max_seq_length 512"
    code = main(["sft", *flags.split(), "--max-steps", "1", "--held_out", "0.1",
                 "--no-evaluate-before", "--max-new-tokens", "1"])  # fmt: skip
    printed = capsys.readouterr().out
    assert code == 0
    assert "augmentation with factor 3" in printed
    assert "Original dataset size: 900" in printed
    assert "Augmented dataset size: 2700" in printed
    assert "Training on 2700 examples" in printed
    assert "Validating on 100 examples, not 300: they are held out before augmentation" in printed
    assert "Batches: 675 per epoch" in printed
    assert "Average F1 Score = " in printed
    assert (tmp_path / "runs/sft-1/adapter").is_dir()


def test_full_training_moves_every_weight(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sft.train(
        few_steps(rows, out, full=True, max_steps=4, learning_rate=1e-3, evaluate_before=False)
    )
    before = load_model(find_model("embedded")).state_dict()
    after = load_model(find_model(str(out / "model"))).state_dict()
    assert all(not torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_low_precision_keeps_fp32_weights(rows: Path, tmp_path: Path, precision: str) -> None:
    out = tmp_path / "run"
    sft.train(few_steps(rows, out, precision=precision, max_steps=3, evaluate_before=False))
    weights = load_file(out / "adapter/adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert all(math.isfinite(record["loss"]) for record in records(out, "loss"))


def test_a_measured_precision_is_that_of_the_run(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is measured when it goes on."""
    out, computed_in = tmp_path / "run", []
    forward = NextTokenLoss.forward

    def noting(*args: Any, **given: Any) -> torch.Tensor:
        lower = torch.is_autocast_enabled("cpu")
        computed_in.append(torch.get_autocast_dtype("cpu") if lower else torch.float32)
        return forward(*args, **given)

    monkeypatch.setattr(arithmetic, "times_as_fast_in_bf16", lambda *_, **__: 3.0)
    sft.train(few_steps(rows, out, max_steps=2, evaluate_before=False))
    assert json.loads((out / "settings.json").read_text())["precision"] == "bf16"

    monkeypatch.setattr(arithmetic, "times_as_fast_in_bf16", lambda *_, **__: 0.5)
    monkeypatch.setattr(NextTokenLoss, "forward", noting)
    sft.run(resume=out, max_steps=4)
    assert [record["step"] for record in records(out, "loss")] == [1, 2, 3, 4]
    assert set(computed_in[-2:]) == {torch.bfloat16}


def test_gradient_checkpointing_gives_the_same_losses(rows: Path, tmp_path: Path) -> None:
    losses = []
    for name, checkpointing in (("a", False), ("b", True)):
        settings = few_steps(
            rows,
            tmp_path / name,
            gradient_checkpointing=checkpointing,
            max_steps=4,
            evaluate_before=False,
        )
        sft.train(settings)
        losses.append([record["loss"] for record in records(tmp_path / name, "loss")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_packing_batches_and_accumulation_take_the_same_steps(rows: Path, tmp_path: Path) -> None:
    """However the rows of a step are laid out, its loss and its gradient are the same."""
    layouts: dict[str, dict[str, object]] = {
        "padded": {"batch_size": 8},
        "packed": {"batch_size": 8, "packing": True, "pack_tokens": 64},
        "accumulated": {"batch_size": 2, "rows_per_step": 8, "bucket": False},
        "one batch": {"batch_size": 8, "bucket": False},
    }
    taken = {}
    for name, layout in layouts.items():
        settings = few_steps(
            rows, tmp_path / name, max_steps=4, held_out=0.0, evaluate_before=False, **layout
        )
        sft.train(settings)
        taken[name] = records(tmp_path / name, "loss")
    for one, other in (("padded", "packed"), ("one batch", "accumulated")):
        for column in ("loss", "gradient_norm", "supervised_tokens"):
            assert [record[column] for record in taken[other]] == pytest.approx(
                [record[column] for record in taken[one]], rel=1e-5
            ), (one, other, column)


def test_early_stopping_ends_a_run_that_does_not_gain(rows: Path, tmp_path: Path) -> None:
    """With a learning rate of almost nothing no answer changes, so F1 never rises after epoch 1."""
    out = tmp_path / "run"
    report = sft.train(
        few_steps(rows, out, epochs=5, early_stopping=1, learning_rate=1e-7, evaluate_before=False)
    )
    assert (report.epochs, report.best_epoch) == (2, 2)  # of equals the later


def test_several_processes_are_refused(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["sft", "--data", str(rows), "--out", str(tmp_path / "run")]) == 2
    assert "launched with 2 processes" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_default_learns(tmp_path: Path) -> None:
    """`surefit sft` without flags, as a stranger runs it."""
    report = sft.train(LoraSft(out=tmp_path / "run"))
    assert report.f1_before is not None
    assert report.f1 is not None
    assert report.f1_before < 0.2
    assert report.f1 > 0.8


def test_a_run_that_is_dead_is_ended_with_the_reason(rows: Path, tmp_path: Path) -> None:
    settings = few_steps(
        rows, tmp_path / "dead", max_steps=40, learning_rate=50.0, evaluate_before=False
    )
    with pytest.raises(BadInput) as caught:
        sft.train(settings)
    (finding,) = caught.value.findings
    assert finding.rule in ("gradients-all-zero", "loss-stays-uniform")
    assert any("lower `--learning-rate`" in fix.text for fix in finding.fixes)


@pytest.mark.parametrize(
    ("before", "after", "steps", "refused"),
    [(0.25, 0.25, 100, True), (0.0, 0.0, 100, True), (0.25, 0.5, 100, False)]
    + [
        (1.0, 1.0, 100, False),
        (0.25, 0.25, 5, False),
        (0.5, 0.25, 100, True),
        (None, 0.25, 100, False),
    ],
)
def test_a_score_that_did_not_move_is_no_success(
    before: float | None, after: float, steps: int, refused: bool
) -> None:
    report = Report(
        folder="runs/sft-1", trained="adapter", epochs=1, steps=steps, loss=1.0, seconds=1.0,
        training_rows=10, held_out_rows=4, best_epoch=1, f1_before=before, f1=after,
        exact_match=0.0,
    )  # fmt: skip
    findings = sft._nothing_gained(report)
    assert [finding.rule for finding in findings] == ["nothing-gained"] * refused
    likelier = replace(report, validation_loss_before=2.0, validation_loss=1.0)
    assert not sft._nothing_gained(likelier)
    less_likely = replace(report, validation_loss_before=1.0, validation_loss=2.0)
    assert [finding.rule for finding in sft._nothing_gained(less_likely)] == [
        "nothing-gained"
    ] * refused
