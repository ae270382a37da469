"""Recordings of divergences, made by hand for tests of rules."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    DistributionSeen,
    DivergenceSeen,
    Process,
    Script,
    Steps,
    TermSeen,
)
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.source.edits import patched
from surefit.source.reading import Source

FILE = "train.py"
LOGARITHMS = DistributionSeen("logarithms", -9.0, -0.1, True)
PROBABILITIES = DistributionSeen("probabilities", 0.001, 0.4, False)
TEXT = """
    import torch.nn.functional as F
    from torch import nn
    def loss_of(student, teacher, labels, mask, T=2.0):
        given = F.log_softmax(student / T, -1)
        soft = F.kl_div(given, F.softmax(teacher / T, -1))
        return 0.5 * soft + 0.5 * F.cross_entropy(student, labels)
    """
LINE = 5


def beside(weight: float = 0.5, **more: Any) -> TermSeen:
    return replace(TermSeen("cross_entropy", Place(FILE, 6), 4.0, weight, 96, 0), **more)


def divergence(**more: Any) -> DivergenceSeen:
    """The mean over 96 rows and 50 classes, half of the loss."""
    usual = DivergenceSeen(
        Place(FILE, LINE),
        step=3,
        reduction="mean",
        log_target=False,
        shape=(96, 50),
        given=LOGARITHMS,
        target=PROBABILITIES,
        value=0.004,
        per_place=0.2,
        temperature=2.0,
        weight=0.5,
        place_weight=0.01,
        joined=True,
        beside=(beside(),),
    )
    return replace(usual, **more)


def recording(*seen: DivergenceSeen, text: str = TEXT, rank: int | None = None) -> Recording:
    process = Process(1, rank=rank)
    steps = Steps(process, 5, 1.0, 5, {}, ((0, 1.0),), backwards=5, divergences=seen)
    return Recording([Script(FILE, dedent(text).lstrip("\n")), steps])


def found(rule: Rule, *seen: DivergenceSeen, text: str = TEXT) -> list[Finding]:
    return list(rule.look(recording(*seen, text=text)))


def mended(finding: Finding, text: str = TEXT) -> list[str]:
    """Lines of the patched source that were not there before."""
    (fix,) = finding.fixes
    assert fix.edit is not None
    source = Source(FILE, dedent(text).lstrip("\n"))
    after = patched(fix.edit, source.text).splitlines()
    return [line.strip() for line in after if line not in source.lines]
