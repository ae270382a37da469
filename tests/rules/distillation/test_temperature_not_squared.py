"""Divergences of softened distributions beside a cross entropy, with T² and without."""

from dataclasses import replace
from typing import Any

import pytest

from recorded_divergences import FILE, TEXT, beside, divergence, found, mended, recording
from surefit.doctor.conditions.divergences import TermWeighs
from surefit.doctor.findings import Place
from surefit.doctor.observations import DivergenceSeen
from surefit.rules.distillation.temperature_not_squared import RULE

SOFT = "F.kl_div(given, F.softmax(teacher / T, -1))"


def soft(**more: Any) -> DivergenceSeen:
    """The mean over rows, half of the loss."""
    return replace(divergence(reduction="batchmean", value=0.2, place_weight=0.5), **more)


def test_half_and_half() -> None:
    (finding,) = found(RULE, soft())
    assert finding.place.line == 5
    assert finding.headline == (
        "The logits of both sides are divided by `T` = 2, and the divergence is not multiplied by"
        " its square: it counts 4 times less than its weight says."
    )
    assert mended(finding) == [f"soft = {SOFT} * T ** 2"]
    assert finding.fixes[0].must == TermWeighs(Place(FILE, 5), 3, 2.0)
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["weights"] == "0.5 + 0.5 = 1: no factor of 4 is in them"


@pytest.mark.parametrize(
    ("weight", "other"), [(0.9, 0.1), (1.0, 1.0), (0.1, 0.9)], ids=["most", "a sum", "little"]
)
def test_weights_that_are_shares(weight: float, other: float) -> None:
    seen = replace(soft(), weight=weight, place_weight=weight, beside=(beside(other),))
    assert len(found(RULE, seen)) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 1.0},
        {"temperature": None},
        {"weight": 2.0, "place_weight": 2.0},  # a half, times four
        {"weight": 4.0, "place_weight": 4.0, "beside": (beside(1.0),)},
        {"weight": 0.3, "place_weight": 0.3, "beside": (beside(1.0),)},  # tuned
        {"joined": False},
        {"beside": ()},
        {"beside": (beside(0.5, name="mse_loss"),)},
    ],
)
def test_silence(more: dict[str, Any]) -> None:
    assert found(RULE, replace(soft(), **more)) == []


def test_a_number_that_is_not_the_one_in_the_source() -> None:
    text = TEXT.replace("/ T", "/ 2.0")
    assert len(found(RULE, soft(), text=text)) == 1
    assert found(RULE, soft(temperature=3.0), text=text) == []


def test_another_term_changes_nothing() -> None:
    hidden = beside(3.0, name="mse_loss")
    assert len(found(RULE, replace(soft(), beside=(beside(), hidden)))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"soft = {SOFT}.sum(-1).mean()", f"soft = {SOFT}.sum(-1).mean() * T ** 2"),
        (f"soft = 1 + {SOFT}", f"soft = 1 + {SOFT} * T ** 2"),
        (f"soft = (2 * {SOFT})", f"soft = (2 * {SOFT} * T ** 2)"),
    ],
)
def test_where_it_is_multiplied(before: str, after: str) -> None:
    text = TEXT.replace(f"soft = {SOFT}", before)
    (finding,) = found(RULE, soft(), text=text)
    assert mended(finding, text) == [after]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("F.softmax(teacher / T, -1)", "F.softmax(teacher, -1)"),  # one side alone
        ("F.softmax(teacher / T, -1)", "F.softmax(teacher / (2 * T), -1)"),
        ("F.softmax(teacher / T, -1)", "teacher"),  # softened by somebody else
        ("student / T", "student * T"),
    ],
)
def test_what_the_source_does_not_say(before: str, after: str) -> None:
    assert found(RULE, soft(), text=TEXT.replace(before, after)) == []


def test_behind_methods_and_indices() -> None:
    text = TEXT.replace("F.softmax(teacher / T, -1)", "(teacher[mask] / T).softmax(-1).detach()")
    assert len(found(RULE, soft(), text=text)) == 1


def test_a_temperature_without_a_name_there() -> None:
    text = """
        import torch.nn.functional as F
        def soften(logits, T): return F.softmax(logits / T, -1)
        def sharp(logits, T): return F.log_softmax(logits / T, -1)
        def loss_of(student, teacher):
            return F.kl_div(sharp(student, 2.0), soften(teacher, 2.0))
        """
    findings = found(RULE, soft(), text=text)
    assert all(one.fixes[0].why_not_tried for one in findings)


def test_the_patched_term_has_its_weight() -> None:
    must = TermWeighs(Place(FILE, 5), 3, 2.0)
    before = recording(soft())
    assert must.judge(before, recording(replace(soft(), weight=2.0, place_weight=9.0))).held
    assert must.judge(before, recording(replace(soft(), weight=None, place_weight=2.0))).held
    assert not must.judge(before, before).held
    assert not must.judge(before, recording()).decided
