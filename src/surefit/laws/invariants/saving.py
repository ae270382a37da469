"""What is saved and loaded is what was meant."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.saving import Bests, LiveState, LoadSeen, SavingSeen, TieSeen
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case
from surefit.laws.evaluation.best_choices import assigned, choice_at, keeping
from surefit.laws.evaluation.best_directions import directions_of
from surefit.laws.evaluation.best_never_kept import never_kept, was_compared
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("saving", "what is saved and loaded is what was meant")

FEW = 0.1
"""Of what was given: so little that was loaded was not meant, where another prefix fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStateUsed(BrokenLaw):
    """A state that was kept shares its tensors with the model, and training has changed them."""

    live: LiveState


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingLoaded(BrokenLaw):
    """Entries whose names are not those of the model were passed over."""

    load: LoadSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class TieBroken(BrokenLaw):
    """Parameters that were one tensor are several after loading."""

    tie: TieSeen


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(SavingSeen):
        yield from live_states(case, measure)
        yield from nothing_loaded(measure)
        yield from broken_ties(measure)
    yield from directions_of(case)
    yield from never_kept(case)


def live_states(case: Case, measure: SavingSeen) -> Iterator[LiveStateUsed]:
    """Those that were loaded or saved; else those that are only called the best."""
    used = [live for live in measure.live if live.how != "kept" and live.taken_at is not None]
    for live in used:
        assert live.taken_at is not None
        between = counted(max(0, live.used_step - live.taken_step), "optimizer step")
        what = {
            "loaded": "loading it restores nothing"
            if live.itself
            else "what is loaded are the newest weights",
            "saved": "what is saved are the newest weights",
        }[live.how]
        yield LiveStateUsed(
            use=Expression(live.taken_at),
            said=f"The state of `{live.model}` that was kept here is not a copy: it shares its"
            f" tensors with the model, which took {between} since, so {what}.",
            facts=(
                Fact("kept", f"{live.taken_at}, at step {live.taken_step:,}"),
                Fact(live.how, f"{live.used_at}, at step {live.used_step:,}"),
                Fact("changed since", f"{live.changed:,} of {counted(live.tensors, 'tensor')}"),
            ),
            steps=live.used_step + 1,
            fault=f"live state {live.taken_at}",
            live=live,
        )
    if not used:
        yield from called_the_best(case, measure)


def called_the_best(case: Case, measure: SavingSeen) -> Iterator[LiveStateUsed]:
    """`best_model = model`, in the body of a comparison that writes no file."""
    for live in measure.live:
        place = kept_at(case, live)
        if live.how != "kept" or place is None:
            continue
        yield LiveStateUsed(
            use=Expression(place),
            said=f"`{live.name}` is not a copy: it shares {counted(live.changed, 'tensor')} with"
            " what the optimizer goes on training, so it is always the newest state and never the"
            " best.",
            facts=(
                Fact("kept", f"{place}"),
                Fact("still trained", f"at step {live.used_step:,}"),
            ),
            steps=live.taken_step + 1,
            fault=f"live state {place}",
            lasting=False,
            live=live,
        )


def kept_at(case: Case, live: LiveState) -> Place | None:
    source = case.source(live.used_at)
    if source is None:
        return None
    attribute = live.name.rpartition(".")[2]
    for target, value in assigned(source):
        choice = choice_at(source, value.lineno)
        named = target == live.name or (
            "." in live.name and target.rpartition(".")[2] == attribute and "." in target
        )
        if named and choice is not None:
            calls = [call for call in keeping(source, choice.body) if call.lineno != value.lineno]
            return None if calls else Place(source.file, value.lineno, value.end_lineno)
    return None


def nothing_loaded(measure: SavingSeen) -> Iterator[NothingLoaded]:
    for load in measure.loads:
        if load.place is None or not load.given:
            continue
        fits = load.would_match > max(load.matched, FEW * load.given)
        silent = not load.strict or load.own
        nothing = load.matched == 0 and load.missing and (fits or not load.own)
        little = fits and load.matched <= FEW * load.given
        if not (silent and (nothing or little)):
            continue
        source = f"`{Path(load.file).name}`" if load.file else "what it was given"
        passed_over = (
            "the entries were filtered by name before" if load.own else "`strict=False` hides that"
        )
        yield NothingLoaded(
            use=Expression(load.place),
            said=f"{load.matched:,} of {counted(load.given, 'tensor')} of {source} were loaded into"
            f" `{load.model}`: their names are not its names, and {passed_over}.",
            facts=(
                Fact("given", ", ".join(code(name) for name in load.first_given)),
                Fact(f"`{load.model}` has", ", ".join(code(name) for name in load.first_missing)),
                Fact("not given", f"{counted(load.missing, 'tensor')}, left as they were"),
            ),
            steps=load.step,
            fault=f"nothing loaded {load.place}",
            load=load,
        )


def broken_ties(measure: SavingSeen) -> Iterator[TieBroken]:
    for tie in measure.ties:
        if tie.place is None:
            continue
        names = spoken(code(name) for name in tie.names)
        before = "in what was loaded" if tie.in_file else "before it"
        yield TieBroken(
            use=Expression(tie.place),
            said=f"{names} of `{tie.model}` are one tensor {before} and {len(tie.names)} after this"
            " load: tied weights are no longer tied, and each is trained on its own.",
            facts=(Fact("at step", f"{tie.step:,}"),),
            steps=tie.step,
            fault=f"tie {tie.place}",
            tie=tie,
        )


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(SavingSeen))
    kept = sum(measure.state_dicts for measure in every)
    saves = sum(measure.saves for measure in every)
    loads = sum(load.times for measure in every for load in measure.loads)
    copies = sum(len(measure.saves) for measure in recording.all(Bests))
    looks = sum(measure.best_looks for measure in every)
    if not (kept or saves or loads or copies):
        turns = was_compared(recording)
        if looks:
            return MeasuredOn(on=f"{counted(looks, 'look')} at what is called the best")
        if turns:
            return MeasuredOn(on=f"no state in {counted(turns, 'evaluation')}")
        return MeasuredOn(why_not="nothing was saved, kept or loaded")
    parts = [counted(max(kept, copies), "state"), counted(saves, "save"), counted(loads, "load")]
    return MeasuredOn(on=", ".join(parts))
