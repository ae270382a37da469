"""Every form of log becomes the same series."""

import json
import math
from pathlib import Path

import pytest

from surefit.logs.reading import newest_log, read_events, read_log
from surefit.logs.series import Role, Series, TrainingLog

LINES = {
    "dictionaries": "{'loss': 0.9, 'grad_norm': 1.5, 'epoch': 1.0}\n{'loss': nan, 'epoch': 2.0}\n",
    "texts": "{'loss': '0.9', 'epoch': '1.0'}\nnoise\n{'loss': 'nan', 'epoch': '2.0'}\n",
    "json": '{"loss": 0.9, "epoch": 1}\n{"loss": NaN, "epoch": 2}\n',
    "equals": "epoch=1 loss=0.9 lr=1e-3\nepoch=2 loss=nan lr=1e-3\n",
    "words": "Epoch 1/2: train loss 0.9, val acc 52.0%\nEpoch 2/2: train loss nan, val acc 53%\n",
    "bar": "Epoch 1:  50%|##  | 5/10 [00:01<00:01, 4it/s]\rEpoch 1: 100%|####| 10/10 [00:02,"
    " v_num=0, loss=0.9]\nEpoch 2: 100%|####| 10/10 [00:02, v_num=0, loss=nan]\n",
    "logging": "2026-01-02 03:04:05,678 INFO trainer: [epoch 1] loss: 0.9\n"
    "2026-01-02 03:04:06,678 INFO trainer: [epoch 2] loss: nan\n",
}


def losses_of(log: TrainingLog) -> Series:
    (series,) = log.of(Role.LOSS, evaluation=False)
    return series


@pytest.mark.parametrize("form", LINES)
def test_lines(form: str) -> None:
    losses = losses_of(read_log(LINES[form], "train.log"))
    assert losses.values[0] == 0.9
    assert math.isnan(losses.values[1])
    assert [point.epoch for point in losses.points] == [1, 2]


def test_words_and_percents() -> None:
    log = read_log(LINES["words"], "train.log")
    (scores,) = log.of(Role.SCORE, evaluation=True)
    assert scores.name == "val acc"
    assert scores.values == pytest.approx([0.52, 0.53])


def test_numbers_without_a_name_of_training_are_passed_over() -> None:
    text = "loaded 512 rows\nworkers: 4\nport 8080 open\nserver 10.0.0.3\n" * 3
    assert read_log(text, "a.log").series == ()


def test_the_state_of_a_trainer() -> None:
    history = [
        {"loss": 2.0, "learning_rate": 1e-3, "epoch": 0.5, "step": 10},
        {"eval_loss": 1.9, "epoch": 0.5, "step": 10},
        {"loss": 1.0, "learning_rate": 5e-4, "epoch": 1.0, "step": 20},
        {"eval_loss": 1.5, "epoch": 1.0, "step": 20},
    ]
    text = json.dumps({"log_history": history, "max_steps": 20, "best_metric": None})
    log = read_log(text, "trainer_state.json")
    assert (log.kind, log.planned, log.steps) == ("Trainer state", 20, 20)
    assert [point.step for point in losses_of(log).points] == [10, 20]
    (evaluation,) = log.of(Role.LOSS, evaluation=True)
    assert evaluation.values == [1.9, 1.5]


def test_a_table_with_empty_cells() -> None:
    text = "epoch,step,train_loss,val_loss\n0,9,1.5,\n0,9,,1.2\n1,19,0.5,\n1,19,,0.7\n"
    log = read_log(text, "metrics.csv")
    assert losses_of(log).values == [1.5, 0.5]
    assert [series.values for series in log.of(Role.LOSS, evaluation=True)] == [[1.2, 0.7]]


def test_events_of_tensorboard(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step, value in enumerate((3.0, 2.0, float("inf"))):
            writer.add_scalar("train/loss", value, step)
    found = newest_log(tmp_path)
    assert found is not None
    losses = losses_of(read_events(found))
    assert losses.values == [3.0, 2.0, math.inf]
    assert [point.step for point in losses.points] == [0, 1, 2]


def test_the_newest_log_of_a_folder(tmp_path: Path) -> None:
    assert newest_log(tmp_path) is None
    for step in (10, 20):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text("{}")
    (tmp_path / "metrics.csv").write_text("")
    found = newest_log(tmp_path)
    assert found is not None
    assert found.name == "trainer_state.json"
