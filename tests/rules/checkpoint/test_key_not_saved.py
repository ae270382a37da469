"""Entries that a checkpoint does not have, on hand-made recordings."""

import pytest

from lineages import lineage_answer
from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.checkpoint.key_not_saved import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source
from surefit.source.spans import Span

TEXT = """\
import torch
class Run:
    def save(self, path):
        torch.save({"model": self.net.state_dict(), "opt": self.optimizer.state_dict()}, path)
    def resume(self, path):
        held = torch.load(path)
        self.net.load_state_dict(held["model"])
        self.schedule.load_state_dict(held["schedule"])
"""


def found(text: str, *keys: str) -> list[Finding]:
    """The subscript of the last line failed; a second run shows what gave `held`."""
    line, last = len(text.splitlines()), text.splitlines()[-1]
    span = Span(line, last.index("held["), line, last.index("]") + 1)
    held = Value("held", "dict", 1, members={key: Value(key, "dict") for key in keys})
    frame = Frame(Place("train.py", line), "Run.resume", own=True, span=span, values=(held,))
    crash = Crash("1-1", 1.0, Process(1), "KeyError", "KeyError: 'no'", (frame,))
    call = "torch.load(path)" if "torch.load(path)" in text else "read(path)"
    told = lineage_answer(crash, Source("train.py", text), {(0, "held"): [(call, held)]})
    recording = Recording([Script("train.py", text), crash, told])
    return list(RULE.look(recording, violations_in(recording, [])))


def after(finding: Finding, text: str) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, text)


def test_what_was_left_out_is_saved() -> None:
    (finding,) = found(TEXT, "model", "opt")
    assert finding.place.line == 4
    assert ', "schedule": self.schedule.state_dict()}, path)' in after(finding, TEXT)
    assert finding.fixes[0].must == KeyIsThere(Place("train.py", 8), "held['schedule']")


def test_an_entry_of_the_same_word_is_read_by_its_name() -> None:
    text = TEXT.replace("self.schedule", "self.optimizer").replace('"schedule"', '"optimizer"')
    (finding,) = found(text, "model", "opt")
    assert finding.place.line == 8
    assert finding.headline == "`held` has no `optimizer`: it was saved as `opt`."
    assert after(finding, text).endswith('load_state_dict(held["opt"])\n')


@pytest.mark.parametrize(
    ("was", "now"),
    [("self.schedule.load", "schedule.load"), ('"opt": self', '"more": 1, "opt": self')],
    ids=["not known where it is saved", "another file"],
)
def test_without_a_way_to_save_it_nothing_is_tried(was: str, now: str) -> None:
    (finding,) = found(TEXT.replace(was, now), "model", "opt")
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].why_not_tried or finding.fixes[0].choice


def test_an_entry_of_almost_the_same_name_is_read_by_it() -> None:
    (finding,) = found(TEXT, "model", "schedules")
    assert after(finding, TEXT).endswith('load_state_dict(held["schedules"])\n')


def test_other_mappings_are_left_to_others() -> None:
    assert found(TEXT.replace("torch.load(path)", "read(path)"), "model", "opt") == []
    assert found(TEXT, "model", "schedule") == []
    assert found(TEXT) == []
