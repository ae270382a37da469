"""Law 4: the loss sees what it is meant to see.

Measured at losses of `torch.nn.functional`, at log-probabilities that a script picks by hand, at
collators of transformers, and on the value that `backward` is called on.
"""

from collections.abc import Iterator

from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, MeasuredOn
from surefit.laws.losses.class_weights import weights_of_other_classes
from surefit.laws.losses.finite_losses import losses_not_finite
from surefit.laws.losses.ignored_classes import ignored_classes
from surefit.laws.losses.loss_law import LAW as LAW
from surefit.laws.losses.loss_law import measures
from surefit.laws.losses.loss_preconditions import unmet_preconditions
from surefit.laws.losses.loss_predictions import EveryLabelIgnored, violations_at_losses
from surefit.laws.losses.token_targets import violations_on_tokens


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    at_losses = list(violations_at_losses(case.recording))
    yield from at_losses
    yield from violations_on_tokens(case.recording)
    yield from unmet_preconditions(case)
    yield from ignored_classes(case.recording)
    yield from weights_of_other_classes(case)
    if not any(isinstance(violation, EveryLabelIgnored) for violation in at_losses):
        yield from losses_not_finite(case.recording)


def watched(recording: Recording) -> MeasuredOn:
    looked = sum(site.looked for measure in measures(recording) for site in measure.sites)
    compared = sum(site.looked for measure in measures(recording) for site in measure.tokens)
    losses = sum(steps.backwards for steps in final_steps(recording))
    parts = [
        *([counted(looked, "call") + " of loss functions"] if looked else []),
        *([f"targets against tokens at {counted(compared, 'step')}"] if compared else []),
        *(["a backward pass" if losses == 1 else f"{losses:,} backward passes"] if losses else []),
    ]
    if not parts:
        return MeasuredOn(why_not="no loss was seen")
    return MeasuredOn(on=", ".join(parts))
