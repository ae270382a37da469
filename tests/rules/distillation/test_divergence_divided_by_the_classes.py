"""A mean over the classes beside another loss; factors that make up for it."""

from dataclasses import replace
from typing import Any

import pytest

from recorded_divergences import (
    FILE,
    PROBABILITIES,
    beside,
    divergence,
    found,
    mended,
    recording,
)
from surefit.doctor.conditions.divergences import DivergenceWeighs
from surefit.doctor.findings import Place
from surefit.rules.distillation.divergence_divided_by_the_classes import RULE


def test_rows_and_classes() -> None:
    (finding,) = found(RULE, divergence())
    assert finding.place.line == 5
    assert finding.headline == (
        "`kl_div` divides by the 50 classes, too: its part of the loss is 50 times smaller than its"
        " weight says."
    )
    said = 'soft = F.kl_div(given, F.softmax(teacher / T, -1), reduction="batchmean")'
    assert mended(finding) == [said]
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["its share of the loss"] == "0.10%; undivided 4.76%"
    assert finding.fixes[0].must == DivergenceWeighs(Place(FILE, 5), 3, 0.5)


def test_three_axes() -> None:
    (finding,) = found(RULE, divergence(shape=(8, 12, 50)))
    call = 'F.kl_div(given, F.softmax(teacher / T, -1), reduction="none").sum(-1).mean()'
    assert mended(finding) == [f"soft = {call}"]


def test_a_layer_that_is_made_elsewhere() -> None:
    text = """
        from torch import nn
        soft = nn.KLDivLoss()

        def loss_of(given, wanted):
            return soft(given, wanted)
        """
    (finding,) = found(RULE, divergence(), text=text)
    assert finding.place.line == 2
    assert mended(finding, text) == ['soft = nn.KLDivLoss(reduction="batchmean")']
    (finding,) = found(RULE, divergence(shape=(8, 12, 50)), text=text)
    said = ['soft = nn.KLDivLoss(reduction="none")', "return soft(given, wanted).sum(-1).mean()"]
    assert mended(finding, text) == said
    again = text.rstrip(" ") + "        other = soft(a, b)\n"
    (finding,) = found(RULE, divergence(shape=(8, 12, 50)), text=again)
    assert finding.fixes[0].why_not_tried


@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0, 0.5 * 4])
def test_weights_without_another_factor(weight: float) -> None:
    seen = divergence(weight=weight, beside=(beside(0.5),))
    assert len(found(RULE, seen)) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"reduction": "batchmean"},
        {"reduction": "none"},
        {"weight": 0.5 * 50},  # times the classes
        {"weight": 25.0},
        {"weight": 0.0},
        {"weight": None},
        {"weight": 3.0},  # no share of anything
        {"beside": ()},
        {"joined": False},
        {"shape": (96, 2)},
        {"shape": (4, 50, 8, 8)},
        {"given": PROBABILITIES},
        {"per_place": float("nan")},
    ],
)
def test_silence(more: dict[str, Any]) -> None:
    assert found(RULE, divergence(**more)) == []


def test_one_call_that_is_not_divided_is_enough_for_silence() -> None:
    assert found(RULE, divergence(), divergence(step=4, weight=25.0)) == []


def test_the_patched_divergence_has_its_weight() -> None:
    must = DivergenceWeighs(Place(FILE, 5), 3, 0.5)
    before = recording(divergence())
    assert must.judge(before, recording(divergence(place_weight=0.5))).held
    assert not must.judge(before, before).held
    assert not must.judge(before, recording(replace(divergence(), step=9))).decided
