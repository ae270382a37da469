"""The target of a loss belongs to what the model was given."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_inputs import LossSite
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.drawn_targets import drawn_target
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.loss_calls import loss_call_at
from surefit.laws.loss_law import measures

LAW = Law("own_targets", "the target of a loss belongs to what the model was given")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
PROOF_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshNoiseTarget(BrokenLaw):
    """A random target that nothing the model was given depends on."""

    target: Expression
    noise: str
    """The name of the noise that the model's input holds."""


def violations_of(case: Case) -> Iterator[FreshNoiseTarget]:
    for site in regressions(case.recording):
        loss = loss_call_at(case, site.place, site.name)
        found = drawn_target(loss) if loss is not None else None
        if loss is None or found is None or site.place is None:
            continue
        target = case.expression(loss.source, found.target)
        draw = case.expression(loss.source, found.draw)
        added = case.expression(loss.source, found.noise_draw)
        yield FreshNoiseTarget(
            use=draw,
            law=LAW,
            said=f"The target is a new random draw, `{draw.text}`, and nothing that the model was"
            " given depends on it",
            facts=(
                Fact("the target", f"`{draw.text}`, line {draw.place.line}"),
                Fact("the noise added", f"`{found.noise} = {added.text}`, line {added.place.line}"),
            ),
            steps=PROOF_STEPS,
            fault=f"{LAW.name} {site.place}",
            target=target,
            noise=found.noise,
        )


def regressions(recording: Recording) -> Iterator[LossSite]:
    for measure in measures(recording):
        for site in measure.sites:
            if site.name in OF_NUMBERS and site.looked:
                yield site


def watched(recording: Recording) -> MeasuredOn:
    looked = sum(site.looked for site in regressions(recording))
    if not looked:
        return MeasuredOn(why_not="no loss of numbers was seen")
    return MeasuredOn(on=counted(looked, "call") + " of losses of numbers")
