"""How inputs of evaluation stand to those of training, from hand-made figures."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.phase_inputs import FeatureFigures, PhaseInput, TokenFigures
from surefit.laws.invariants.prepared_alike import (
    FeatureAbsent,
    MaskLeftOut,
    OtherFirstToken,
    OtherOrder,
    OtherScale,
    violation,
)


def feature(mean: float, spread: float, least: float, greatest: float) -> FeatureFigures:
    return FeatureFigures(
        mean=mean,
        spread=spread,
        row_spread=spread,
        least=least,
        greatest=greatest,
        zeros=0.0 if spread else 1.0,
        negative=0.5 if least < 0 else 0.0,
    )


def given(trained: bool, *features: FeatureFigures) -> PhaseInput:
    return PhaseInput(
        taker="Net",
        model=1,
        name="x",
        trained=trained,
        grad=trained,
        stack=(Place("train.py", 9),),
        call=None,
        position=0,
        library="",
        step=0,
        calls=8,
        looked=8,
        rows=256,
        dtype="float32",
        shape=(32, len(features)),
        axis="feature",
        features=features,
        chosen=tuple(range(len(features))),
    )


PLAIN = tuple(feature(0, 1, -3, 3) for _ in range(3))
MIXED = feature(1, 0.1, 0.7, 1.3), feature(4, 1, 1, 7), feature(9, 3, 1, 18)


@pytest.mark.parametrize(
    ("trained", "evaluated", "kind", "certain"),
    [
        (PLAIN, PLAIN, None, None),
        (PLAIN, tuple(feature(900, 120, 500, 1300) for _ in range(3)), OtherScale, True),
        (PLAIN, tuple(feature(0.45, 0.22, 0, 1) for _ in range(3)), OtherScale, False),
        (PLAIN, tuple(feature(0, 3, -9, 9) for _ in range(3)), OtherScale, False),
        (PLAIN, tuple(feature(0.5, 1.2, -3, 4) for _ in range(3)), None, None),
        (PLAIN, (PLAIN[0], PLAIN[1], feature(0, 0, 0, 0)), FeatureAbsent, True),
        (MIXED, (MIXED[2], MIXED[1], MIXED[0]), OtherOrder, True),
    ],
)
def test_features(trained: object, evaluated: object, kind: object, certain: object) -> None:
    broken = violation(given(False, *evaluated), given(True, *trained))  # type: ignore[misc]
    assert (type(broken) if broken else None) is kind
    assert broken is None or broken.certain is certain


TOKENS = TokenFigures(
    first={"1": 256},
    last={},
    rows_with={"1": 256},
    masked={"0": 40},
    runs={},
    padded_left=0,
    padded_right=40,
    positions=False,
)


@pytest.mark.parametrize(
    ("changes", "kind", "certain"),
    [
        ({}, None, None),
        ({"first": {"7": 100, "9": 90}, "rows_with": {"1": 0}}, OtherFirstToken, False),
        ({"first": {"7": 100, "9": 90}, "rows_with": {"1": 9}}, None, None),
        ({"first": {"0": 256}, "rows_with": {"1": 9}}, OtherFirstToken, True),
        ({"masked": {}, "runs": {"0": 60}}, MaskLeftOut, True),
    ],
)
def test_tokens(changes: dict[str, dict[str, int]], kind: object, certain: object) -> None:
    trained = replace(given(True), tokens=TOKENS)
    evaluated = replace(given(False), tokens=replace(TOKENS, **changes))  # type: ignore[arg-type]
    broken = violation(evaluated, trained)
    assert (type(broken) if broken else None) is kind
    assert broken is None or broken.certain is certain
