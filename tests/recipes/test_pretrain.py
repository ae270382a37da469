"""Pretraining on features learns what can be learned, and goes on as if it had never stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

import preloaded
import surefit
from surefit.cli import main
from surefit.data.features.layout import Kind
from surefit.data.features.make import Source, make_features
from surefit.errors import BadInput, WrongCall
from surefit.models.features import FeatureModel
from surefit.recipes import pretrain
from surefit.recipes.pretrain_report import PretrainReport
from surefit.recipes.pretrain_settings import FeaturePretraining
from surefit.render.page.left_behind import LeftBehind
from surefit.settings import as_dict, from_names
from surefit.train.pace import without_pace
from surefit.train.record import RunFolder, start_run

STEPS, FEATURES, ROWS = 8, 12, 640


def made(folder: Path, kind: Kind) -> Path:
    source = Source(steps=STEPS, features=FEATURES, kind=kind, seed=0)
    make_features(folder, source, ROWS, 3, lambda _rows: None)
    return folder


@pytest.fixture(scope="module")
def one_hot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("data") / "one-hot", Kind.ONE_HOT)


def flags(data: Path, out: Path) -> dict[str, Any]:
    return {
        "data": str(data),
        "steps": STEPS,
        "features": FEATURES,
        "out": str(out),
        "epochs": 3,
        "batch_size": 64,
        "hidden_size": 32,
        "layers": 1,
        "heads": 2,
        "save_every": 4,
        "threads": 1,
    }


def report_of(out: Path) -> PretrainReport:
    return RunFolder(out, "pretrain").read_report_as(PretrainReport)


@pytest.mark.parametrize(
    ("kind", "causal", "epochs", "gap"),
    [
        (Kind.ONE_HOT, True, 12, 0.15),
        pytest.param(Kind.ONE_HOT, False, 30, 0.5, marks=pytest.mark.slow),
        pytest.param(Kind.MULTI_HOT, True, 20, 0.3, marks=pytest.mark.slow),
        pytest.param(Kind.CONTINUOUS, False, 30, 0.4, marks=pytest.mark.slow),
    ],
)
def test_it_comes_near_the_best_possible_loss(
    tmp_path: Path, kind: Kind, causal: bool, epochs: int, gap: float
) -> None:
    """`gap`: the share of the way from the untrained loss to the best possible that may be left."""
    data = made(tmp_path / "data", kind)
    more = {"epochs": epochs, "causal": causal, "learning_rate": 5e-3, "batch_size": 32}
    pretrain.run(**{**flags(data, tmp_path / "run"), **more})
    report = report_of(tmp_path / "run")
    best, before = report.best_possible, report.validation_loss_before
    assert best is not None
    assert before is not None
    assert report.validation_loss is not None
    assert best <= report.validation_loss < best + gap * (before - best)
    shown = LeftBehind(tmp_path / "run").data
    assert shown is not None
    supervised = 1 - 1 / STEPS if causal else 0.15
    assert shown.supervised_share == pytest.approx(supervised, abs=0.1)
    assert [len(row.spans) for row in shown.rows] == [STEPS] * 4
    assert "It learned" in (tmp_path / "run" / "report.html").read_text()


def test_a_run_that_gained_nothing_does_not_end_as_a_success(
    one_hot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what it measured within an epoch is in its metrics."""
    out = tmp_path / "run"
    asked = {**flags(one_hot, out), "epochs": 1, "batch_size": 16, "evaluate_every": 20}
    assert main(["pretrain", *words_of(asked | {"learning_rate": 1.5})]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "nothing-gained" in said
    assert "The validation loss is" in said
    scores = [record for record in RunFolder(out).metrics() if "validation_loss" in record]
    assert [record["step"] for record in scores] == [0, 20, 36]
    report = report_of(out)
    assert report.validation_loss is not None
    assert report.validation_loss_before is not None
    assert report.validation_loss >= report.validation_loss_before
    assert main(["pretrain", "--resume", str(out)]) == 1, "nor does it when it is asked again"
    assert "nothing-gained" in capsys.readouterr().err
    assert report.pace is not None


def test_it_gives_back_four_values_and_loads_back(one_hot: Path, tmp_path: Path) -> None:
    model, train_loss, validation_loss, seconds = surefit.pretrain(**flags(one_hot, tmp_path / "r"))
    report = report_of(tmp_path / "r")
    assert (train_loss, validation_loss) == (report.train_loss, report.validation_loss)
    assert seconds > 0
    again: Any = FeatureModel.from_pretrained(report.trained)
    rows = torch.from_numpy(np.load(one_hot / "part-00000.npy")[:3])
    torch.testing.assert_close(again.eval()(rows), model.eval()(rows))
    assert again.config.layout.shape == (STEPS, FEATURES)


def test_it_is_scored_on_a_folder(
    one_hot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loss and the accuracy of next steps, as counted by hand over all rows."""
    out, page = tmp_path / "run", tmp_path / "page.json"
    model = surefit.pretrain(**flags(one_hot, out), causal=True)[0].eval()
    assert main(["eval", str(out), str(one_hot), "--json", str(page)]) == 0
    parts = [np.load(file) for file in sorted(one_hot.glob("part-*.npy"))]
    rows = torch.from_numpy(np.concatenate(parts)).float()
    with torch.no_grad():
        said = model.head(model(rows))[:, :-1].flatten(0, 1)
    targets = rows[:, 1:].argmax(-1).flatten()
    found = json.loads(page.read_text())["score"]
    assert (found["rows"], found["steps"]) == (ROWS, ROWS * (STEPS - 1))
    assert found["loss"] == pytest.approx(float(F.cross_entropy(said, targets)), rel=1e-4)
    assert found["accuracy"] == pytest.approx(float((said.argmax(-1) == targets).double().mean()))
    assert "accuracy" in capsys.readouterr().out
    assert main(["ask", str(out), "Who?"]) == 1
    assert "surefit eval" in capsys.readouterr().err


def test_the_projection_is_trained(one_hot: Path, tmp_path: Path) -> None:
    once = {"max_steps": 1, "warmup": 0.0, "learning_rate": 1e-5}
    untrained = surefit.pretrain(**{**flags(one_hot, tmp_path / "a"), **once})[0]
    trained = surefit.pretrain(**flags(one_hot, tmp_path / "b"))[0]
    moved = (trained.projection.weight - untrained.projection.weight).abs()
    assert moved.mean() > 1e-3
    assert (trained.mask - untrained.mask).abs().mean() > 1e-3


def test_a_finished_run_is_extended(one_hot: Path, tmp_path: Path) -> None:
    """Also where steps, and not epochs, ended it in the middle of an epoch."""
    out = tmp_path / "run"
    pretrain.run(**flags(one_hot, out) | {"max_steps": 4})
    pretrain.run(resume=out, max_steps=11)
    folder = RunFolder(out, "pretrain")
    assert [record["step"] for record in folder.metrics() if "loss" in record] == [*range(1, 12)]
    assert [segment["from_step"] for segment in folder.segments()] == [0, 4]
    assert report_of(out).steps == 11
    with pytest.raises(WrongCall) as refused:
        pretrain.run(resume=out, epochs=9)
    assert refused.value.findings[0].rule == "run-not-extended"


def test_a_model_of_ones_own_is_trained_in_place(one_hot: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    own: Any = BertModel(
        BertConfig(
            vocab_size=30,
            hidden_size=24,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=STEPS,
        )
    )
    before = own.encoder.layer[0].output.dense.weight.detach().clone()
    words = own.embeddings.word_embeddings.weight.detach().clone()
    given = flags(one_hot, tmp_path / "run")
    model, *_ = surefit.pretrain(own, surefit.FeaturePretraining(**_typed(given)))
    assert model.encoder is own
    assert not torch.equal(own.encoder.layer[0].output.dense.weight, before)
    assert torch.equal(own.embeddings.word_embeddings.weight, words)


def _typed(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "out": Path(given["out"])}


def test_a_model_of_another_layout_is_refused(one_hot: Path, tmp_path: Path) -> None:
    model = surefit.pretrain(**{**flags(one_hot, tmp_path / "a"), "max_steps": 1})[0]
    other = tmp_path / "other"
    source = Source(steps=STEPS, features=FEATURES + 1, kind=Kind.ONE_HOT, seed=0)
    make_features(other, source, 100, 1, lambda _rows: None)
    given = {**flags(other, tmp_path / "b"), "features": FEATURES + 1}
    with pytest.raises(BadInput) as refused:
        pretrain.run(model, surefit.FeaturePretraining(**_typed(given)))
    assert refused.value.findings[0].rule == "model-of-another-layout"
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("words", "name", "code"),
    [
        (["--hidden-size", "30", "--heads", "4"], "SF061", 2),
        (["--encoder", "bertt"], "SF060", 2),
        (["--encoder", "t5"], "SF068", 1),
        (["--mask", "2"], "SF003", 2),
        (["--max-memory-gb", "0"], "SF003", 2),
    ],
)
def test_bad_settings_leave_nothing_behind(
    one_hot: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    name: str,
    code: int,
) -> None:
    out = tmp_path / "run"
    where = ["--data", str(one_hot), "--steps", str(STEPS), "--features", str(FEATURES)]
    assert main(["pretrain", *where, "--out", str(out), *words]) == code
    assert name in capsys.readouterr().err
    assert not out.exists()


def test_a_run_of_another_recipe_does_not_go_on(
    one_hot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    pretrain.run(**{**flags(one_hot, out), "max_steps": 1})
    (out / "report.json").unlink()
    assert main(["sft", "--resume", str(out)]) == 1
    assert "holds a run of `surefit pretrain`" in " ".join(capsys.readouterr().err.split())


def test_a_file_cut_short_while_training_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = made(tmp_path / "data", Kind.ONE_HOT)
    unbroken, out = tmp_path / "unbroken", tmp_path / "run"
    pretrain.run(**flags(data, unbroken))
    file = data / "part-00001.npy"
    whole, before = file.read_bytes(), file.stat()
    add_step = RunFolder.add_step

    def then_cut(folder: RunFolder, progress: Any, *values: Any, **more: Any) -> None:
        add_step(folder, progress, *values, **more)
        if progress.step == 3:
            file.write_bytes(whole[: len(whole) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "add_step", then_cut)
        assert main(["pretrain", *words_of(flags(data, out))]) == 1
    assert "part-00001.npy" in capsys.readouterr().err
    reached = max(record["step"] for record in RunFolder(out).metrics())
    assert list((out / "checkpoints").glob(f"step-{reached:07d}"))
    file.write_bytes(whole)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    pretrain.run(resume=out)
    assert without_pace(RunFolder(out).metrics()) == without_pace(RunFolder(unbroken).metrics())


def test_a_row_that_is_not_finite_is_named_and_no_step_is_made_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = made(tmp_path / "data", Kind.CONTINUOUS)
    file = data / "part-00001.npy"
    rows = np.load(file)
    rows[77, 3, 5] = np.nan
    before = file.stat().st_mtime_ns
    np.save(file, rows)
    os.utime(file, ns=(before, before))  # as a write that nobody declared
    out = tmp_path / "run"
    settings = {**flags(data, out), "held_out": 0.0, "mask": 0.9}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefit.data.features.loaders.MOST_SAMPLED", 12)  # it is not in the sample
        assert main(["pretrain", *words_of(settings)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "`part-00001.npy` holds nan in row 77, step 3, feature 5" in said
    done = max((record["step"] for record in RunFolder(out).metrics()), default=0)
    assert done < 9
    assert done == 0 or list((out / "checkpoints").glob(f"step-{done:07d}"))


def words_of(names: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in names.items()]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "model" / "model.safetensors")


def start(*words: str, launcher: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    python = sys.executable if launcher else preloaded.python()
    return subprocess.Popen(
        [python, *launcher, "-m", "surefit", "pretrain", "--quiet", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_killed_in_mid_epoch_it_ends_as_if_never_stopped(one_hot: Path, tmp_path: Path) -> None:
    given = {**flags(one_hot, tmp_path / "run"), "batch_size": 16, "dropout": 0.1}
    unbroken = tmp_path / "unbroken"
    pretrain.run(**{**given, "out": str(unbroken)})
    out = tmp_path / "run"
    process = start(*words_of(given))
    while not any(record["step"] >= 45 for record in RunFolder(out).metrics()):
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    pretrain.run(resume=out)
    assert without_pace(RunFolder(out).metrics()) == without_pace(RunFolder(unbroken).metrics())
    one, other = weights(out), weights(unbroken)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_killed_before_its_order_of_rows_was_written_it_begins_again(
    one_hot: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    asked = from_names(FeaturePretraining, {**flags(one_hot, out), "epochs": 1})
    start_run(out, as_dict(asked), "pretrain")
    pretrain.run(resume=out)
    assert report_of(out).steps == 9
    assert (out / "order.json").exists()


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(one_hot: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    pretrain.run(**flags(one_hot, alone))
    together = tmp_path / "together"
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    process = start(*words_of({**flags(one_hot, together), "batch_size": 32}), launcher=launcher)
    said = process.communicate()[1].decode()
    assert process.returncode == 0, said
    one, other = RunFolder(alone).metrics(), RunFolder(together).metrics()
    assert [record.keys() for record in one] == [record.keys() for record in other]
    for first, second in zip(one, other, strict=True):
        for name in first.keys() & {"loss", "validation_loss", "train_loss"}:
            assert first[name] == pytest.approx(second[name], rel=1e-3)
        assert first.get("supervised_tokens") == second.get("supervised_tokens")
