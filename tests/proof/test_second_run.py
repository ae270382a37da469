"""Questions about how a value came to be are put to one more run; each gets an answer."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Ended,
    Frame,
    Observation,
    Process,
    Question,
    Trace,
)
from surefit.doctor.recording import Recording
from surefit.observe.inside.lineage.libraries import WITH_WORKERS
from surefit.observe.inside.stories.stories import STORY
from surefit.observe.script import Launch, Watched
from surefit.proof.second_run import answer_by_second_run

CRASH = Crash(
    "7-1",
    1.0,
    Process(7),
    "RuntimeError",
    "RuntimeError: view size is not compatible",
    (
        Frame(Place("train.py", 30), "<module>", own=True),
        Frame(Place("train.py", 12), "loss", own=True),
        Frame(Place("torch/functional.py", 99), "view", own=False),
    ),
    steps=6,
)
OF_VALUE = Question("lineage", "7-1", {"frame": 1, "text": "labels"})
OF_LOSS = Question("story-of-loss", "", {"step": 0})
RESHAPE = Question("reshape", "7-1", {"frame": 1, "text": "labels"})


@dataclass
class FakeWatch:
    """Stands for a run in the copy: keeps what it was told, and gives back what it shall."""

    gives: list[Observation] = field(default_factory=list)
    environment: Mapping[str, str] = field(default_factory=dict)
    bytes_: int | None = None
    runs: int = 0

    def __call__(
        self,
        launch: Launch,  # noqa: ARG002
        *,
        environment: Mapping[str, str],
        quiet: bool,
        seconds: float,
        bytes_: int | None,
    ) -> Watched:
        assert quiet
        assert seconds == 20
        self.environment, self.bytes_, self.runs = environment, bytes_, self.runs + 1
        return Watched(Recording(list(self.gives)), 0, 1.0)

    @property
    def asked(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.environment[STORY])
        return document


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    (tmp_path / "train.py").write_text("pass\n")
    return Launch((sys.executable, "train.py"), tmp_path, "train.py")


def ask(launch: Launch, watch: FakeWatch, *questions: Question, also: Any = ()) -> list[Answer]:
    seen = Recording([CRASH, Ended(("python",), "train.py", 1, 2.0, peak=500), *also])
    return answer_by_second_run(questions, seen, launch, None, seconds=20, watch=watch)


def test_a_value_is_asked_about_by_what_its_crash_looks_like(launch: Launch) -> None:
    watch = FakeWatch()
    ask(launch, watch, OF_VALUE)
    assert watch.asked["until_step"] == 6
    assert watch.asked["questions"] == [
        {
            "question": {
                "kind": "lineage",
                "crash": "7-1",
                "about": {"frame": 1, "text": "labels"},
            },
            "kind": "RuntimeError",
            "swallowed": False,
            "raised": ["loss", "train.py", 12],
            "frame": ["loss", "train.py", 12],
        }
    ]
    assert watch.environment["TORCHDYNAMO_DISABLE"] == "1"
    assert watch.bytes_ == 2 * 500 + (1 << 30)


def test_answers_come_back_for_the_questions_as_they_were_asked(launch: Launch) -> None:
    told = Answer(OF_LOSS, {"operations": [], "parameters": 1, "past_clamps": 0})
    answers = ask(launch, FakeWatch([told]), OF_LOSS, OF_VALUE)
    assert answers[0] == told
    assert answers[1] == Answer(OF_VALUE, None, "the second run did not come to it")


def test_probes_of_a_process_that_has_gone_on_are_asked_of_the_second_run(launch: Launch) -> None:
    told = Answer(RESHAPE, {"equal": True, "elements": 28})
    watch = FakeWatch([told])
    assert ask(launch, watch, RESHAPE) == [told]
    assert watch.asked["questions"][0]["frame"] == ["loss", "train.py", 12]


def test_what_nothing_can_tell_is_answered_without_a_run(launch: Launch) -> None:
    watch = FakeWatch()
    unknown = Question("lineage", "8-1", {"frame": 0, "text": "x"})
    answers = ask(launch, watch, unknown, Question("weather", "7-1", {}))
    assert [answer.said for answer in answers] == [None, None]
    assert watch.runs == 0


def test_a_frame_that_there_is_not_is_not_asked_about(launch: Launch) -> None:
    watch = FakeWatch()
    ask(launch, watch, replace(OF_VALUE, about={"frame": 9, "text": "labels"}))
    assert watch.asked["questions"][0]["frame"] is None


def test_a_run_that_reached_outside_is_not_run_again(launch: Launch) -> None:
    watch = FakeWatch()
    wrote = Trace(Process(7), "wrote", "/data/state.pt")
    (answer,) = ask(launch, watch, OF_LOSS, also=(wrote,))
    assert answer.said is None
    assert "/data/state.pt" in answer.why_not
    assert watch.runs == 0


LINEAGE_OF_CRASH = Question("lineage", "7-1", {})


@dataclass
class WorkersWatch(FakeWatch):
    """A run in which the fault comes only where loaders keep their workers."""

    def __call__(self, launch: Launch, **how: Any) -> Watched:
        super().__call__(launch, **how)
        answer = Answer(LINEAGE_OF_CRASH, {"producers": []})
        with_workers = self.environment.get(WITH_WORKERS) == "1"
        return Watched(Recording([answer] if with_workers else []), 0, 1.0)


@pytest.mark.parametrize(("file", "runs"), [("torch/utils/data/dataloader.py", 2), ("x.py", 1)])
def test_a_fault_of_workers_is_asked_about_with_workers(
    launch: Launch, file: str, runs: int
) -> None:
    crash = replace(CRASH, frames=(*CRASH.frames, Frame(Place(file, 3), "fetch", own=False)))
    watch = WorkersWatch()
    answers = answer_by_second_run(
        [LINEAGE_OF_CRASH], Recording([crash]), launch, None, seconds=20, watch=watch
    )
    assert watch.runs == runs
    assert (answers[0].said is not None) == (runs == 2)


def test_a_lineage_of_a_line_needs_no_crash(launch: Launch) -> None:
    question = Question("lineage", "", {"file": "t.py", "line": 3, "text": "loss", "step": 2})
    watch = FakeWatch([Answer(question, {"producers": []})])
    answers = answer_by_second_run([question], Recording([]), launch, None, seconds=20, watch=watch)
    assert answers[0].said == {"producers": []}
    assert watch.asked["until_step"] == 2
