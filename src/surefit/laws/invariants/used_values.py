"""What a batch brings and what is prepared for training is used.

A name that nothing reads is common and harmless. It is none where the source shows what it is for:
the end of an episode beside a target that goes past it, or an argument of this very name that a
call is not given.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.progress import steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.receivers import receiver
from surefit.laws.td_targets import calls_something, is_end, names_behind, td_targets
from surefit.source.reading import Source, called
from surefit.source.unread import UnreadName, bound_together, unread_names

LAW = Law("used_values", "what is prepared for training is used in it")
PROOF_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRead(BrokenLaw):
    """A name with a part to play, and nothing reads it."""

    name: str
    bound_at: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeEndUnread(NeverRead):
    """A target of temporal-difference learning takes the value of the state after an episode."""

    reward: Expression
    reward_name: str
    discounted: Expression
    """`gamma * value`, which the end of an episode leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPassed(NeverRead):
    """A call has a parameter for it, and is not given it."""

    call: Expression
    callee: str
    argument: str


def violations_of(case: Case) -> Iterator[NeverRead]:
    if not steps_taken(case.recording):
        return
    sources = list(case.recording.sources())
    for source in sources:
        for unread in unread_names(source):
            if unread.scope is source.tree and len(sources) > 1:
                continue
            yield from ends_unread(case, source, unread)
            yield from not_passed(case, source, unread)


def bound_at(source: Source, unread: UnreadName) -> Place:
    return Place(source.file, getattr(unread.binder, "lineno", None))


def ends_unread(case: Case, source: Source, unread: UnreadName) -> Iterator[EpisodeEndUnread]:
    beside = bound_together(source, unread)
    if not is_end(unread.name) or len(beside) < 2:
        return
    for target in td_targets(source, unread.scope):
        rewards = names_behind(source, target.reward) & beside
        following = names_behind(source, target.value) & beside - rewards
        if len(rewards) != 1 or not following or not calls_something(source, target.value):
            continue
        whole = case.expression(source, target.whole)
        yield EpisodeEndUnread(
            use=whole,
            law=LAW,
            said=f"`{unread.name}` says where an episode ends, and nothing reads it: `{whole.text}`"
            " goes on past the end",
            facts=(Fact(f"`{unread.name}`", f"bound at line {bound_at(source, unread).line}"),),
            steps=PROOF_STEPS,
            fault=f"{LAW.name} {source.file} {unread.name}",
            name=unread.name,
            bound_at=bound_at(source, unread),
            reward=case.expression(source, target.reward),
            reward_name=min(rewards),
            discounted=case.expression(source, target.discounted),
        )
        return


def not_passed(case: Case, source: Source, unread: UnreadName) -> Iterator[NotPassed]:
    found = receiver(source, unread)
    if found is None:
        return
    call = case.expression(source, found.call)
    callee = called(found.call)
    yield NotPassed(
        use=call,
        law=LAW,
        said=f"`{unread.name}` is never read, and `{callee}` is not given `{found.argument}`",
        facts=(Fact(f"`{unread.name}`", f"bound at line {bound_at(source, unread).line}"),),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {source.file} {unread.name}",
        name=unread.name,
        bound_at=bound_at(source, unread),
        call=call,
        callee=callee,
        argument=found.argument,
    )


def watched(recording: Recording) -> MeasuredOn:
    files = len(list(recording.sources()))
    if not steps_taken(recording) or not files:
        return MeasuredOn(why_not="no training step was seen")
    return MeasuredOn(on=f"the names of {counted(files, 'file')}")
