"""What is done when a crash is known, before the script has ended."""

from pathlib import Path
from typing import Any

import pytest

from surefit import examination
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.diagnose import Diagnosis
from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.observations import Question
from surefit.doctor.recording import Recording
from surefit.examination import Proofs, Subject
from surefit.observe.forks import Forks
from surefit.observe.launch import Launch
from surefit.source.patches import Edit

EDIT, MUST = Edit("a.py", ()), Moves(("a",))


class Noted(Forks):
    """Writes down what it is told."""

    def __init__(self) -> None:
        super().__init__(Launch(("python", "a.py"), Path()), {})
        self.told: list[str] = []

    def begin(self, seen: Recording) -> None:  # noqa: ARG002
        self.told.append("begin")

    def cancel(self) -> None:
        self.told.append("cancel")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    def after(*fixes: Fix, severity: Severity = Severity.ERROR, **more: Any) -> list[str]:
        finding = Finding("rule", "SF1", severity, Place("a.py", 1), "It.", fixes=fixes)
        monkeypatch.setattr(examination, "diagnose", lambda *_: Diagnosis((finding,)))
        forks = Noted()
        subject = Subject(forks.launch, None, forks, Proofs(more.get("wanted", True)))
        seen = Recording([], more.get("questions", []))
        subject.on_crash(seen, lambda _: [])
        assert subject.faults == []
        return forks.told

    return after


def test_libraries_are_imported_as_soon_as_a_crash_is_known(told: Any) -> None:
    assert told(Fix("Do it.", EDIT, MUST)) == ["begin"]
    assert told(Fix("Do it."), questions=[Question("story", "1")]) == ["begin"]


def test_and_no_longer_when_there_is_nothing_to_try(told: Any) -> None:
    assert told(Fix("Do it.")) == ["begin", "cancel"]
    assert told(Fix("Do it.", EDIT)) == ["begin", "cancel"]
    assert told(Fix("Do it.", EDIT, MUST), severity=Severity.NOTE) == ["begin", "cancel"]
    assert told() == ["begin", "cancel"]


def test_without_proofs_nothing_is_imported(told: Any) -> None:
    assert told(Fix("Do it.", EDIT, MUST), wanted=False) == []
