"""What the loss is given, by measures made by hand: when the law is broken, and when it is not."""

from dataclasses import replace
from typing import Any

import pytest

from surefit.doctor.conditions.next_tokens import (
    EndIsTarget,
    LabelsSurvive,
    NextTokenIsTarget,
    PaddingNotScored,
    ScoredFrom,
)
from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_inputs import (
    Collated,
    CollatedLabels,
    LossMeasure,
    LossSite,
    TokenSite,
)
from surefit.doctor.observations import Process, Script, Steps
from surefit.doctor.recording import Recording, as_line, read
from surefit.laws.case import Case
from surefit.laws.invariants.loss_inputs import violations_of, watched

HERE = Place("train.py", 2)
CAUSAL = "import torch\nloss = f(x, is_causal=True)\nloss.backward()\n"
PLAIN = "import torch\nloss = f(x)\nloss.backward()\n"
SHIFTED = f"{CAUSAL}class M:\n    def forward(self, x):\n        return self.body(x[:, :-1])\n"


def site(name: str = "cross_entropy", **more: Any) -> LossSite:
    known: dict[str, Any] = {"shape": (16, 4), "target_shape": (16,), "classes": 4}
    return LossSite(name=name, place=HERE, calls=40, looked=10, **(known | more))


def tokens(shift: int | None = None, **more: Any) -> TokenSite:
    """Every target is the token at one shift."""
    matches = tuple(100 if shift == number else 3 for number in (-1, 0, 1, 2))
    known: dict[str, Any] = {
        "name": "cross_entropy",
        "place": HERE,
        "model": "Net",
        "looked": 8,
        "matches": matches,
        "compared": (100, 100, 100, 100),
        "scored": 100,
    }
    return TokenSite(**(known | more))


def steps(*losses: float) -> Steps:
    bad = sum(loss != loss or abs(loss) == float("inf") for loss in losses)
    return Steps(
        Process(1),
        len(losses),
        1.0,
        len(losses),
        {},
        tuple(enumerate(losses)),
        Place("train.py", 3),
        losses_not_finite=bad,
        backwards=len(losses),
    )


def recording(*seen: LossSite | TokenSite | Steps, text: str = PLAIN) -> Recording:
    measure = LossMeasure(
        process=Process(1),
        sites=tuple(one for one in seen if isinstance(one, LossSite)),
        tokens=tuple(one for one in seen if isinstance(one, TokenSite)),
    )
    others = [one for one in seen if isinstance(one, Steps)]
    return Recording([Script("train.py", text, main=True), *others, measure])


def broken(*seen: LossSite | TokenSite | Steps, text: str = PLAIN) -> list[str]:
    return [type(one).__name__ for one in violations_of(Case(recording(*seen, text=text)))]


SQUARE: dict[str, Any] = {
    "shape": (8, 8),
    "labels": 80,
    "target_least": 0.0,
    "target_greatest": 0.0,
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (site(produced_by="softmax"), ["NotLogits"]),
        (site(produced_by="sigmoid"), ["NotLogits"]),
        (site(produced_by="log_softmax"), []),
        (site(produced_by="relu"), []),
        (site("binary_cross_entropy_with_logits", produced_by="sigmoid"), ["NotLogits"]),
        (site("binary_cross_entropy_with_logits", produced_by="log_softmax"), ["NotLogits"]),
        (site("binary_cross_entropy", produced_by="sigmoid"), []),
        (site("nll_loss", least=-3.0, greatest=2.0), ["NotLogits"]),
        (site("nll_loss", least=-3.0, greatest=-0.1), []),
        (site("nll_loss", produced_by="log_softmax", axis=0), ["SoftmaxOverOtherAxis"]),
        (site("nll_loss", produced_by="log_softmax", axis=1), []),
        (site("mse_loss", produced_by="softmax"), []),
        (site(classes=1, shape=(16, 1)), ["OneClass"]),
        (site(labels=90, ignored=90), ["EveryLabelIgnored"]),
        (site(labels=90, ignored=89, empty=3), []),
        (site("binary_cross_entropy", swapped=10), ["SidesSwapped"]),
        (site("mse_loss", swapped=10), []),
        (site(smoothing=1.0), ["TargetsDoNotCount"]),
        (site(smoothing=0.1), []),
        (site(weights=4, zero_weights=4), ["TargetsDoNotCount"]),
        (site(weights=4, zero_weights=1), []),
        (site("mse_loss", produced_by="sigmoid", elements=100, beyond=60), ["OutOfReach"]),
        (site("mse_loss", produced_by="sigmoid", elements=100, beyond=2), []),
        (site("binary_cross_entropy", elements=100, beyond=40), ["OutOfReach"]),
        (site(loaded=10, target_least=1.0, target_greatest=1.0), ["OneTarget"]),
        (site(loaded=0, target_least=1.0, target_greatest=1.0), []),
        (site(loaded=10, target_least=0.0, target_greatest=1.0), []),
        (site(**SQUARE, square_products=10), ["OnePartnerForAll"]),
        (site(**SQUARE, square_products=9), []),
        (site(**(SQUARE | {"target_greatest": 7.0}), square_products=10), []),
    ],
)
def test_what_a_loss_is_given(given: LossSite, expected: list[str]) -> None:
    assert broken(given) == expected


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        (tokens(0), CAUSAL, ["TargetIsTheInput"]),
        (tokens(0, causal=True), PLAIN, ["TargetIsTheInput"]),
        (tokens(0), PLAIN, []),
        (tokens(0), SHIFTED, []),
        (tokens(-1), CAUSAL, ["TargetIsTheTokenBefore"]),
        (tokens(1), CAUSAL, []),
        (tokens(2), PLAIN, ["TargetIsTheTokenAfterNext"]),
        (tokens(0, matches=(100, 100, 100, 100)), CAUSAL, []),
        (tokens(0, matches=(3, 99, 3, 3)), CAUSAL, []),
    ],
)
def test_targets_against_tokens(given: TokenSite, text: str, expected: list[str]) -> None:
    assert broken(given, text=text) == expected


def test_a_head_on_the_next_token_explains_one_on_the_token_after() -> None:
    other = replace(tokens(2), place=Place("train.py", 1))
    assert broken(tokens(1), other) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (tokens(1, constant=2, others=50), ["OneKindScored"]),
        (tokens(1, constant=2, others=0), []),
        (
            tokens(1, first_scored=(6, 6), lengths={"p_len": 5}, begins_alike=False, unscored=50),
            ["FirstAnswerTokenLeftOut"],
        ),
        (tokens(1, first_scored=(6, 6), lengths={"p_len": 5}, unscored=50), []),
        (
            tokens(1, first_scored=(5, 5), lengths={"p_len": 5}, begins_alike=False, unscored=50),
            [],
        ),
        (tokens(1, ends=12, ends_scored=0, end=2), ["EndIsNoTarget"]),
        (tokens(1, ends=12, ends_scored=1, end=2), []),
        (tokens(1, beginnings=24, rows_looked=24), ["OnlyBeginningsScored"]),
        (tokens(1, beginnings=23, rows_looked=24), []),
        (tokens(1, padded=60, padded_scored=30), ["PaddingScored"]),
        (tokens(1, padded=60, padded_scored=3), []),
        (tokens(1, padded=60, padded_scored=0), []),
    ],
)
def test_tokens_that_count(given: TokenSite, expected: list[str]) -> None:
    assert broken(given) == expected


NAN = float("nan")


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((NAN, NAN, NAN, NAN), ["LossNotFinite"]),
        ((2.0, 1.0, NAN, NAN, NAN), ["LossNotFinite"]),
        ((2.0, NAN, NAN, NAN, 1.0), []),
        ((2.0, 1.0, NAN), []),
        ((2.0, 1.0, 0.5), []),
    ],
)
def test_losses_that_are_not_finite_to_the_end(
    losses: tuple[float, ...], expected: list[str]
) -> None:
    assert broken(steps(*losses)) == expected


def test_what_every_label_ignored_explains_is_said_once() -> None:
    assert broken(site(labels=9, ignored=9), steps(NAN, NAN, NAN)) == ["EveryLabelIgnored"]


def collated(supervised: int, after: int) -> Recording:
    measure = CollatedLabels(
        process=Process(1),
        collators=(
            Collated(
                kind="DataCollatorForLanguageModeling",
                made_at=HERE,
                looked=4,
                rows=48,
                width=12,
                equal_lengths=True,
                labels=576,
                supervised=supervised,
                supervised_after=after,
            ),
        ),
    )
    return Recording([Script("train.py", PLAIN, main=True), measure])


@pytest.mark.parametrize(
    ("supervised", "after", "number"), [(96, 373, 1), (96, 96, 0), (96, 40, 0), (576, 600, 0)]
)
def test_labels_that_a_collator_replaces(supervised: int, after: int, number: int) -> None:
    assert len(list(violations_of(Case(collated(supervised, after))))) == number
    assert LabelsSurvive().judge(Recording([]), collated(supervised, after)).held is (
        supervised == after
    )


def test_it_says_what_it_was_measured_on() -> None:
    assert watched(Recording([])).why_not == "no loss was seen"
    assert watched(recording(site(), steps(1.0))).on.startswith("10 calls of loss functions")


@pytest.mark.parametrize(
    ("condition", "good", "bad"),
    [
        (NextTokenIsTarget(), tokens(1), tokens(2)),
        (ScoredFrom(position=5), tokens(1, first_scored=(5, 5)), tokens(1, first_scored=(6, 6))),
        (PaddingNotScored(), tokens(1, padded=9), tokens(1, padded=9, padded_scored=2)),
        (EndIsTarget(), tokens(1, ends=4, ends_scored=4), tokens(1, ends=4, ends_scored=3)),
    ],
)
def test_what_a_fix_must_achieve(condition: Any, good: TokenSite, bad: TokenSite) -> None:
    before = recording()
    assert condition.judge(before, recording(good)).held
    assert not condition.judge(before, recording(bad)).held
    unknown = condition.judge(before, before)
    assert not unknown.held
    assert not unknown.decided


def test_a_measure_is_read_as_it_was_written() -> None:
    seen = recording(site(produced_by="softmax"), tokens(1, first_scored=(5, 6)))
    again = read([as_line(one) for one in seen.observations])
    assert list(again.all(LossMeasure)) == list(seen.all(LossMeasure))
