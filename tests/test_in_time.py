"""What is certain is printed while a run goes on, and can end it."""

import time
from pathlib import Path

import pytest

from running import surefit_run, written
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.measures.saving import LiveState, SavingSeen
from surefit.doctor.observations import Process, Steps
from surefit.doctor.recording import Recording
from surefit.laws.in_time import InTime

GOES_ON = """
    import time
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ended = time.monotonic() + {seconds}
    kept = None
    step = 0
    try:
        while time.monotonic() < ended:
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.arange(8) % 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == 5:
                kept = model.state_dict()
            if step == 20:
                model.load_state_dict(kept)
                print("restored", flush=True)
            time.sleep(0.01)
    finally:
        print("cleaned up", flush=True)
    print("came to its end")
    """
HEAD = "── error: state-dict-not-copied "


@pytest.mark.slow
def test_a_run_is_ended_where_an_error_is_certain(tmp_path: Path) -> None:
    script = written(tmp_path, script=GOES_ON.format(seconds=300))
    began = time.monotonic()
    ran = surefit_run([script.name], tmp_path, ["--no-proof", "--stop-on", "error"])
    assert time.monotonic() - began < 200
    assert ran.code == 1
    assert ran.out.splitlines() == ["restored", "cleaned up"]
    assert ran.rules() == ["state-dict-not-copied"]
    assert ran.err.count(HEAD) == 1
    ended = "surefit: stopped at the first certain error (--stop-on)"
    assert ran.err.index(HEAD) < ran.err.index("KeyboardInterrupt") < ran.err.index(ended)
    assert ran.err.count("script.py:18: error state-dict-not-copied: ") == 1
    assert ran.document["ended"] == {"code": 1, "exception": None}


@pytest.mark.slow
def test_it_is_printed_once_and_the_run_goes_on(tmp_path: Path) -> None:
    script = written(tmp_path, script=GOES_ON.format(seconds=20))
    ran = surefit_run([script.name], tmp_path, ["--no-proof"])
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "came to its end")
    assert ran.err.count(HEAD) == 1
    assert ran.err.index(HEAD) < ran.err.index("surefit: laws: ")


LIVE = LiveState(
    how="loaded",
    model="Net",
    taken_at=Place("a.py", 8),
    taken_step=1,
    used_at=Place("a.py", 9),
    used_step=2,
    tensors=2,
    changed=2,
)


def recorded(steps: int, *live: LiveState) -> Recording:
    trained = Steps(Process(), steps, 1.0, 0, {}, ((0, 1.0),), backwards=steps)
    return Recording([trained, SavingSeen(process=Process(), state_dicts=1, live=live)])


def test_what_is_met_at_two_looks_is_told_once() -> None:
    shown: list[Finding] = []
    in_time = InTime(shown.extend)
    assert not in_time.news(recorded(2))
    assert not in_time.news(recorded(10, LIVE))
    assert not in_time.news(recorded(10, LIVE))
    assert shown == []
    assert not in_time.news(recorded(100, LIVE))
    assert not in_time.news(recorded(200, LIVE))
    assert [finding.rule for finding in shown] == ["state-dict-not-copied"]
    assert in_time.was_said(shown[0])


@pytest.mark.parametrize(
    ("stop_on", "ends"), [(None, False), (Severity.ERROR, True), (Severity.WARNING, True)]
)
def test_what_ends_a_run(stop_on: Severity | None, ends: bool) -> None:
    in_time = InTime(lambda _: None, stop_on)
    assert not in_time.news(recorded(10, LIVE))
    assert in_time.news(recorded(100, LIVE)) == ends
