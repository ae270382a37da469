"""A loss that is not finite any more, to the end of the run."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from surefit.doctor.findings import Fact
from surefit.doctor.observations import Steps
from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.laws.contracts.finite_values import ends_the_run
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.loss_law import FEWEST_STEPS, LAW, expression_at

FEWEST = 3
"""Losses in a row, up to the last: a guard that leaves out a batch goes on with finite ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossNotFinite(BrokenLaw):
    """`backward` is called on nan or an infinity, again and again until the run ends."""

    step: int
    """Optimizer steps before the first."""
    value: float


def losses_not_finite(recording: Recording) -> Iterator[LossNotFinite]:
    if ends_the_run(recording):
        return
    for steps in final_steps(recording):
        if steps.process.rank in (None, 0) and steps.loss_at is not None:
            yield from of_process(steps, recording)


def of_process(steps: Steps, recording: Recording) -> Iterator[LossNotFinite]:
    tail = 0
    for _, loss in reversed(steps.losses):
        if isfinite(loss):
            break
        tail += 1
    if tail < FEWEST or steps.losses_not_finite < FEWEST or steps.loss_at is None:
        return
    step, value = steps.losses[-tail]
    since = "from the first step" if tail == len(steps.losses) else f"from step {step + 1}"
    said = f"The loss is {value:g} {since} to the last, and training went on."
    before = [loss for _, loss in steps.losses[:-tail]]
    facts = (
        Fact("not finite", f"{steps.losses_not_finite:,} of {steps.backwards:,} losses"),
        *((Fact("the last finite one", f"{before[-1]:.4g}"),) if before else ()),
    )
    yield LossNotFinite(
        use=expression_at(recording, steps.loss_at),
        said=said,
        facts=facts,
        steps=step + FEWEST_STEPS,
        fault=f"{LAW.name} not finite",
        step=step,
        value=value,
    )
