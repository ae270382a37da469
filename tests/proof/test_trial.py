"""When a fix is called held, when failed, when not tried: on runs that are told, not made."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from surefit.doctor.conditions.condition import Condition, Judgement, Needs
from surefit.doctor.conditions.labels import LabelsReachModel
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Finding, Fix, Place, Proof, Severity
from surefit.doctor.observations import (
    Answer,
    Crash,
    Death,
    Ended,
    Frame,
    LabelsSeen,
    Observation,
    Process,
    Question,
    Script,
    Steps,
    Trace,
)
from surefit.doctor.recording import Recording
from surefit.observe.script import Launch, Watched
from surefit.proof.sandbox import Snapshot, snapshot
from surefit.proof.trial import prove
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

TEXT = "x = 1\ny = 2\nprint(x, y)\n"
LOSSES = ((0, 3.5), (1, 3.25))


def edit(line: int, new: str, file: str = "train.py") -> Edit:
    return Edit(file, (Replace(Span(line, 4, line, 5), new),))


@dataclass(frozen=True)
class Holds:
    """A condition that is told what to say."""

    held: bool = True
    said: str = "12 of 12 are right"
    decided: bool = True
    changes_the_past: bool = False
    steps: int | None = None

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        return Judgement(self.held, self.said, self.decided)


@dataclass(frozen=True)
class Sees(Holds):
    """Holds where the patch is in the file."""

    text: str = "x = 7"

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        source = after.source("train.py")
        held = source is not None and self.text in source.text
        return Judgement(held, f"{12 if held else 0} of 12 move")


FIX = Fix("Make it 7.", edit(1, "7"), Holds())
SILENT = replace(FIX, must=Sees())


def crash(
    steps: int = 2,
    said: str = "ValueError: no",
    line: int = 3,
    text: str = "print(x, y)",
    identity: str = "1",
) -> Crash:
    frame = Frame(Place("train.py", line), "<module>", True, text)
    kind = said.partition(":")[0]
    return Crash(identity, 5.0, Process(1), kind, said, (frame,), steps=steps)


def steps(taken: int, losses: tuple[tuple[int, float], ...] = LOSSES, **more: object) -> Steps:
    plain = Steps(Process(1), taken, 1.0, taken, {}, losses, backwards=taken)
    return replace(plain, **more)  # type: ignore[arg-type]


@dataclass
class Scene:
    """A folder, a first run in it, and what the second run will be."""

    folder: Path
    first: list[Observation] = field(default_factory=list)
    after: list[Observation] = field(default_factory=lambda: [steps(4)])
    later: list[Observation] | None = None
    """What is added where the run goes on past its goal."""
    code: int = 0
    stopped: str = ""
    before: Snapshot | None = None
    calls: list[dict[str, str]] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    limits: list[tuple[float, int | None]] = field(default_factory=list)
    then: Callable[[], None] = lambda: None
    seen_by_python: str | None = None

    def __post_init__(self) -> None:
        (self.folder / "train.py").write_text(TEXT)
        self.first = [
            Script("train.py", TEXT, True),
            steps(2),
            crash(),
            Ended(("python", "train.py"), "train.py", 1, 5.0, 1000),
        ]

    def watch(
        self,
        launch: Launch,
        *,
        environment: Mapping[str, str],
        quiet: bool,
        seconds: float,
        bytes_: int | None,
    ) -> Watched:
        assert quiet
        assert launch.cwd != self.folder
        text = (launch.cwd / "train.py").read_text()
        self.calls.append(dict(environment))
        self.limits.append((seconds, bytes_))
        self.ran.append(text)
        self.then()
        seen = Script(str(launch.cwd / "train.py"), self.seen_by_python or text, True)
        later = None if self.later is None else Recording([seen, *self.after, *self.later])
        return Watched(Recording([seen, *self.after]), self.code, 1.5, self.stopped, later)

    def prove(self, *findings: Finding, seconds: float = 60.0) -> tuple[Finding, ...]:
        launch = Launch((sys.executable, "train.py"), self.folder, "train.py")
        return prove(
            findings,
            Recording(self.first),
            launch,
            self.before,
            seconds=seconds,
            watch=self.watch,
        )

    def proof(self, fix: Fix = FIX, seconds: float = 60.0, **more: object) -> tuple[str, str]:
        (found,) = self.prove(finding(fix, **more), seconds=seconds)
        proof = found.fixes[0].proof
        assert proof is not None
        return proof.status, proof.said


def finding(*fixes: Fix, **more: object) -> Finding:
    plain = Finding(
        "some-rule", "SF1", Severity.ERROR, Place("train.py", 1), "It.", fixes=fixes, about="1"
    )
    return replace(plain, **more)  # type: ignore[arg-type]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    (tmp_path / "run").mkdir()
    return Scene(tmp_path / "run")


class TestHeld:
    """Past the fault, the same losses before it, and the condition."""

    def test_two_steps_past_the_fault(self, scene: Scene) -> None:
        (found,) = scene.prove(finding(FIX))
        assert found.fixes[0].proof == Proof(
            "held",
            "tried on a copy: 2 steps past the fault; 2 losses before the fault are equal to the "
            "bit; 12 of 12 are right",
        )
        assert found.fixes[0].patch == (
            "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n"
            "-x = 1\n+x = 7\n y = 2\n print(x, y)\n"
        )
        assert scene.ran == ["x = 7\ny = 2\nprint(x, y)\n"]
        assert scene.calls[0]["SUREFIT_STOP_AFTER"] == "4"
        assert scene.calls[0]["SUREFIT_PROOF"] == "1"
        assert scene.limits[0][1] == 2 * 1000 + (1 << 30)
        assert 0 < scene.limits[0][0] <= 60
        assert (scene.folder / "train.py").read_text() == TEXT

    def test_a_script_without_more_steps_runs_to_its_end(self, scene: Scene) -> None:
        scene.after = [steps(3)]
        assert scene.proof() == (
            "held",
            "tried on a copy: it runs to its end, 3 steps; 2 losses before the fault are equal to"
            " the bit; 12 of 12 are right",
        )

    def test_a_fault_before_the_first_step(self, scene: Scene) -> None:
        scene.first[1:3] = [crash(0)]
        scene.after = [steps(2)]
        said = "tried on a copy: 2 steps past the fault; 12 of 12 are right"
        assert scene.proof() == ("held", said)

    def test_a_fix_that_must_change_the_past(self, scene: Scene) -> None:
        scene.after = [steps(4, ((0, 1.0), (1, 0.5)))]
        fix = replace(FIX, must=Holds(changes_the_past=True))
        assert scene.proof(fix) == (
            "held",
            "tried on a copy: 2 steps past the fault; losses before the fault were not compared, as"
            " the fix changes what comes before it; 12 of 12 are right",
        )

    def test_a_silent_fault(self, scene: Scene) -> None:
        """Shown without the fix first."""
        scene.first[1:3] = [steps(80)]
        scene.after = [steps(50, ((0, 1.0),))]
        assert scene.proof(SILENT, about="") == (
            "held",
            "tried on a copy: 50 steps; 12 of 12 move; without the fix 0 of 12 move",
        )
        assert [call["SUREFIT_STOP_AFTER"] for call in scene.calls] == ["50", "50"]
        assert scene.ran == [TEXT, "x = 7\ny = 2\nprint(x, y)\n"]

    def test_a_silent_fault_that_the_first_run_shows(self, scene: Scene) -> None:
        """Only the patched copy is run, and half of the time is enough."""
        scene.first[1:3] = [steps(80)]
        scene.after = [steps(50, ((0, 1.0),))]

        @dataclass(frozen=True)
        class Shown(Sees):
            """Looks at what every run writes down."""

            def needs(self, before: Recording) -> Needs:
                return replace(Sees.needs(self, before), first_run_shows=True)

        said = "tried on a copy: 50 steps; 12 of 12 move; without the fix 0 of 12 move"
        fix = replace(FIX, must=Shown())
        assert scene.proof(fix, about="") == ("held", said)
        assert scene.ran == ["x = 7\ny = 2\nprint(x, y)\n"]
        status, _ = scene.proof(replace(FIX, must=Shown(text="x = 1")), about="")
        assert status == "not-tried"
        assert scene.ran[1:] == [TEXT, TEXT]

    def test_a_silent_fault_that_comes_late(self, scene: Scene) -> None:
        """In few steps the condition is met without the fix: another stage of training."""
        scene.first[1:3] = [steps(80)]
        scene.after = [steps(80)]

        @dataclass(frozen=True)
        class Late(Sees):
            """The fault shows after 50 steps."""

            def judge(self, before: Recording, after: Recording) -> Judgement:
                early = scene.calls[-1]["SUREFIT_STOP_AFTER"] == "3"
                return Judgement(early or Sees.judge(self, before, after).held, "so")

        fix = replace(FIX, must=Late(steps=3))
        said = "tried on a copy: 80 steps; so; without the fix so"
        assert scene.proof(fix, about="") == ("held", said)
        assert [call["SUREFIT_STOP_AFTER"] for call in scene.calls] == ["3", "80", "80"]

    def test_figures_of_a_real_condition(self, scene: Scene) -> None:
        labels = (LabelsSeen(0, (8, 20), 150, True), LabelsSeen(2, (8, 20), 119, True))
        scene.after = [steps(4, labels=labels)]
        status, said = scene.proof(replace(FIX, must=LabelsReachModel(119, 8)))
        assert status == "held"
        assert said.endswith("; 119 labels of 8 rows reach the model, all that there are")


class TestFailed:
    """It was tried and is no cure."""

    def test_the_condition_does_not_hold(self, scene: Scene) -> None:
        fix = replace(FIX, must=Holds(False, "160 labels, and there are 119"))
        assert scene.proof(fix) == (
            "failed",
            "tried on a copy, and it did not hold: 160 labels, and there are 119",
        )

    def test_it_stops_with_another_error(self, scene: Scene) -> None:
        scene.after = [steps(2), crash(2, "IndexError: out of range\nmore", 2, "y = 2")]
        scene.code = 1
        assert scene.proof() == (
            "failed",
            "tried on a copy, and it did not hold: it stops at train.py:2 with IndexError: out of"
            " range",
        )

    def test_it_stops_with_the_same_error(self, scene: Scene) -> None:
        scene.after, scene.code = [steps(2), crash(line=4)], 1
        said = "tried on a copy, and it did not hold: it still raises ValueError: no"
        assert scene.proof() == ("failed", said)

    def test_the_script_catches_the_same_error(self, scene: Scene) -> None:
        """And ends well, as it did before."""
        scene.first[2] = replace(crash(), swallowed=True)
        scene.after = [steps(4), replace(crash(identity="9"), swallowed=True)]
        said = "tried on a copy, and it did not hold: it still raises ValueError: no"
        assert scene.proof() == ("failed", said)

    def test_it_dies_or_exits(self, scene: Scene) -> None:
        scene.after, scene.code = [Death(Process(1), "signal", "SIGSEGV")], 139
        assert scene.proof() == (
            "failed",
            "tried on a copy, and it did not hold: it died by SIGSEGV",
        )
        scene.after, scene.code = [], 3
        assert scene.proof()[1].endswith("it ended with code 3")

    def test_it_ends_before_the_fault_could_come(self, scene: Scene) -> None:
        scene.after = [steps(1, LOSSES[:1])]
        assert scene.proof() == (
            "failed",
            "tried on a copy, and it did not hold: it ended after 1 step, before the fault could"
            " come",
        )
        fewer_rows = replace(FIX, must=Holds(changes_the_past=True))
        assert scene.proof(fewer_rows)[0] == "held"


class TestGoesOn:
    """What comes after it has held, in the same run."""

    HELD = (
        "tried on a copy: 2 steps past the fault; 2 losses before the fault are equal to the bit;"
        " 12 of 12 are right"
    )
    FAILED = "tried on a copy, and it did not hold: it runs 2 steps past the fault, then stops at "

    def test_for_some_seconds(self, scene: Scene) -> None:
        scene.later = [steps(400)]
        assert scene.proof() == ("held", self.HELD)
        assert scene.calls[0]["SUREFIT_GO_ON"] == "10"
        assert scene.proof(seconds=20.0) == ("held", self.HELD)
        assert scene.calls[1]["SUREFIT_GO_ON"] == "4"  # a quarter of what is left

    def test_not_where_nothing_was_raised(self, scene: Scene) -> None:
        scene.first[1:3], scene.after = [steps(80)], [steps(50, ((0, 1.0),))]
        scene.proof(SILENT, about="")
        assert {call["SUREFIT_GO_ON"] for call in scene.calls} == {"0"}

    @pytest.mark.parametrize("swallowed", [False, True])
    def test_the_same_fault_comes_back(self, scene: Scene, swallowed: bool) -> None:
        scene.later = [replace(crash(9, identity="7"), swallowed=swallowed)]
        assert scene.proof() == ("failed", f"{self.FAILED}train.py:3 with ValueError: no")

    @pytest.mark.parametrize(
        ("expression", "status"), [("model(rows)", "failed"), ("save(rows)", "held")]
    )
    def test_the_same_call_in_another_line(
        self, scene: Scene, expression: str, status: str
    ) -> None:
        def calls(line: int, text: str, identity: str) -> Crash:
            place = Place("train.py", line)
            frames = Frame(place, "<module>", True, text, text), Frame(place, identity, False)
            return replace(crash(identity=identity), frames=frames)

        scene.first[2] = calls(3, "model(batch)", "1")
        scene.later = [calls(2, expression, "7")]
        assert scene.proof()[0] == status

    def test_another_fault(self, scene: Scene) -> None:
        scene.later = [crash(9, "KeyError: 'b'", 2, "y = 2", "7")]
        said = "; later it stops at train.py:2 with KeyError: 'b': another fault"
        assert scene.proof() == ("held", self.HELD + said)

    @pytest.mark.parametrize(("line", "text"), [(1, "x = 7"), (3, "print(x, y)")])
    def test_another_error_of_the_patch(self, scene: Scene, line: int, text: str) -> None:
        """In a new line, or where a name is read that a new line sets."""
        scene.first[2] = crash(line=2, text="y = 2")
        scene.later = [crash(9, "TypeError: 7", line, text, "7")]
        assert scene.proof() == ("failed", f"{self.FAILED}train.py:{line} with TypeError: 7")

    def test_what_the_copy_lacks(self, scene: Scene) -> None:
        scene.later = [crash(9, "FileNotFoundError: test.csv", 2, "y = 2", "7")]
        assert scene.proof() == ("held", self.HELD)


class TestProvesNothing:
    """It ran, and nothing follows from it."""

    def said(self, scene: Scene, fix: Fix = FIX, **more: object) -> str:
        status, said = scene.proof(fix, **more)  # type: ignore[arg-type]
        assert status == "not-tried"
        before, _, reason = said.partition(": ")
        assert before == "tried on a copy, which proves nothing"
        return reason

    def test_other_losses_before_the_fault(self, scene: Scene) -> None:
        scene.after = [steps(4, ((0, 3.5), (1, 3.2500000000000004)))]
        assert self.said(scene) == (
            "its loss at step 1 is 3.2500000000000004, that of the first run was 3.25, though the "
            "fix changes nothing before the fault; without fixed seeds no run is like another"
        )

    def test_no_loss_in_common(self, scene: Scene) -> None:
        scene.after = [steps(4, ((3, 1.0),))]
        assert self.said(scene) == "no loss before the fault was seen in both runs"

    def test_the_copy_lacks_something(self, scene: Scene) -> None:
        scene.after = [crash(0, "FileNotFoundError: [Errno 2] No such file: '../data.csv'")]
        scene.code = 1
        assert self.said(scene) == (
            "it stops there with FileNotFoundError: [Errno 2] No such file: '../data.csv', for the"
            " copy lacks something"
        )
        scene.after = [crash(0, "RuntimeError: basic_ios: Permission denied")]
        assert self.said(scene).startswith("it stops there with RuntimeError")

    def test_it_was_ended(self, scene: Scene) -> None:
        scene.after, scene.stopped, scene.code = [steps(1)], "time", 137
        assert self.said(scene) == (
            "the patched copy was ended after 2 s, at step 1 of 4; `--proof-seconds 120` gives it"
            " longer"
        )
        scene.stopped = "memory"
        assert self.said(scene) == (
            "the patched copy came to more than twice the 1.0 kB of the first run"
        )

    def test_it_ran_other_code_than_the_patched(self, scene: Scene) -> None:
        """A package that is installed from its folder."""
        scene.seen_by_python = TEXT
        assert self.said(scene) == "train.py was not read from the copy"

    def test_the_condition_saw_nothing(self, scene: Scene) -> None:
        fix = replace(FIX, must=Holds(False, "no labels were seen", decided=False))
        assert self.said(scene, fix) == "no labels were seen"

    def test_a_silent_fault_that_does_not_show(self, scene: Scene) -> None:
        scene.first[1:3] = [steps(4)]
        assert (
            self.said(scene, about="")
            == "in 4 steps it is so without the fix, too: 12 of 12 are right"
        )

    def test_a_silent_fault_that_cannot_be_shown(self, scene: Scene) -> None:
        scene.first[1:3] = [steps(4)]
        scene.code = 3
        assert self.said(scene, about="") == "the copy without the fix ends with code 3"
        scene.stopped = "time"
        assert self.said(scene, about="") == "the copy without the fix was ended for its time"

    def test_another_fault_ends_it_as_it_ended_the_first(self, scene: Scene) -> None:
        scene.first.append(crash(0, "IndexError: out", 2, "y = 2", "2"))
        scene.after, scene.code = [crash(0, line=4)], 1
        assert self.said(scene, about="2") == (
            "it stops there as the first run did, with ValueError: no"
        )


class TestNotTried:
    """Nothing was run."""

    def said(self, scene: Scene, fix: Fix = FIX, **more: object) -> str:
        status, said = scene.proof(fix, **more)  # type: ignore[arg-type]
        assert status == "not-tried"
        assert scene.ran == []
        before, _, reason = said.partition(": ")
        assert before == "not tried"
        return reason

    def test_only_the_user_can_choose(self, scene: Scene) -> None:
        fix = replace(FIX, why_not_tried="only you know which width is meant")
        assert self.said(scene, fix) == "only you know which width is meant"

    def test_no_edit(self, scene: Scene) -> None:
        assert self.said(scene, Fix("Think.")) == "it is no edit of your source"

    def test_no_condition_is_never_held(self, scene: Scene) -> None:
        reason = self.said(scene, replace(FIX, must=None))
        assert reason == "nothing in numbers says that it is right"

    def test_a_note(self, scene: Scene) -> None:
        assert self.said(scene, severity=Severity.NOTE) == "a note is not worth a run"

    def test_the_first_run_reached_outside(self, scene: Scene) -> None:
        scene.first.append(Trace(Process(1), "connected", "hub.example:443"))
        assert self.said(scene) == "it talks to hub.example:443 over the network"

    def test_there_is_no_time(self, scene: Scene) -> None:
        scene.first[-1] = Ended(("python", "train.py"), "train.py", 1, 500.0)
        reason = self.said(scene)
        assert reason.startswith("the fault came after 500 s, and 58 s are left of the 60 s")
        assert reason.endswith("`--proof-seconds 760` would do")

    def test_the_folder_is_too_large(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surefit.proof.mirror.MOST_BYTES", 3)
        assert self.said(scene) == "the folder holds 24 bytes; a proof copies at most 3 bytes"

    def test_the_file_was_changed_meanwhile(self, scene: Scene) -> None:
        scene.before = snapshot(scene.folder)
        (scene.folder / "train.py").write_text(TEXT + "# more\n")
        assert self.said(scene) == "train.py was changed after it was read"

    def test_the_source_was_not_seen(self, scene: Scene) -> None:
        fix = replace(FIX, edit=edit(1, "7", "other.py"))
        assert self.said(scene, fix) == "the source of other.py was not seen"

    def test_an_edit_that_leaves_no_python(self, scene: Scene) -> None:
        reason = self.said(scene, replace(FIX, edit=edit(1, "(")))
        assert reason.startswith("the edit leaves no Python in train.py: '(' was never closed")

    def test_ranks_elsewhere(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.first[1] = replace(steps(2), process=Process(1, "rank", 0, 4))
        assert self.said(scene) == "1 of 4 ranks ran on this machine"
        monkeypatch.setenv("WORLD_SIZE", "8")
        assert self.said(scene).startswith("this is one of 8 ranks; started as `surefit run torch")

    def test_a_failure_of_the_proof_itself(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise KeyError("boom")

        monkeypatch.setattr("surefit.proof.trial.goal_of", broken)
        reason = self.said(scene)
        assert reason.startswith("surefit failed: KeyError: 'boom' (test_trial.py:")

    def test_a_condition_that_fails(self, scene: Scene) -> None:
        class Broken(Holds):
            """It has a fault."""

            def judge(self, before: Recording, after: Recording) -> Judgement:
                raise ZeroDivisionError(before, after)

        status, said = scene.proof(replace(FIX, must=Broken()))
        assert status == "not-tried"
        assert said.startswith("not tried: surefit failed: ZeroDivisionError: ")


QUESTION = Question("same-values", "1")
AGAIN = ReExecuted(QUESTION, "`reshape` and `contiguous().view`")


class TestReExecuted:
    """The answers of the first run decide where another run cannot."""

    fix = replace(FIX, must=AGAIN)

    def test_too_long_to_run_again(self, scene: Scene) -> None:
        scene.first[-1] = Ended(("python", "train.py"), "train.py", 1, 500.0)
        scene.first.append(Answer(QUESTION, {"equal": True, "elements": 40}))
        status, said = scene.proof(self.fix)
        assert (status, scene.ran) == ("held", [])
        assert said.startswith(
            "re-executed on the captured input: `reshape` and `contiguous().view`: 40 elements, all"
            " equal; the script was not run again: the fault came after 500 s"
        )

    def test_not_equal(self, scene: Scene) -> None:
        scene.first[-1] = Ended(("python", "train.py"), "train.py", 1, 500.0)
        scene.first.append(Answer(QUESTION, {"equal": False, "elements": 40}))
        assert scene.proof(self.fix)[0] == "not-tried"

    def test_where_there_is_time_it_is_run_too(self, scene: Scene) -> None:
        scene.first.append(Answer(QUESTION, {"equal": True, "elements": 40}))
        status, said = scene.proof(self.fix)
        assert (status, len(scene.ran)) == ("held", 1)
        assert said.endswith("`reshape` and `contiguous().view`: 40 elements, all equal")
        scene.after, scene.code = [crash(3, "IndexError: out", 2, "y = 2")], 1
        assert scene.proof(self.fix)[0] == "failed"

    def test_a_fix_that_only_the_user_can_choose_is_not_held(self, scene: Scene) -> None:
        scene.first.append(Answer(QUESTION, {"equal": True, "elements": 40}))
        fix = replace(self.fix, why_not_tried="only you know")
        assert scene.proof(fix) == ("not-tried", "not tried: only you know")


class TestSeveral:
    """Fixes of one finding, and findings of one run."""

    def test_all_of_them_are_tried_in_their_order(self, scene: Scene) -> None:
        words = Fix("Choose.", why_not_tried="only you know")
        (found,) = scene.prove(finding(words, FIX, replace(FIX, edit=edit(1, "8"))))
        statuses = [fix.proof.status for fix in found.fixes if fix.proof]
        assert statuses == ["held", "held", "not-tried"]
        assert [text.splitlines()[0] for text in scene.ran] == ["x = 7", "x = 8"]

    def test_one_that_is_not_reached_says_so(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [1000.0]
        monkeypatch.setattr("surefit.proof.trial.time.monotonic", lambda: now[0])

        def takes_a_while() -> None:
            now[0] += 55.0

        scene.then = takes_a_while
        (found,) = scene.prove(finding(FIX, replace(FIX, edit=edit(1, "8"))))
        assert len(scene.ran) == 1
        assert found.fixes[1].proof == Proof(
            "not-tried",
            "not tried: the fault came after 5 s, and 3 s are left of the 60 s for proofs; "
            "`--proof-seconds 70` would do",
        )

    def test_a_choice_is_tried_and_comes_last_for_the_next_finding(self, scene: Scene) -> None:
        choice, plain = replace(FIX, choice=True), replace(FIX, edit=edit(1, "8"))
        second = finding(replace(FIX, edit=edit(2, "9")), rule="other-rule")
        one, _ = scene.prove(finding(choice, plain), second)
        assert [fix.proof.status for fix in one.fixes if fix.proof] == ["held", "held"]
        assert one.held == one.fixes[0]
        assert [fix.choice for fix in one.fixes] == [False, True]
        assert scene.ran[-1] == "x = 8\ny = 9\nprint(x, y)\n"
        scene.prove(finding(choice), second)
        assert scene.ran[-1] == "x = 7\ny = 9\nprint(x, y)\n"

    def test_fixes_of_a_silent_fault_share_the_run_without_them(self, scene: Scene) -> None:
        scene.first[1:3] = [steps(80)]
        scene.after = [steps(50, ((0, 1.0),))]
        other = replace(SILENT, edit=edit(1, "8"), must=Sees(text="x = 8"))
        (found,) = scene.prove(finding(SILENT, other, about=""))
        assert [fix.proof.status for fix in found.fixes if fix.proof] == ["held", "held"]
        assert [text.splitlines()[0] for text in scene.ran] == ["x = 1", "x = 7", "x = 8"]

    def test_after_one_that_failed_the_next_is_tried(self, scene: Scene) -> None:
        bad = replace(FIX, must=Holds(False, "3 of 12"))
        (found,) = scene.prove(finding(bad, replace(FIX, edit=edit(1, "8"))))
        assert [fix.proof.status for fix in found.fixes if fix.proof] == ["held", "failed"]

    def test_a_finding_stands_where_its_fix_held(self, scene: Scene) -> None:
        here, there = Place("train.py", 1), Place("train.py", 2)
        bad = replace(FIX, must=Holds(False, "3 of 12"), place=here)
        good = replace(FIX, edit=edit(2, "8"), must=Sees(text="y = 8"), place=there)
        (found,) = scene.prove(replace(finding(bad, good), place=here))
        assert found.place == there
        assert [fix.place for fix in found.fixes] == [there]
        (rejected,) = found.ruled_out
        assert (rejected.name, "3 of 12" in rejected.value) == ("train.py:1", True)
        chosen = replace(good, choice=True)
        (found,) = scene.prove(replace(finding(bad, chosen), place=here))
        assert found.place == here  # what the user must choose moves nothing

    def test_what_held_is_applied_for_the_next_finding(self, scene: Scene) -> None:
        second = Fix("Make it 8.", edit(2, "8"), Sees(text="y = 8"))
        _, two = scene.prove(finding(FIX), finding(second, rule="other-rule", about=""))
        with_first, with_both = "x = 7\ny = 2\nprint(x, y)\n", "x = 7\ny = 8\nprint(x, y)\n"
        assert scene.ran == [with_first, with_first, with_both]
        proof = two.fixes[0].proof
        assert proof is not None
        assert proof.said.startswith("tried on a copy, with the fix of some-rule: ")
        assert two.fixes[0].patch == (
            "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n"
            " x = 1\n-y = 2\n+y = 8\n print(x, y)\n"
        )

    def test_what_failed_is_not(self, scene: Scene) -> None:
        bad = replace(FIX, must=Holds(False, "3 of 12"))
        scene.prove(finding(bad), finding(replace(FIX, edit=edit(2, "8"))))
        assert scene.ran[1] == "x = 1\ny = 8\nprint(x, y)\n"

    def test_edits_of_one_place(self, scene: Scene) -> None:
        other = replace(FIX, edit=Edit("train.py", (Replace(Span(1, 0, 1, 5), "x = 9"),)))
        _, two = scene.prove(finding(FIX), finding(other, rule="other-rule"))
        proof = two.fixes[0].proof
        assert proof is not None
        assert proof.said == "not tried: two changes to train.py overlap"

    def test_all_share_the_time(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [1000.0]
        monkeypatch.setattr("surefit.proof.trial.time.monotonic", lambda: now[0])

        def takes_a_while() -> None:
            now[0] += 55.0

        scene.then = takes_a_while
        one, two = scene.prove(finding(FIX), finding(replace(FIX, edit=edit(2, "8"))))
        assert one.fixes[0].proof
        assert one.fixes[0].proof.status == "held"
        assert two.fixes[0].proof == Proof(
            "not-tried",
            "not tried: the fault came after 5 s, and 3 s are left of the 60 s for proofs; "
            "`--proof-seconds 70` would do",
        )

    def test_findings_without_fixes_pass_through(self, scene: Scene) -> None:
        assert scene.prove(finding()) == (finding(),)


def test_the_conditions_here_are_conditions() -> None:
    told: Condition = Holds()
    assert told.needs(Recording([])).steps is None


class TestSuppositions:
    """They take the place of a finding where a fix of theirs holds."""

    def test_the_first_fix_that_holds_makes_it_the_finding(self, scene: Scene) -> None:
        failing = replace(FIX, edit=edit(2, "5"), must=Sees(), place=Place("train.py", 2))
        holding = replace(FIX, must=Sees(), place=Place("train.py", 1))
        never = replace(FIX, edit=edit(1, "8"), must=Sees())
        supposed = finding(failing, holding, never, rule="supposed", place=Place("train.py", 9))
        (found,) = scene.prove(finding(suppositions=(supposed,)))
        assert (found.rule, found.place, len(found.fixes)) == ("supposed", Place("train.py", 1), 1)
        assert [fact.name for fact in found.ruled_out] == ["train.py:2"]
        assert len(scene.ran) == 2

    def test_without_one_nothing_is_said_of_it(self, scene: Scene) -> None:
        supposed = finding(replace(FIX, must=Holds(held=False)), rule="supposed")
        (found,) = scene.prove(finding(suppositions=(supposed,)))
        assert (found.rule, found.suppositions) == ("some-rule", ())
