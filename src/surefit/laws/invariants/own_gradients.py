"""A step uses its own gradients, once: those of the backward passes since the step before it."""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.gradients import GradientUse, Lines, StepGradients
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, some
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.training.accumulation import accumulation_at
from surefit.laws.training.gradient_violations import (
    AccumulationCleared,
    AccumulationNotAveraged,
    ClippedAfterStep,
    ClippedNothing,
    ClippedWhileScaled,
    GradientsCarriedOver,
    GradientsClearedBeforeStep,
    GradientsUsedAgain,
    LastGroupDropped,
    LossUsedTwice,
    TrainerLossNotAveraged,
)

LAW = Law("own_gradients", "a step uses its own gradients, once")

FEWEST = 3
"""Steps at which a fault must show."""
MOSTLY = 0.9
HALF = 0.5
OFTEN = 0.3
DROPPED = 0.1
"""Share of an epoch's backward passes that must be lost to be told of."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for use in case.recording.of_first_rank(GradientUse):
        yield from of_clips(use)
        yield from of_idle_clips(use)
        for optimizer in use.optimizers:
            yield from of_optimizer(use, optimizer)
            yield from of_groups(use, optimizer, case)
        yield from of_epochs(use)


def of_optimizer(use: GradientUse, optimizer: StepGradients) -> Iterator[BrokenLaw]:
    at = line_of(optimizer.stepped_at) or optimizer.made_at
    looked = optimizer.looked
    if at is None or optimizer.by_hand > OFTEN * looked:
        return
    use_at = Expression(at)
    if optimizer.carried >= FEWEST and optimizer.carried >= HALF * looked:
        yield GradientsCarriedOver(
            use=use_at,
            steps=FEWEST + 1,
            fault=f"gradients carried over {optimizer.serial}",
            said=f"Steps of `{optimizer.kind}` use gradients of earlier steps again: a gradient"
            f" held {optimizer.most_passes:,} backward passes.",
            facts=carried_facts(optimizer),
            optimizer=optimizer,
            cleared=use.cleared,
        )
    elif optimizer.emptied >= FEWEST and optimizer.emptied >= HALF * looked:
        yield GradientsClearedBeforeStep(
            use=use_at,
            steps=FEWEST + 1,
            fault=f"gradients cleared {optimizer.serial}",
            said=f"Gradients are cleared before the step of `{optimizer.kind}`, which has nothing"
            " to apply.",
            facts=(Fact("cleared", f"before {of_looked(optimizer.emptied, looked)}"),),
            optimizer=optimizer,
        )
    elif optimizer.again >= FEWEST and optimizer.again >= OFTEN * looked:
        yield GradientsUsedAgain(
            use=use_at,
            steps=2 * FEWEST,
            fault=f"gradients used again {optimizer.serial}",
            said=f"{of_looked(optimizer.again, looked)} of `{optimizer.kind}` came without a"
            " backward pass since the step before: the same gradients are applied again.",
            facts=(Fact("steps", lines(optimizer.stepped_at)),),
            optimizer=optimizer,
        )
    elif optimizer.doubled >= FEWEST and optimizer.doubled >= MOSTLY * looked:
        yield LossUsedTwice(
            use=Expression(line_of(optimizer.passes_at[1:]) or at),
            steps=FEWEST + 1,
            fault=f"loss used twice {optimizer.serial}",
            said="`backward` is called twice on the same loss before each step, so that its"
            " gradients are twice as large.",
            facts=(Fact("backward passes", lines(optimizer.passes_at)),),
            optimizer=optimizer,
        )


def carried_facts(optimizer: StepGradients) -> tuple[Fact, ...]:
    facts = [
        Fact("backward passes in a step", f"up to {optimizer.most_passes:,}"),
        Fact(
            "norm of the gradient",
            f"{optimizer.norm_own:.3g} from the passes since the last step,"
            f" {optimizer.norm_used:.3g} in use",
        ),
        Fact("so at", of_looked(optimizer.carried, optimizer.looked)),
    ]
    clean = [name for name in optimizer.sampled if name not in optimizer.carried_by]
    if clean:
        facts.append(Fact("carried on in", some(optimizer.carried_by)))
        facts.append(Fact("cleared in", some(clean)))
    return tuple(facts)


def of_groups(use: GradientUse, optimizer: StepGradients, case: Case) -> Iterator[BrokenLaw]:
    """Of several backward passes that make one step."""
    group, times = optimizer.groups[0] if optimizer.groups else (0, 0)
    at, stepped = line_of(optimizer.passes_at), line_of(optimizer.stepped_at)
    if group < 2 or times < FEWEST or times < 0.6 * optimizer.looked or at is None:
        return
    found = accumulation_at(case, stepped, at) if stepped is not None else None
    of_batches = found is not None or optimizer.fed >= MOSTLY * times
    if is_cut_by_epochs(use, optimizer):
        return
    if optimizer.cut >= FEWEST and optimizer.cut >= MOSTLY * optimizer.looked and of_batches:
        yield AccumulationCleared(
            use=Expression(line_of(optimizer.cleared_at) or stepped or at),
            steps=FEWEST + 1,
            fault=f"accumulation cleared {optimizer.serial}",
            said=f"Of the {group} backward passes before a step only a part is used: gradients are"
            " cleared in between.",
            facts=(Fact("cleared", lines(optimizer.cleared_at)),),
            optimizer=optimizer,
            group=group,
        )
        return
    if optimizer.divided or optimizer.undivided < group * FEWEST - group:
        return
    if optimizer.own < MOSTLY * optimizer.looked:
        return
    if use.trainer_groups == group and use.compute_loss_at is not None:
        yield TrainerLossNotAveraged(
            use=Expression(use.compute_loss_at),
            steps=FEWEST + 1,
            fault="trainer loss not averaged",
            said=f"The losses of {group} batches are added up and not divided: gradients are"
            f" {group} times too large.",
            facts=group_facts(optimizer, group),
            group=group,
            created_at=use.trainer_at,
        )
        return
    if found is None or found.divides or optimizer.scale_free:
        return
    yield AccumulationNotAveraged(
        use=Expression(at),
        steps=FEWEST + 1,
        fault=f"accumulation not averaged {optimizer.serial}",
        said=f"The losses of {group} batches are added up and not divided by {group}: each step is"
        f" {group} times as large as for their mean.",
        facts=group_facts(optimizer, group),
        optimizer=optimizer,
        group=group,
        accumulation=found,
    )


def is_cut_by_epochs(use: GradientUse, optimizer: StepGradients) -> bool:
    """Gradients are cleared after a step, and where an epoch ends or begins: what is lost there is
    the last group of an epoch."""
    cleared = sum(times for _, times in optimizer.cleared_at)
    return 0 < optimizer.cut <= use.dropped_epochs and cleared <= optimizer.steps + use.epochs


def group_facts(optimizer: StepGradients, group: int) -> tuple[Fact, ...]:
    return (
        Fact("backward passes for each step", str(group)),
        Fact("their losses", "means of a batch, as they come"),
        Fact("optimizer", optimizer.kind),
    )


def of_clips(use: GradientUse) -> Iterator[BrokenLaw]:
    clip = use.wrong_clip
    if clip is None or clip.place is None:
        return
    if use.clipped_scaled >= FEWEST and use.clipped_scaled >= MOSTLY * use.clips:
        yield ClippedWhileScaled(
            use=Expression(clip.place),
            steps=FEWEST,
            fault="clipped while scaled",
            said=f"Gradients are clipped to {clip.bound:g} while a gradient scaler has them"
            f" multiplied by {clip.scale:,.0f}.",
            facts=(
                Fact("bound", f"{clip.bound:g}, which is {clip.bound / clip.scale:.2g} unscaled"),
                Fact("clipped before unscaling", of_times(use.clipped_scaled, use.clips)),
            ),
            clip=clip,
        )
    steppers = [known for known in use.optimizers if known.steps]
    alone = len(steppers) == 1 and use.clipped_late >= MOSTLY * use.clips
    if alone and use.clipped_late >= FEWEST:
        yield ClippedAfterStep(
            use=Expression(clip.place),
            steps=FEWEST + 1,
            fault="clipped after the step",
            said="Gradients are clipped after the step that used them, so that clipping does"
            " nothing.",
            facts=(Fact("clipped after the step", of_times(use.clipped_late, use.clips)),),
            clip=clip,
            optimizer=steppers[0],
        )


def of_idle_clips(use: GradientUse) -> Iterator[BrokenLaw]:
    """An iterator that is used up is never meant; of several groups of parameters one can be
    without gradients."""
    clip, spent = use.idle_clip, use.clipped_spent >= FEWEST
    idle = use.clipped_spent + use.clipped_none
    if clip is None or clip.place is None:
        return
    if not spent and (use.clipped_none < FEWEST or idle < MOSTLY * use.clips):
        return
    given = "an iterator that is used up" if spent else "no parameter that has a gradient"
    yield ClippedNothing(
        use=Expression(clip.place),
        steps=FEWEST + 2,
        fault="clipped nothing",
        said=f"Gradients are to be clipped to {clip.bound:g}, but the call is given {given}: it"
        " clips nothing.",
        facts=(Fact("clipped nothing", of_times(idle, use.clips)),),
        clip=clip,
        spent=spent,
    )


def of_epochs(use: GradientUse) -> Iterator[BrokenLaw]:
    share = use.dropped / max(1, use.in_epochs)
    always = use.dropped_epochs and use.dropped_epochs >= 0.5 * use.epochs
    steppers = [known for known in use.optimizers if known.steps]
    if not (always and share >= DROPPED and len(steppers) == 1):
        return
    optimizer = steppers[0]
    group = round((use.in_epochs - use.dropped) / optimizer.steps)
    at = line_of(optimizer.stepped_at)
    if group < 2 or at is None:
        return
    each = f"{use.in_epochs // max(1, use.epochs):,} backward passes"
    yield LastGroupDropped(
        use=Expression(at),
        steps=optimizer.steps,
        fault="last group dropped",
        said=f"The last {use.dropped // use.dropped_epochs} of {each} of an epoch reach no step:"
        f" their gradients are dropped, because steps are taken after every {group}.",
        facts=(Fact("lost", f"{share:.0%} of all batches"),),
        optimizer=optimizer,
        group=group,
    )


def watched(recording: Recording) -> MeasuredOn:
    uses = list(recording.all(GradientUse))
    looked = sum(optimizer.looked for use in uses for optimizer in use.optimizers)
    if looked:
        sampled = sum(len(optimizer.sampled) for use in uses for optimizer in use.optimizers)
        return MeasuredOn(on=f"{counted(sampled, 'parameter')} at {counted(looked, 'step')}")
    taken = any(use.steps for use in uses)
    return MeasuredOn(
        why_not="gradients of fewer than two steps were seen" if taken else "no step was taken"
    )


def line_of(found: Lines) -> Place | None:
    return found[0][0] if found else None


def lines(found: Lines) -> str:
    return ", ".join(str(place) for place, _ in found) or "no line of yours"


def of_looked(count: int, looked: int) -> str:
    return f"{count / max(1, looked):.0%} of {looked:,} steps looked at"


def of_times(count: int, every: int) -> str:
    return f"{count:,} of {every:,} times"
