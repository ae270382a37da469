"""Padded places in the mean of a divergence; masks that leave them out."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest

from recorded_divergences import FILE, beside, divergence, found, mended, recording
from surefit.doctor.conditions.divergences import PaddingLeftOut
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import DivergenceSeen, PaddingSeen
from surefit.rules.distillation import divergence_divided_by_the_classes as divided
from surefit.rules.distillation.padding_in_the_divergence import RULE
from surefit.source.edits import both, patched
from surefit.source.reading import Source

PADDED = PaddingSeen(padded=28, counted=28, spared=0, share=0.25, known_by="mask")
HARD = beside(labels=88, ignored=28)


def padded(**more: Any) -> DivergenceSeen:
    """Eight rows of twelve places."""
    usual = divergence(
        shape=(8, 12, 50),
        reduction="none",
        weight=None,
        place_weight=0.5,
        padding=PADDED,
        beside=(HARD,),
    )
    return replace(usual, **more)


def script(line: str) -> str:
    return f"""
    import torch
    import torch.nn.functional as F
    def loss_of(given, wanted, labels, mask):
        rows = len(mask)
        {line}
        return kl.mean()
    """


NONE = script('kl = F.kl_div(given, wanted, reduction="none").sum(-1)')


def only(call: DivergenceSeen, text: str) -> Finding:
    (finding,) = found(RULE, call, text=text)
    return finding


def test_a_mean_over_all_places() -> None:
    finding = only(padded(), NONE)
    assert finding.place.line == 6
    said = "`kl_div` counts 28 of 96 positions that are padding: they make 25% of its term."
    assert finding.headline == said
    assert mended(finding, NONE) == ["return kl[mask != 0].mean()"]
    assert finding.fixes[0].must == PaddingLeftOut(Place(FILE, 5), 3, 68)
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["beside, `cross_entropy`"] == "leaves out 28 of 88"


def test_a_share_of_what_was_looked_at() -> None:
    finding = only(padded(looked=40), NONE)
    assert finding.headline.endswith("25% of its term, over 40 of 96 positions looked at.")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kl.mean()", "kl[mask != 0].mean()"),
        ("torch.mean(kl)", "torch.mean(kl[mask != 0])"),
        ("kl.sum() / kl.numel()", "kl[mask != 0].sum() / kl.numel()"),
    ],
)
def test_ways_to_reduce(before: str, after: str) -> None:
    text = NONE.replace("kl.mean()", before)
    assert mended(only(padded(), text), text) == [f"return {after}"]


def test_a_mean_at_once() -> None:
    text = script('kl = F.kl_div(given, wanted, reduction="none").sum(dim=-1).mean()')
    text = text.replace("return kl.mean()", "return kl")
    said = 'kl = F.kl_div(given, wanted, reduction="none").sum(dim=-1)[mask != 0].mean()'
    assert mended(only(padded(), text), text) == [said]


def test_a_place_less_in_each_row() -> None:
    shifted = replace(PADDED, shifted=True, padding_is=-100, known_by="labels")
    finding = only(padded(shape=(8, 11, 50), padding=shifted), NONE)
    assert mended(finding, NONE) == ["return kl[labels[:, 1:] != -100].mean()"]


def test_reduced_by_the_call() -> None:
    text = script('kl = F.kl_div(given, wanted, reduction="batchmean")')
    finding = only(padded(shape=(96, 50), reduction="batchmean", weight=0.5), text)
    index = "[(mask != 0).reshape(-1)]"
    assert mended(finding, text) == [
        f'kl = F.kl_div(given{index}, wanted{index}, reduction="batchmean")'
    ]
    finding = only(padded(reduction="batchmean", weight=0.5), text)
    factor = " * (mask != 0).unsqueeze(-1)"
    assert mended(finding, text) == [
        f'kl = F.kl_div(given{factor}, wanted{factor}, reduction="batchmean")'
    ]


def test_together_with_another_fix() -> None:
    text = script("kl = F.kl_div(given, 2 * wanted)")
    (first,) = found(divided.RULE, padded(reduction="mean", weight=0.5), text=text)
    (second,) = only(padded(reduction="mean", weight=0.5), text).fixes
    (other,) = first.fixes
    assert second.edit is not None
    assert other.edit is not None
    source = Source(FILE, dedent(text).lstrip("\n"))
    after = patched(both(other.edit, second.edit), source.text)
    index = "[mask != 0]"
    call = f'F.kl_div(given{index}, (2 * wanted){index}, reduction="none").sum(-1).mean()'
    assert f"kl = {call}\n" in after


def test_a_mask_that_only_the_caller_has() -> None:
    beyond = replace(PADDED, known_by="", beyond='batch["attention_mask"]')
    finding = only(padded(padding=beyond), NONE)
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].why_not_tried == '`batch["attention_mask"]` is not known there'


CALLER = """
    import torch.nn.functional as F
    def soft(student, teacher, T):
        wanted = F.softmax(teacher.view(-1, 50) / T, -1)
        given = (student.reshape(-1, 50) / T).log_softmax(-1)
        return F.kl_div(given, wanted, reduction="batchmean")
    for batch in loader:
        mask = batch["mask"]
        loss = soft(model(batch), teacher(batch), T=2.0)
    """


def test_logits_that_the_caller_can_pick() -> None:
    beyond = replace(PADDED, known_by="", beyond="mask")
    seen = padded(padding=beyond, shape=(96, 50), reduction="batchmean", weight=0.5)
    finding = only(seen, CALLER)
    index = "[mask != 0]"
    said = f"loss = soft(model(batch){index}, teacher(batch){index}, T=2.0)"
    assert mended(finding, CALLER) == [said]
    assert finding.fixes[0].must == PaddingLeftOut(Place(FILE, 5), 3, 68)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("student.reshape(-1, 50)", "student[:, :-1]"),  # an index of its own
        ("student.reshape(-1, 50)", "normed(student)"),
        ("mask = batch", "other = batch"),  # not known there either
        ("for batch in loader:", "again = soft(a, b, 1)\n    for batch in loader:"),
    ],
)
def test_logits_that_it_cannot(before: str, after: str) -> None:
    beyond = replace(PADDED, known_by="", beyond="mask")
    seen = padded(padding=beyond, shape=(96, 50), reduction="batchmean", weight=0.5)
    finding = only(seen, CALLER.replace(before, after))
    assert finding.fixes[0].why_not_tried == "`mask` is not known there"


def test_a_mean_that_is_not_found() -> None:
    for line in ("kl.mean(0).mean()", "kl.mean() + kl.sum()", "weighed(kl)"):
        text = NONE.replace("kl.mean()", line)
        assert only(padded(), text).fixes[0].why_not_tried


@pytest.mark.parametrize(
    "more",
    [
        {"padding": None},
        {"padding": replace(PADDED, padded=0, counted=0)},
        {"padding": replace(PADDED, counted=0, spared=28)},  # a mask is multiplied in
        {"padding": replace(PADDED, counted=20, spared=8)},  # something else is left out
        {"place_weight": 0.0},
        {"place_weight": None},
        {"beside": (beside(labels=96, ignored=0),)},  # padding is trained on, on purpose
    ],
)
def test_silence(more: dict[str, Any]) -> None:
    assert found(RULE, padded(**more), text=NONE) == []


def test_labels_that_were_picked_contradict_nothing() -> None:
    only(padded(beside=(beside(labels=60, ignored=0),)), NONE)
    only(padded(beside=()), NONE)


def test_the_patched_divergence_is_about_real_places() -> None:
    must = PaddingLeftOut(Place(FILE, 5), 3, 68)
    before = recording(padded(), text=NONE)
    spared = replace(PADDED, counted=0, spared=28)
    assert must.judge(before, recording(padded(padding=spared), text=NONE)).held
    assert must.judge(before, recording(padded(shape=(68, 50), padding=None), text=NONE)).held
    assert not must.judge(before, before).held
    another = padded(padding=replace(PADDED, padded=40, counted=40))  # of the same step
    assert must.judge(before, recording(another, padded(padding=spared), text=NONE)).held
    assert not must.judge(before, recording(another, padded(), text=NONE)).held
    unseen = recording(padded(padding=replace(PADDED, counted=0)), text=NONE)
    assert not must.judge(before, unseen).decided
    nothing = recording(padded(place_weight=0.0, padding=spared), text=NONE)
    assert not must.judge(before, nothing).held
    unknown = recording(padded(shape=(50, 50), padding=None), text=NONE)
    assert not must.judge(before, unknown).decided
    assert not must.judge(before, recording(text=NONE)).decided
