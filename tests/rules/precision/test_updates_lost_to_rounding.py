"""Updates that round to nothing are told with their figures; runs that learn are left alone."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from surefit.doctor.conditions.parameters import NoUpdatesLost
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Process, Script, Steps
from surefit.doctor.recording import Recording
from surefit.rules.precision.updates_lost_to_rounding import RULE
from surefit.source.edits import patched

FILE = "train.py"
TEXT = """
    import torch
    from torch import nn

    model = nn.Linear(64, 8).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
"""
WEIGHT = ParameterSeen(
    "weight",
    (8, 64),
    "bfloat16",
    Place(FILE, 4),
    2,
    held_by=5,
    looked=9,
    sampled=2304,
    unchanged=2281,
    update=1e-5,
    spacing=4.9e-4,
)
BIAS = replace(WEIGHT, name="bias", shape=(8,), sampled=72, unchanged=0)
OPTIMIZER = OptimizerSeen("AdamW", Place(FILE, 5), 5, 2, 60, 1e-5, 1e-5, 0, 9)


def recorded(text: str = TEXT, **changes: Any) -> Recording:
    steps = Steps(
        Process(7),
        60,
        1.0,
        9,
        {"TZBS": 60},
        (),
        optimizers=(OPTIMIZER,),
        parameters=(WEIGHT, BIAS),
    )
    script = Script(FILE, dedent(text).lstrip("\n"), main=True)
    return Recording([script, replace(steps, **changes)])


def found(seen: Recording) -> list[Finding]:
    return list(RULE.look(seen))


def test_the_line_that_chose_the_type_is_the_place() -> None:
    (finding,) = found(recorded())
    assert finding.place == Place(FILE, 4, 4)
    assert finding.severity is Severity.ERROR
    assert finding.headline == (
        "97.5% of the weights that `optimizer` is to change stay as they are: in `bfloat16`"
        " its steps round to nothing."
    )
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["unchanged to the bit"] == (
        "2,281 of 2,376 elements with a gradient, at 9 steps looked at"
    )
    assert facts["`weight`"] == "a step of 1e-05 where `bfloat16` numbers are 0.00049 apart"
    assert facts["rate of `optimizer`"] == "1e-05 at most, AdamW"


def test_a_tensor_counts_by_its_size_and_not_by_its_samples() -> None:
    """Norms and biases are sampled as often as matrices, and are few."""
    small = replace(BIAS, sampled=5000, unchanged=5000)
    large = replace(WEIGHT, unchanged=1000)
    assert found(recorded(parameters=(large, small))) == []


def test_the_fix_keeps_float32_and_must_lose_less() -> None:
    seen = recorded()
    (finding,) = found(seen)
    (fix,) = finding.fixes
    assert fix.must == NoUpdatesLost(0.5, changes_the_past=True, steps=3)
    source = seen.source(FILE)
    assert source is not None
    assert fix.edit is not None
    assert "model = nn.Linear(64, 8)\n" in patched(fix.edit, source.text)


def test_without_one_line_to_change_there_is_text_alone() -> None:
    text = TEXT.replace(".to(torch.bfloat16)", "") + "    model.bfloat16()\n    model.bfloat16()\n"
    (finding,) = found(recorded(text))
    assert finding.place == OPTIMIZER.made_at
    assert finding.fixes[0].edit is None
    assert "train.py:6 and train.py:7" in finding.fixes[0].text


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": (replace(WEIGHT, unchanged=1800),)},
        {"parameters": (replace(WEIGHT, dtype="float32"),)},
        {"parameters": (replace(WEIGHT, sampled=0, unchanged=0),)},
        {"parameters": (replace(WEIGHT, update=0.0),)},
        {"parameters": (replace(WEIGHT, sampled=20, unchanged=20),)},
        {"optimizers": (replace(OPTIMIZER, kind="AdamWWithKahanSummation"),)},
        {"optimizers": (replace(OPTIMIZER, looked=1),)},
    ],
    ids=[
        "a-quarter-moves",
        "float32",
        "no-gradient",
        "rate-of-zero",
        "few",
        "keeps-the-rest",
        "one-look",
    ],
)
def test_runs_that_learn_or_were_hardly_seen_are_left_alone(changes: dict[str, Any]) -> None:
    assert found(recorded(**changes)) == []
