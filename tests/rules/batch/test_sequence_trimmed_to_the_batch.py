"""Packed sequences that came back shorter than their targets, on hand-made recordings."""

from dataclasses import replace
from textwrap import dedent

import pytest

from recorded_operations import found_by
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Crash,
    Frame,
    Operation,
    Process,
    Value,
)
from surefit.rules.batch.sequence_trimmed_to_the_batch import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True)
        output, _ = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.proj(output)
    loss = criterion(logits.transpose(1, 2), tags)
    """
)
LOGITS = Value("logits", "Tensor", 1, shape=(8, 28, 5))
TAGS = Value("tags", "Tensor", 2, shape=(8, 30))
OWN = Frame(
    Place("train.py", 6),
    "<module>",
    own=True,
    line="loss = criterion(logits.transpose(1, 2), tags)",
    expression="criterion(logits.transpose(1, 2), tags)",
    values=(LOGITS, TAGS),
)
LOSS = Frame(
    Place("torch/nn/functional.py", 3555),
    "cross_entropy",
    own=False,
    values=(Value("input", "Tensor", 3, shape=(8, 5, 28)), replace(TAGS, text="target")),
    arguments=("input", "target"),
)
CRASH = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: sizes", (OWN, LOSS))


def made(serial: int, name: str, line: int, shape: tuple[int, ...], *takes: int) -> Operation:
    place = Place("train.py", line)
    own = not name.startswith("_")
    return Operation(serial, name, place, place, own, shape, "float32", True, takes)


STORY = (
    made(9, "transpose", 6, (8, 5, 28), 8),
    made(8, "linear", 5, (8, 28, 5), 7),
    made(7, "_pad_packed_sequence", 4, (8, 28, 16), 6),
    made(6, "lstm", 3, (150, 16), 5),
    made(5, "_pack_padded_sequence", 2, (150, 24), 4),
    made(4, "embedding", 2, (8, 30, 24), 3),
)


def found(
    crash: Crash = CRASH, story: tuple[Operation, ...] = STORY, text: str = TEXT
) -> list[Finding]:
    return found_by(RULE, text, crash, stories={(1, "input"): story})


def test_the_unpacking_is_told_how_long_it_is_to_be() -> None:
    (finding,) = found()
    assert finding.place.line == 4
    assert finding.headline == (
        "`pad_packed_sequence` returns 28 steps, as many as the longest row of this batch has,"
        " and `tags` has 30."
    )
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "batch_first=True, total_length=words.size(1))\n    return" in patched(fix.edit, TEXT)
    assert fix.must == TrainingGoesOn()


@pytest.mark.parametrize(
    ("old", "new", "length"),
    [
        ("self.embed(words), lengths, batch_first=True", "words.mT, lengths", None),
        (
            "packed = pack_padded_sequence(self.embed(words)",
            "packed = pack_padded_sequence(words",
            "words.size(1)",
        ),
        ("self.lstm(packed)", "self.lstm(packed); words = 1", None),
    ],
)
def test_only_a_name_that_keeps_the_length_is_asked(old: str, new: str, length: str | None) -> None:
    for finding in found(text=TEXT.replace(old, new)):
        (fix,) = finding.fixes
        assert (fix.edit is None) is (length is None)
        assert length is None or length in fix.text


def test_look_alikes_are_silent() -> None:
    assert found(text=TEXT.replace("output, batch_first=True)", "output, True, 0, 30)")) == []
    longer = replace(TAGS, text="target", shape=(8, 29))
    crash = replace(CRASH, frames=(OWN, replace(LOSS, values=(LOSS.values[0], longer))))
    assert found(crash) == [], "as long as went into the packing: no"
    full = (*STORY[:5], made(4, "embedding", 2, (8, 28, 24), 3))
    assert found(story=full) == [], "nothing was cut off"
    assert found(story=STORY[:2]) == [], "it came from no unpacking"
