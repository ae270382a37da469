"""Who makes samples is trained against the model that judges them, not with it."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.judged_samples import JudgedLoss, JudgedSamples
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_law import expression_at

LAW = Law("adversaries", "a generator is trained against its discriminator, not with it")
FEWEST_LOOKED = 3
PROOF_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SameSide(BrokenLaw):
    """The generator's loss wants of the discriminator what the discriminator's own loss wants."""

    generator: JudgedLoss
    """In the discriminator's own loss."""
    reals: JudgedLoss


def violations_of(case: Case) -> Iterator[SameSide]:
    losses = list(judged(case.recording))
    for generator in losses:
        if generator.attached and generator.place and generator.looked >= FEWEST_LOOKED:
            yield from same_side(case, generator, losses)


def same_side(case: Case, generator: JudgedLoss, losses: list[JudgedLoss]) -> Iterator[SameSide]:
    beside = [loss for loss in losses if loss.judge == generator.judge]
    attached = {loss.target for loss in beside if loss.attached}
    fakes = [loss for loss in beside if not loss.attached and loss.maker == generator.maker]
    reals = [loss for loss in beside if loss.maker == 0 and loss.target != generator.target]
    if attached != {generator.target} or {loss.target for loss in fakes} != attached or not reals:
        return
    assert generator.place is not None
    yield SameSide(
        use=expression_at(case.recording, generator.place),
        said=f"The generator's loss has the target {generator.target:g} for its samples, as has"
        " the discriminator's: both want them to be recognised",
        facts=(
            fact("generator's samples", generator),
            fact("the same, detached", fakes[0]),
            fact("other inputs", reals[0]),
        ),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {generator.place}",
        generator=generator,
        reals=reals[0],
    )


def fact(name: str, loss: JudgedLoss) -> Fact:
    line = loss.place.line if loss.place else ""
    return Fact(name, f"target {loss.target:g}, line {line}, {counted(loss.looked, 'time')}")


def judged(recording: Recording) -> Iterator[JudgedLoss]:
    for measure in recording.of_first_rank(JudgedSamples):
        yield from measure.losses


def watched(recording: Recording) -> MeasuredOn:
    looked = sum(loss.looked for loss in judged(recording) if loss.maker)
    if not looked:
        return MeasuredOn(why_not="no model judges the outputs of another")
    return MeasuredOn(on=counted(looked, "call") + " of losses on samples of another model")
