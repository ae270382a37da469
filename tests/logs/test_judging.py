"""What follows from the numbers of a log, and that healthy ones are left alone."""

import json
import math
import random
import re
import time
from pathlib import Path

import pytest

from surefit import cli
from surefit.logs.judging import judge
from surefit.logs.series import Point, Series, TrainingLog


def log_of(planned: int | None = None, **series: list[float]) -> TrainingLog:
    return TrainingLog(
        "train.log",
        "text",
        tuple(
            Series(name, tuple(Point(value, step) for step, value in enumerate(values, start=1)))
            for name, values in series.items()
        ),
        planned,
    )


def falling(count: int = 60, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [2.3 * math.exp(-step / 20) + 0.1 + draw.random() / 20 for step in range(count)]


def cosine(count: int = 60) -> list[float]:
    return [1e-3 * 0.5 * (1 + math.cos(math.pi * step / (count - 1))) for step in range(count)]


FAULTY = {
    "log-not-finite": log_of(loss=[*falling(20), math.nan, math.nan]),
    "log-constant": log_of(loss=[math.log(10)] * 30, grad_norm=[0.0] * 30),
    "log-repeats-itself": log_of(train_loss=[0.71, 0.69, 0.7] * 5),
    "log-diverges": log_of(loss=[*falling(40), *(0.3 * 1.2**step for step in range(25))]),
    "log-placeholder": log_of(loss=falling(), eval_ppl=[10000.0] * 4),
    "log-better-than-possible": log_of(loss=falling(), val_perplexity=[0.4, 0.3]),
    "log-rate-ended-early": log_of(loss=falling(), lr=[2e-3 * 0.5**step for step in range(60)]),
    "log-evaluation-stands-still": log_of(loss=falling(), val_acc=[0.25] * 5),
}


@pytest.mark.parametrize("rule", FAULTY)
def test_each_fault_is_named_alone(rule: str) -> None:
    assert [finding.rule for finding in judge(FAULTY[rule])] == [rule]


def test_words_of_a_constant_loss_at_chance() -> None:
    (finding,) = judge(FAULTY["log-constant"])
    assert finding.headline == ("`loss` is 2.30259 at every one of 30 entries: nothing is learned.")
    assert {fact.name: fact.value for fact in finding.facts}["grad_norm"] == "0 to 0"
    assert any(fact.name == "ln 10" for fact in finding.facts)


def test_a_run_that_rose_before_it_broke_is_told_from_one_that_did_not() -> None:
    (sudden,) = judge(log_of(loss=[1.0, 0.9, 0.8, math.nan]))
    (rising,) = judge(log_of(loss=[1.0, 0.9, 40.0, math.inf]))
    assert "one batch or one operation" in sudden.why
    assert "the run diverged" in rising.why


def test_a_zero_loss_is_no_result() -> None:
    (finding,) = judge(log_of(loss=[0.0] * 10))
    assert finding.headline == "`loss` is exactly 0 at 10 of 10 entries."


def test_a_warm_up_that_outlasts_the_run() -> None:
    rates = [1e-5 * step for step in range(1, 21)]
    (finding,) = judge(log_of(planned=20, loss=falling(20), learning_rate=rates))
    assert finding.why == "The warm-up is longer than the run."
    assert judge(log_of(planned=200, loss=falling(20), learning_rate=rates)) == []


HEALTHY = {
    "falls": log_of(loss=falling(), eval_loss=[1.0, 0.6, 0.4, 0.3], lr=cosine()),
    "converged": log_of(loss=[*falling(), *[0.1001, 0.1, 0.1002, 0.1]], val_acc=[1.0] * 6),
    "noisy": log_of(loss=[random.Random(seed).uniform(0.5, 2.5) for seed in range(80)]),
    "constant rate": log_of(loss=falling(), lr=[1e-3] * 60),
    "negative": log_of(loss=[-math.log(step + 1) for step in range(40)]),
    "adversarial": log_of(loss_g=[1 + 0.3 * math.sin(step) for step in range(60)]),
    "percent": log_of(loss=falling(), val_acc=[50.0, 80.0, 90.0, 91.0]),
    "overfits": log_of(loss=falling(), val_loss=[1.0, 0.8, 0.9, 1.4, 2.0]),
    "short": log_of(loss=[0.5, 0.5]),
    "decayed at the end": log_of(loss=falling(), lr=[*[1e-3] * 40, *[1e-7] * 20]),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_logs_are_left_alone(name: str) -> None:
    assert judge(HEALTHY[name]) == []


def test_through_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    healthy = tmp_path / "train.log"
    healthy.write_text("".join(f"step {n} loss {v:.4f}\n" for n, v in enumerate(falling())))
    assert cli.main(["explain", str(healthy)]) == 0
    assert "The log shows nothing wrong." in capsys.readouterr().out
    state = tmp_path / "trainer_state.json"
    history = [{"loss": 1.0986, "step": step} for step in range(10)]
    state.write_text(json.dumps({"log_history": history}))
    out = tmp_path / "findings.json"
    assert cli.main(["explain", str(state), "--json", str(out)]) == 1
    (finding,) = json.loads(out.read_text())["findings"]
    assert finding["rule"] == "log-constant"
    assert "ln 3" in capsys.readouterr().err
    empty = tmp_path / "runs"
    empty.mkdir()
    assert cli.main(["explain", str(empty)]) == 2


def test_a_long_log_is_judged_at_a_tenth_of_its_windows() -> None:
    """200,000 entries: with a median at every one of them it took minutes."""
    fell = [3.0 * math.exp(-step / 20_000) + 0.1 for step in range(100_000)]
    log = log_of(loss=[*fell, *(fell[-1] + step / 20_000 for step in range(100_000))])
    begun = time.process_time()
    (finding,) = judge(log)
    assert time.process_time() - begun < 20
    assert finding.rule == "log-diverges"
    around = re.search(r"around step ([\d,]+)", finding.headline)
    assert around is not None
    assert 90_000 < int(around[1].replace(",", "")) < 105_000
