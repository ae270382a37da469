"""A check on a few rows: what goes wrong there is told only if it goes wrong with all of them."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from surefit import preflight
from surefit.cli import few_rows
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import Chance, Crash, Frame, Observation, Process, Shrunk, Steps
from surefit.doctor.recording import Recording
from surefit.examination import Examination, Proofs, Subject
from surefit.observe.inside.chance import AGAIN
from surefit.observe.inside.small_batches import ROWS
from surefit.observe.script import Launch, Watched
from surefit.preflight import Preflight, Terms

PROCESS = Process(7)
CUT = Shrunk(PROCESS, Place("train.py", 8), 32, 4)
STREAM = Shrunk(PROCESS, Place("train.py", 5), 32, 32, "its dataset is a stream")
STEP = Steps(PROCESS, 1, 0.1, 1, {"TBS": 1}, ((0, 0.7),), backwards=1)
BEGAN = Chance("torch", [11])
FOUND = Finding("dead-layer", "SF999", Severity.WARNING, Place("train.py", 3), "It is dead.")


def crash(line: int, kind: str = "RuntimeError") -> Crash:
    frames = (Frame(Place("train.py", line), "<module>", own=True),)
    return Crash("7-1", 1.0, PROCESS, kind, f"{kind}: shape '[32]'\nis invalid", frames)


@dataclass
class Script:
    """Stands for a script: what is seen of it on a few rows, and with its own batches."""

    few: list[Observation]
    own: list[Observation] = field(default_factory=list)
    found_on_few: tuple[Finding, ...] = ()
    found_on_own: tuple[Finding, ...] = ()
    stopped: str = ""
    environments: list[dict[str, str]] = field(default_factory=list)
    proved: list[bool] = field(default_factory=list)

    def attempt(self, launch: Launch, *_: object, **how: Any) -> Watched:
        self.environments.append({**launch.environment, **how["environment"]})
        seen = self.few if ROWS in launch.environment else self.own
        code = int(any(isinstance(one, Crash) for one in seen))
        return Watched(Recording([*seen]), code, 1.0, self.stopped)

    def concluded(self, watched: Watched, subject: Subject) -> Examination:
        self.proved.append(subject.proofs.wanted)
        on_few = ROWS in subject.launch.environment
        found = self.found_on_few if on_few else self.found_on_own
        return Examination(watched.recording, found, watched.code, tuple(subject.faults))


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def check(script: Script, rows: int = 4) -> Preflight:
        monkeypatch.setattr(preflight, "attempt", script.attempt)
        monkeypatch.setattr(preflight, "concluded", script.concluded)
        terms = Terms(rows, 60.0, Proofs())
        return preflight.preflight(Launch(("python", "train.py"), tmp_path, "train.py"), terms)

    return check


def test_one_run_where_all_is_well_and_what_it_did_not_see_is_said(checked: Any) -> None:
    script = Script([STREAM, CUT, replace(CUT, process=Process(8)), STEP])
    made = checked(script)
    assert [one[ROWS] for one in script.environments] == ["4"]
    assert few_rows.on(made) == ", on 4 rows of 32"
    (said,) = few_rows.not_checked(made)
    assert said.startswith("full batches (cut: 32 -> 4 rows): ")
    assert list(few_rows.lines(made)) == [
        "Batches of train.py:5 are not cut: its dataset is a stream"
    ]
    assert few_rows.part(made, None) == {
        "shrunk": [
            {"place": {"file": "train.py", "line": 8, "end_line": None}, "rows": 32, "kept": 4}
        ],
        "left_alone": [
            {
                "place": {"file": "train.py", "line": 5, "end_line": None},
                "rows": 32,
                "why": "its dataset is a stream",
            }
        ],
        "told_of": "shrunk",
        "differs": None,
    }


def test_a_crash_on_few_rows_alone_is_a_line_and_no_finding(checked: Any) -> None:
    script = Script([BEGAN, CUT, crash(20)], [STEP])
    made = checked(script)
    assert [ROWS in one for one in script.environments] == [True, False]
    assert AGAIN in script.environments[1]
    assert script.proved == [True]
    assert made.ran.reached_a_step
    assert made.examined.findings == ()
    assert few_rows.on(made) == ""
    assert few_rows.not_checked(made) == []
    assert list(few_rows.lines(made)) == [
        "With 4 rows of 32 it stopped at train.py:20 (RuntimeError: shape '[32]'), but not"
        " with full batches"
    ]
    assert list(made.examined.recording.all(Chance)) == [BEGAN]


def test_a_crash_with_both_is_told_from_the_run_with_whole_batches(checked: Any) -> None:
    script = Script([CUT, crash(20)], [crash(22)], (), (FOUND,))
    made = checked(script)
    assert made.ran.crash == crash(22)
    assert made.examined.findings == (FOUND,)
    assert list(few_rows.lines(made)) == []
    part: Any = few_rows.part(made, None)
    assert part["told_of"] == "own"


def test_no_second_run_where_nothing_was_cut(checked: Any) -> None:
    script = Script([STREAM, crash(20)], found_on_own=(FOUND,))
    made = checked(script)
    assert len(script.environments) == 1
    assert script.proved == [True]
    assert made.examined.findings == (FOUND,)


def test_whole_batches_where_they_are_asked_for(checked: Any) -> None:
    script = Script([], [STEP])
    made = checked(script, rows=0)
    assert [ROWS in one for one in script.environments] == [False]
    assert not made.on_cut_batches


@pytest.mark.parametrize(("found_on_own", "lines"), [((FOUND,), 0), ((), 1)])
def test_a_silent_fault_must_show_with_whole_batches_too(
    checked: Any, found_on_own: tuple[Finding, ...], lines: int
) -> None:
    script = Script([CUT, STEP], [STEP], (FOUND,), found_on_own)
    made = checked(script)
    assert made.examined.findings == found_on_own
    assert script.proved == [False, True]
    said = "With 4 rows of 32 `dead-layer` was found at train.py:3, but not with full batches"
    assert list(few_rows.lines(made)) == [said] * lines


def test_an_end_without_a_step_on_few_rows_alone(checked: Any) -> None:
    made = checked(Script([CUT], [STEP]))
    assert list(few_rows.lines(made)) == [
        "With 4 rows of 32 it ended before its first optimizer step, but not with full batches"
    ]


def test_what_took_too_long_is_not_tried_with_more_rows(checked: Any) -> None:
    script = Script([CUT], found_on_few=(FOUND,), stopped="time")
    made = checked(script)
    assert len(script.environments) == 1
    assert made.examined.findings == ()
    assert [one.value for one in few_rows.facts(made)] == ["32 -> 4 rows"]


def test_what_a_copy_lacks_is_not_tried_again(checked: Any) -> None:
    script = Script([CUT, crash(20, "ConnectionError")])
    made = checked(script)
    assert len(script.environments) == 1
    assert made.ran.lacked is not None
