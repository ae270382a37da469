"""Evaluation is evaluation: models measure in evaluation mode and learn in training mode."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.modes import (
    DropoutCall,
    LayerModes,
    ModelCalls,
    Modes,
    ModeSet,
    SteppedInMode,
)
from surefit.doctor.observations import CallSite
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, spoken
from surefit.laws.case import Case
from surefit.laws.evaluation.measured_results import is_measured
from surefit.laws.evaluation.mode_words import active_layers, evaluation_facts, quiet_layers
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_sources import call_at, entering_loss
from surefit.source.reading import Source, dotted

LAW = Law("evaluation_mode", "models measure in evaluation mode and learn in training mode")

NO_MODES = LayerModes()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeLaw(BrokenLaw):
    """What all of these have: the model and its calls."""

    name: str
    """What the source calls the model."""
    calls: ModelCalls
    modes: LayerModes
    learned_at: CallSite | None = None
    """A call that it learns by."""
    switches: tuple[ModeSet, ...] = ()
    """Of this model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedInTrainingMode(ModeLaw):
    """Numbers are measured on a model whose dropout or batch norm is in training mode."""

    shared: bool = False
    """Training runs the same line, so that only its caller can change the mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedInEvaluationMode(ModeLaw):
    """A model learns while its dropout or batch norm is in evaluation mode."""

    stepped: SteppedInMode
    stuck: bool
    """An evaluation put it there."""
    part: str = ""
    """The part of the model that is in evaluation mode."""
    switched: ModeSet | None = None
    """The `eval()` that nobody took back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropoutInEvaluation(BrokenLaw):
    """A dropout is active though the model is in evaluation mode."""

    dropout: DropoutCall


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsChangedInEvaluation(ModeLaw):
    """A call in evaluation mode changes running statistics."""


def watched(recording: Recording) -> MeasuredOn:
    every = [calls for modes in recording.all(Modes) for calls in modes.calls]
    evaluation = [calls for calls in every if not calls.learned]
    trained = [calls for calls in every if calls.learned]
    if not trained:
        return MeasuredOn(why_not="no model was trained")
    if not evaluation:
        return MeasuredOn(why_not="no evaluation was seen")
    measured = sum(calls.calls for calls in evaluation)
    learned = sum(calls.calls for calls in trained)
    return MeasuredOn(on=f"{counted(measured, 'call')} in evaluation and {learned:,} in training")


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for modes in case.recording.of_first_rank(Modes):
        yield from dropouts(modes)
        yield from evaluated(case, modes)
        yield from trained(case, modes)
        yield from changed(case, modes)


def last(calls: ModelCalls) -> LayerModes:
    return calls.looks[-1] if calls.looks else NO_MODES


def loudest(calls: ModelCalls) -> LayerModes:
    return max(calls.looks, key=lambda look: look.dropouts + look.norms, default=NO_MODES)


def learning(modes: Modes, serial: int) -> CallSite | None:
    sites = [calls.site for calls in modes.calls if calls.serial == serial and calls.learned]
    return next((site for site in sites if site is not None), None)


def of(modes: Modes, serial: int) -> tuple[ModeSet, ...]:
    return tuple(switch for switch in modes.switches if switch.serial == serial)


def written(case: Case, site: CallSite | None) -> tuple[Source | None, ast.Call | None]:
    source = case.source(site.place) if site is not None else None
    return source, call_at(source, site) if source is not None and site is not None else None


def evaluated(case: Case, modes: Modes) -> Iterator[EvaluatedInTrainingMode]:
    for calls in modes.calls:
        look = loudest(calls)
        active = look.dropouts or look.norms or calls.drawn
        learned_at = learning(modes, calls.serial)
        if calls.learned or not calls.training or not active or learned_at is None:
            continue
        if calls.grad and calls.followed < min(calls.calls, 2):
            continue
        if 4 * calls.repeated > calls.calls or 2 * calls.as_trained > calls.calls:
            continue
        source, call = written(case, calls.site)
        if source is None or call is None or not dotted(call.func):
            continue
        if not is_measured(source, call) or feeds_the_loss(source, call, calls, modes):
            continue
        name = dotted(call.func)
        yield EvaluatedInTrainingMode(
            use=case.expression(source, call),
            said=f"`{name}` is evaluated in training mode: {active_layers(look)}.",
            facts=tuple(evaluation_facts(calls, of(modes, calls.serial))),
            steps=calls.first_step + 1,
            fault=f"evaluated in training mode: {calls.serial}",
            name=name,
            calls=calls,
            modes=look,
            learned_at=learned_at,
            switches=of(modes, calls.serial),
            shared=is_shared(calls, modes),
        )


def is_shared(calls: ModelCalls, modes: Modes) -> bool:
    return any(entry.site == calls.site and entry.learned for entry in modes.calls)


def feeds_the_loss(source: Source, call: ast.Call, calls: ModelCalls, modes: Modes) -> bool:
    """What is computed without gradients can be the target of a loss. Where training runs the same
    line, that tells nothing of this call."""
    if is_shared(calls, modes):
        return False
    places = [place for place in modes.backward_at if place.file == source.file]
    return any(call in entering_loss(source, place, lambda _: False) for place in places)


def trained(case: Case, modes: Modes) -> Iterator[TrainedInEvaluationMode]:
    for stepped in modes.stepped:
        learned = [
            entry for entry in modes.calls if entry.serial == stepped.serial and entry.learned
        ]
        quiet = [entry for entry in learned if not entry.training]
        if stepped.evaluating and quiet:
            found = whole_model(case, modes, stepped, quiet[0])
        else:
            found = part_of_model(case, modes, stepped, learned)
        if found is not None:
            yield found


def whole_model(
    case: Case, modes: Modes, stepped: SteppedInMode, calls: ModelCalls
) -> TrainedInEvaluationMode | None:
    look = last(calls)
    switches = of(modes, stepped.serial)
    switched = next((entry for entry in reversed(switches) if not entry.training), None)
    measured = any(
        entry.serial == stepped.serial and not entry.training and not entry.learned
        for entry in modes.calls
    )
    stuck = measured and switched is not None
    if not look.dropouts_off and not (stuck and (look.norms_off or look.readers)):
        return None
    if stepped.training and not stuck:
        return None
    return in_evaluation_mode(case, modes, stepped, calls, look, switched, stuck=stuck)


def part_of_model(
    case: Case, modes: Modes, stepped: SteppedInMode, learned: list[ModelCalls]
) -> TrainedInEvaluationMode | None:
    """Parts with dropouts that learned in training mode before, or never did since they were
    loaded."""
    for calls in learned:
        look = last(calls)
        parts = [part for part in look.parts_off if part]
        if not parts or not look.dropouts_off:
            continue
        before = any(earlier.dropouts > look.dropouts for earlier in calls.looks)
        switched = next(
            (entry for entry in reversed(modes.switches) if not entry.training and entry.place),
            None,
        )
        if before and switched is not None:
            return in_evaluation_mode(
                case, modes, stepped, calls, look, switched, stuck=True, part=parts[0]
            )
        if not before and not any(entry.training for entry in of(modes, stepped.serial)):
            return in_evaluation_mode(
                case, modes, stepped, calls, look, None, stuck=False, part=parts[0]
            )
    return None


def in_evaluation_mode(
    case: Case,
    modes: Modes,
    stepped: SteppedInMode,
    calls: ModelCalls,
    look: LayerModes,
    switched: ModeSet | None,
    *,
    stuck: bool,
    part: str = "",
) -> TrainedInEvaluationMode | None:
    source, call = written(case, calls.site)
    if source is None or call is None or not dotted(call.func):
        return None
    name = dotted(call.func)
    model = f"{name}.{part}" if part else name
    first = look.step + 1 if part else stepped.first_evaluating or 1
    count = modes.steps - look.step if part else stepped.evaluating
    steps = f"{counted(count, 'step')} of {modes.steps:,}, from step {first:,} on"
    how = "stays in evaluation mode and is trained so" if stuck else "is trained in evaluation mode"
    facts = [Fact("trained in evaluation mode", steps), Fact("then", quiet_layers(look))]
    if switched is not None:
        facts.append(Fact("`.eval()`", f"at {switched.place}, {counted(switched.times, 'time')}"))
    back = [entry for entry in of(modes, stepped.serial) if entry.training]
    facts.append(
        Fact("`.train()`", f"at {spoken(str(one.place) for one in back)}" if back else "not called")
    )
    return TrainedInEvaluationMode(
        use=case.expression(source, call),
        said=f"`{model}` {how}: {quiet_layers(look)}.",
        facts=tuple(facts),
        steps=first,
        fault=f"trained in evaluation mode: {calls.serial}",
        name=name,
        calls=calls,
        modes=look,
        learned_at=calls.site,
        switches=of(modes, stepped.serial),
        stepped=stepped,
        stuck=stuck,
        part=part,
        switched=switched,
    )


def dropouts(modes: Modes) -> Iterator[DropoutInEvaluation]:
    measured = [calls for calls in modes.calls if not calls.training and not calls.learned]
    for dropout in modes.dropouts if measured else ():
        if dropout.registered or dropout.asked or dropout.place is None:
            continue
        what = f"`{dropout.layer}`" if dropout.layer else f"`{dropout.function}`"
        times = counted(dropout.times, "time")
        yield DropoutInEvaluation(
            use=Expression(dropout.place),
            said=f"{what} (p = {dropout.rate:g}) is active while the model is in evaluation mode.",
            facts=(Fact("active in evaluation mode", times),),
            steps=max(calls.first_step for calls in measured[:1]) + 1,
            fault=f"dropout in evaluation: {dropout.place}",
            dropout=dropout,
        )


def changed(case: Case, modes: Modes) -> Iterator[StatisticsChangedInEvaluation]:
    for calls in modes.calls:
        source, call = written(case, calls.site)
        if calls.learned or not calls.changed or source is None or call is None:
            continue
        names = spoken(f"`{name}`" for name in calls.changed[:3])
        yield StatisticsChangedInEvaluation(
            use=case.expression(source, call),
            said=f"An evaluation of `{dotted(call.func)}` in evaluation mode changes {names}.",
            facts=(Fact("called", f"{counted(calls.calls, 'time')} in evaluation mode"),),
            steps=calls.first_step + 1,
            fault=f"statistics changed in evaluation: {calls.serial}",
            name=dotted(call.func),
            calls=calls,
            modes=last(calls),
        )
        return
