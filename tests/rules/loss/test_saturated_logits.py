"""A clamp that lets no gradient through is named, with what the loss is made of."""

from dataclasses import asdict, replace
from textwrap import dedent
from typing import Any

import pytest

from surefit.doctor.conditions.parameters import GradientsFlow
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import (
    Answer,
    Operation,
    OptimizerSeen,
    ParameterSeen,
    Process,
    Question,
    RootSeen,
    Script,
    Steps,
)
from surefit.doctor.recording import Recording
from surefit.laws.runs import violations_in
from surefit.rules.loss.saturated_logits import RULE
from surefit.source.edits import patched

FILE = "distil.py"
TEXT = """
    import torch
    from torch.nn import functional as F

    def model(layers):
        return GPT2LMHeadModel(layers)

    teacher = model(2)
    student = model(1)
    logits = torch.clamp(student(tokens), -10, 10)
    ce = F.cross_entropy(logits, labels).float()
    kd = torch.zeros(())
    loss = 0.9 * ce + 0.1 * kd
"""
QUESTION = Question("story-of-loss", "", {"step": 0})
ZERO = ParameterSeen("head.weight", (4, 4), "float32", None, 3, looked=9, zero=9, held_by=5)
STEPS = Steps(
    Process(7),
    steps=12,
    seconds=1.0,
    looked=9,
    cycles={"TZBS": 12},
    losses=((0, 9.7453125), (11, 9.7453125)),
    least_loss=9.7453125,
    greatest_loss=9.7453125,
    backwards=12,
    optimizers=(OptimizerSeen("AdamW", Place(FILE, 20), 5, 1, 12, 5e-6, 5e-6, 0, 9),),
    parameters=(ZERO, replace(ZERO, name="head.bias")),
    roots=(
        RootSeen("GPT2LMHeadModel", Place(FILE, 5), 1, 9000),
        RootSeen("GPT2LMHeadModel", Place(FILE, 5), 2, 8000, training=12),
    ),
)


def made(serial: int, name: str, line: int, **more: Any) -> Operation:
    place = Place(FILE, line)
    more = {"shape": (), "dtype": "float32", "grad": True, **more}
    return Operation(serial, name, place, place, own=True, contiguous=True, **more)


CLAMP = made(
    4,
    "clamp",
    9,
    shape=(14, 50257),
    dtype="float16",
    takes=(3,),
    numbers=(-10.0, 10.0),
    elements=703598,
    saturated=703598,
    least=-65.625,
    greatest=-54.4375,
)
STORY = (
    made(10, "add", 12, takes=(8, 9), result=9.7453125),
    made(9, "mul", 12, takes=(7,), numbers=(0.1,), result=0.0, grad=False),
    made(8, "mul", 12, takes=(6,), numbers=(0.9,), result=9.7453125),
    made(7, "zeros", 11, result=0.0, grad=False),
    made(6, "float", 10, takes=(5,), result=10.828125),
    made(5, "cross_entropy", 10, dtype="float16", takes=(4,), result=10.828125),
    CLAMP,
    made(3, "linear", 9, shape=(14, 50257), dtype="float16"),
)


def recorded(
    steps: Steps = STEPS,
    story: tuple[Operation, ...] | None = STORY,
    past_clamps: int = 0,
    text: str = TEXT,
) -> Recording:
    seen = Recording([Script(FILE, dedent(text).lstrip("\n"), main=True), steps])
    if story is not None:
        operations: Any = [asdict(one) for one in story]
        said = {"operations": operations, "parameters": 2, "past_clamps": past_clamps}
        seen.observations.append(Answer(QUESTION, said))
    return seen


def found(seen: Recording) -> list[Finding]:
    return list(RULE.look(seen, violations_in(seen, [])))


def facts(finding: Finding) -> dict[str, str]:
    return {fact.name: fact.value for fact in finding.facts}


def test_the_clamp_is_named_with_what_went_in() -> None:
    (finding,) = found(recorded())
    assert finding.place == Place(FILE, 9)
    assert finding.severity is Severity.ERROR
    assert finding.headline == (
        "`torch.clamp(student(tokens), -10, 10)` holds back all 703,598 elements of"
        " `student(tokens)`: no gradient passes it, and nothing learns."
    )
    said = facts(finding)
    assert said["its bounds"] == "-10 and 10"
    assert said["what goes in"] == "-65.6 … -54.4, at the first step"
    assert said["gradients"] == "exactly zero in 2 parameters, at each of 9 steps looked at"
    assert said["loss"] == "9.7453, each of 12 times"


def test_the_loss_is_decoded() -> None:
    (finding,) = found(recorded())
    assert facts(finding)["9.7453"] == (
        "= 0.9 × 10.828; 10.828 is ln 50257 (10.8249) in float16, the cost of a uniform guess"
    )


def test_a_teacher_that_was_never_run_is_named() -> None:
    (finding,) = found(recorded())
    assert facts(finding)["`teacher`"] == (
        "created at distil.py:5 and never run; a term of the loss is the 0 of distil.py:11"
    )
    assert "`student`" not in facts(finding)


def test_the_other_ways_to_the_same_picture_are_ruled_out() -> None:
    (finding,) = found(recorded())
    said = {fact.name: fact.value for fact in finding.ruled_out}
    assert said["learning rate"] == "times zero it is zero (5e-06 was used)"
    assert said["skipped steps"] == "none of 12 steps was left out"
    assert set(said) == {"learning rate", "lost updates", "skipped steps", "not in the optimizer"}


def test_what_was_seen_is_not_ruled_out() -> None:
    steps = replace(STEPS, skipped=3, outside=(replace(ZERO, held_by=None),))
    (finding,) = found(recorded(steps))
    assert [fact.name for fact in finding.ruled_out] == ["learning rate", "lost updates"]


def test_the_fix_takes_the_clamp_away_and_gradients_must_flow() -> None:
    seen = recorded()
    (finding,) = found(seen)
    (fix,) = finding.fixes
    assert fix.must == GradientsFlow(changes_the_past=True, steps=2)
    source = seen.source(FILE)
    assert source is not None
    assert fix.edit is not None
    assert "logits = student(tokens)\n" in patched(fix.edit, source.text)


@pytest.mark.parametrize(
    ("written", "mended"),
    [
        ("logits = student(x).clamp(min=-10, max=10)", "logits = student(x)"),
        ("logits = torch.clamp(a + b, -10, 10) / 2", "logits = (a + b) / 2"),
        ("logits = torch.clamp(a + b, -10, 10)", "logits = a + b"),
        ("logits = F.hardtanh(student(x), -10, 10)", "logits = student(x)"),
        ("logits = torch.clamp(logits, -10, 10)", ""),
        ("logits.clamp_(-10, 10)", ""),
    ],
)
def test_every_way_to_write_a_clamp_is_taken_away(written: str, mended: str) -> None:
    seen = recorded(text=TEXT.replace("logits = torch.clamp(student(tokens), -10, 10)", written))
    (finding,) = found(seen)
    (fix,) = finding.fixes
    source = seen.source(FILE)
    assert source is not None
    assert fix.edit is not None
    after = patched(fix.edit, source.text).splitlines()
    assert len(after) == len(source.lines) - (not mended)
    assert (after[8] == mended) if mended else after[8].startswith("ce =")


def test_a_clamp_inside_a_library_has_no_edit() -> None:
    inside = replace(CLAMP, own=False, inside=Place("lib/heads.py", 40), name="hardtanh")
    story = tuple(inside if one is CLAMP else one for one in STORY)
    (finding,) = found(recorded(story=story))
    assert finding.headline.startswith("`hardtanh` holds back all 703,598 elements:")
    assert facts(finding)["inside"] == "hardtanh at lib/heads.py:40"
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].choice


def test_a_layer_that_clamps_is_named_where_it_is_made() -> None:
    text = TEXT.replace("teacher = model(2)", "squash = torch.nn.Hardtanh(-10, 10)")
    inside = replace(CLAMP, own=False, inside=Place("torch/nn/modules/activation.py", 294))
    story = tuple(replace(inside, name="hardtanh") if one is CLAMP else one for one in STORY)
    (finding,) = found(recorded(story=story, text=text))
    assert finding.place == Place(FILE, 7, 7)
    assert finding.headline.startswith("`torch.nn.Hardtanh(-10, 10)` holds back all 703,598")
    assert finding.fixes[0].choice
    assert finding.fixes[0].edit is not None
    assert "nn.Identity()" in finding.fixes[0].edit.changes[0].text


def test_the_question_is_asked_before_anything_is_said() -> None:
    seen = recorded(story=None)
    assert found(seen) == []
    assert seen.open_questions == [QUESTION]


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": (replace(ZERO, zero=8),)},
        {"parameters": (replace(ZERO, zero=0, absent=9),)},
        {"parameters": ()},
        {"parameters": (ZERO, replace(ZERO, zero=0, not_finite=9))},
        {"least_loss": 0.0, "greatest_loss": 0.0},
        {"losses_not_finite": 1},
        {"steps": 1},
    ],
    ids=["one-gradient", "absent", "none", "not-finite", "nothing-to-learn", "nan", "one-step"],
)
def test_other_runs_are_not_even_asked_about(changes: dict[str, Any]) -> None:
    seen = recorded(replace(STEPS, **changes), story=None)
    assert found(seen) == []
    assert seen.open_questions == []


def test_another_way_past_the_clamp_means_it_is_not_the_cause() -> None:
    assert found(recorded(past_clamps=1)) == []


def test_a_clamp_that_lets_some_through_is_not_the_cause() -> None:
    partly = tuple(replace(one, saturated=one.elements // 2) for one in STORY)
    assert found(recorded(story=partly)) == []


def test_a_loss_that_varies_is_told_as_it_is() -> None:
    steps = replace(STEPS, least_loss=0.25, greatest_loss=1.25)
    (finding,) = found(recorded(steps))
    assert facts(finding)["loss"] == "0.25 … 1.25, by what each batch holds and by nothing learned"


def test_the_same_clamp_elsewhere_is_mentioned() -> None:
    (finding,) = found(
        recorded(text=TEXT + "    held_out = torch.clamp(student(tokens), -10, 10)\n")
    )
    assert facts(finding)["the same again"] == "at line 13"
