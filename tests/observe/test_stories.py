"""A second run knows its questions again, answers them, and ends there."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import forked
from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question
from surefit.doctor.recording import Recording, read
from surefit.observe.inside import boot
from surefit.observe.inside.stories import stories
from surefit.observe.inside.stories.stories import Asked, Stories

BOOT = Path(next(iter(boot.__path__)))


FRAME = Frame(Place("/copy/train.py", 7), "loss", own=True)
CRASH = Crash("9-1", 1.0, Process(9), "RuntimeError", "RuntimeError: no", (FRAME, FRAME))
QUESTION = Question("lineage", "4-1", {"frame": 0, "text": "labels"})


def test_a_crash_is_known_again_by_its_kind_and_line() -> None:
    asked = Asked(
        QUESTION, "RuntimeError", raised=("loss", "train.py", 7), frame=("loss", "train.py", 7)
    )
    assert asked.is_about(CRASH)
    assert asked.here(CRASH).about == {"frame": 1, "text": "labels"}
    assert not Asked(QUESTION, "ValueError", raised=("loss", "train.py", 7)).is_about(CRASH)
    assert not Asked(QUESTION, "RuntimeError", raised=("loss", "train.py", 8)).is_about(CRASH)
    assert not Asked(QUESTION, "RuntimeError", True, ("loss", "train.py", 7)).is_about(CRASH)


def test_a_run_ends_after_the_last_step_that_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    asked = Stories([Asked(QUESTION)], until_step=1)
    asked.stepped()
    assert not ended
    asked.stepped()
    assert ended == [0]


CRASHING = """
import torch
def loss(model, labels):
    shifted = labels[:, 1:]
    return model(shifted.float()).sum() + shifted.view(-1).sum()
model, batch = torch.nn.Linear(3, 1), torch.arange(12).reshape(3, 4)
{call}
print("went on")
"""
SWALLOWING = """try:
    loss(model, batch)
except Exception:
    pass"""


def run(script: Path, questions: list[dict[str, Any]], spool: Path) -> tuple[Recording, str]:
    asked = {"until_step": None, "questions": questions}
    environment = {
        **os.environ,
        "SUREFIT_SPOOL": str(spool),
        "PYTHONPATH": str(BOOT),
        stories.STORY: json.dumps(asked),
    }
    with forked.captured() as said:
        forked.started([sys.executable, str(script)], cwd=Path.cwd(), env=environment).wait()
    lines = [line for file in spool.glob("*.jsonl") for line in file.read_text().splitlines()]
    return read(lines, script.parent), said.out


@pytest.mark.slow
@pytest.mark.parametrize("swallowed", [False, True])
def test_a_second_run_tells_of_a_value_and_answers_probes(tmp_path: Path, swallowed: bool) -> None:
    script, spool = tmp_path / "train.py", tmp_path / "spool"
    spool.mkdir()
    call = SWALLOWING if swallowed else "loss(model, batch)"
    script.write_text(CRASHING.format(call=call))
    here = {"raised": ["loss", "train.py", 5], "frame": ["loss", "train.py", 5]}
    value = {"frame": 7, "text": "shifted"}
    base = {"kind": "RuntimeError", "swallowed": swallowed, **here}
    questions = [
        {"question": {"kind": "lineage", "crash": "4-1", "about": {}}, **base},
        {"question": {"kind": "reshape", "crash": "4-1", "about": value}, **base},
    ]
    seen, said = run(script, questions, spool)
    answers = {answer.question.kind: answer for answer in seen.all(Answer)}
    producers: Any = (answers["lineage"].said or {})["producers"]
    sliced = next(producer for producer in producers if producer["text"] == "labels[:, 1:]")
    assert sliced["place"]["file"] == "train.py"
    assert sliced["place"]["line"] == 4
    assert (answers["reshape"].said or {})["equal"] is True
    assert answers["reshape"].question.about == value
    assert said == ""


@pytest.mark.slow
def test_a_second_run_tells_of_the_loss_of_a_step_and_ends(tmp_path: Path) -> None:
    script, spool = tmp_path / "train.py", tmp_path / "spool"
    spool.mkdir()
    script.write_text(
        "import torch\n"
        "layer = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "for step in range(9):\n"
        "    loss = (step + 1) * layer(torch.ones(3, 2)).relu().mean()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    print(step)\n"
    )
    question = {"kind": "story-of-loss", "crash": "", "about": {"step": 2}}
    seen, said = run(script, [{"question": question}], spool)
    answers = list(seen.all(Answer))
    operations: Any = (answers[0].said or {})["operations"]
    assert len(answers) == 1
    assert (operations[0]["name"], operations[0]["numbers"]) == ("mul", [3])
    assert said.split() == ["0", "1"] or said == ""
