"""Probabilities where logarithms are taken, and the other way round."""

from dataclasses import replace

import pytest

from reading import lines, read
from recorded_divergences import (
    FILE,
    LOGARITHMS,
    PROBABILITIES,
    divergence,
    found,
    mended,
    recording,
)
from surefit.doctor.conditions.divergences import SidesFit
from surefit.doctor.findings import Place
from surefit.doctor.observations import DistributionSeen, DivergenceSeen
from surefit.rules.distillation.logarithm_misplaced import RULE

LOGITS = DistributionSeen("", -4.0, 7.0, True)
NOTHING = DistributionSeen("", float("nan"), float("nan"), True)


def sides(
    given: DistributionSeen, target: DistributionSeen, log_target: bool = False
) -> DivergenceSeen:
    return divergence(given=given, target=target, log_target=log_target, per_place=-0.3)


@pytest.mark.parametrize(
    ("given", "target", "log_target"),
    [
        (LOGARITHMS, PROBABILITIES, False),
        (LOGARITHMS, LOGARITHMS, True),
        (LOGARITHMS, replace(PROBABILITIES, grad=True), False),  # reverse, on purpose
        (LOGITS, LOGITS, False),  # no distribution on either side: something else is meant
        (replace(LOGITS, greatest=0.0), PROBABILITIES, False),  # a part of a distribution
        (replace(LOGITS, least=0.0), PROBABILITIES, False),  # neither logits nor probabilities
        (NOTHING, PROBABILITIES, False),
    ],
)
def test_silence(given: DistributionSeen, target: DistributionSeen, log_target: bool) -> None:
    assert found(RULE, sides(given, target, log_target)) == []


def test_probabilities_first() -> None:
    text = """
        import torch.nn.functional as F
        p = F.softmax(student, -1)
        q = F.softmax(teacher, -1)
        log = p.sum()

        loss = F.kl_div(p, q)
        """
    seen = replace(sides(PROBABILITIES, PROBABILITIES), place=Place(FILE, 6))
    (finding,) = found(RULE, seen, text=text)
    assert finding.headline.startswith("`p` is given to `kl_div` as probabilities")
    assert mended(finding, text) == ["loss = F.kl_div(p.log(), q)"]  # `p` has another reader
    assert finding.fixes[0].must == SidesFit(Place(FILE, 6), 3)
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["what comes of it"] == "-0.3 a position; a divergence is never below 0"
    (finding,) = found(RULE, seen, text=text.replace("log = p.sum()", ""))
    assert mended(finding, text.replace("log = p.sum()", "")) == ["p = F.log_softmax(student, -1)"]
    assert finding.place.line == 2  # the line to change


def test_logits_first() -> None:
    (finding,) = found(RULE, sides(LOGITS, PROBABILITIES))
    assert mended(finding) == ["soft = F.kl_div(given.log_softmax(-1), F.softmax(teacher / T, -1))"]


def test_sides_swapped() -> None:
    (finding,) = found(RULE, sides(PROBABILITIES, LOGARITHMS))
    assert mended(finding) == ["soft = F.kl_div(F.softmax(teacher / T, -1), given)"]


def test_logarithms_second() -> None:
    (finding,) = found(RULE, sides(LOGARITHMS, LOGARITHMS))
    said = "soft = F.kl_div(given, F.softmax(teacher / T, -1), log_target=True)"
    assert mended(finding) == [said]


def test_probabilities_second_with_log_target() -> None:
    text = """
        from torch import nn
        soft = nn.KLDivLoss(reduction="batchmean", log_target=True)

        def loss_of(given, wanted):
            return soft(given, wanted)
        """
    (finding,) = found(RULE, sides(LOGARITHMS, PROBABILITIES, log_target=True), text=text)
    assert mended(finding, text) == ['soft = nn.KLDivLoss(reduction="batchmean")']
    assert finding.place.line == 2


def test_calls_that_differ_are_left_alone() -> None:
    good, bad = sides(LOGARITHMS, PROBABILITIES), sides(PROBABILITIES, PROBABILITIES)
    assert found(RULE, good, bad) == []
    assert len(found(RULE, bad, sides(NOTHING, PROBABILITIES))) == 1


def test_a_library_that_calls_it_is_left_alone() -> None:
    assert found(RULE, sides(PROBABILITIES, PROBABILITIES), text="train()\n" * 9) == []


def test_other_ranks_say_nothing() -> None:
    seen = recording(sides(PROBABILITIES, PROBABILITIES), rank=1)
    assert list(RULE.look(seen)) == []


def test_the_patched_call_gets_what_it_takes() -> None:
    must = SidesFit(Place(FILE, 5), 3)
    before = recording(sides(PROBABILITIES, PROBABILITIES))
    assert must.judge(before, recording(divergence())).held
    assert not must.judge(before, before).held
    assert not must.judge(before, recording(divergence(per_place=-0.1))).held
    assert not must.judge(before, recording()).decided


READ = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    soft = nn.KLDivLoss(reduction="batchmean")
    both = nn.KLDivLoss(reduction="batchmean", log_target=True)
    p, q = F.softmax(student, -1), F.log_softmax(teacher, -1)
    """


@pytest.mark.parametrize(
    "line",
    [
        "F.kl_div(F.softmax(student, -1), F.softmax(teacher, -1))",
        "F.kl_div(student.softmax(-1), wanted)",
        "soft(torch.softmax(student, -1), wanted)",
        "soft(F.log_softmax(student, -1), F.log_softmax(teacher, -1))",
        "both(F.log_softmax(student, -1), teacher.softmax(-1))",
        "F.kl_div(F.softmax(teacher, -1), F.log_softmax(student, -1))",
    ],
)
def test_read(line: str) -> None:
    text = READ.rstrip(" ") + f"    loss = {line}\n"
    (finding,) = read(RULE, text)
    assert finding.fixes[0].why_not_tried


@pytest.mark.parametrize(
    "line",
    [
        "F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1))",
        "F.kl_div(student.softmax(-1).log(), wanted)",
        "both(F.log_softmax(student, -1), F.log_softmax(teacher, -1))",
        "both(F.log_softmax(teacher, -1), F.log_softmax(student, -1))",
        "F.kl_div(F.log_softmax(teacher, -1), student.softmax(-1))",
        "F.kl_div(given, wanted, log_target=flag)",
        "F.kl_div(F.log_softmax(student, -1), F.log_softmax(teacher, -1), log_target=flag)",
        "F.kl_div(F.log_softmax(student, -1), F.log_softmax(teacher, -1), **settings)",
    ],
)
def test_read_in_silence(line: str) -> None:
    assert lines(RULE, READ.rstrip(" ") + f"    loss = {line}\n") == []
