"""What a batch brings and what is prepared for training is used.

A name that nothing reads is common and harmless. It is none where the source shows what it is for:
the end of an episode beside a target that goes past it, or an argument of this very name that a
call is not given.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.progress import steps_taken
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import HELD_OUT, words_of
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.td_targets import calls_something, is_end, names_behind, td_targets
from surefit.source.callers import given_by_position, is_open
from surefit.source.classes import Method
from surefit.source.outcomes import function_run
from surefit.source.reading import Source, called, targets
from surefit.source.unread import UnreadName, bound_together, unread_names

LAW = Law("used_values", "what is prepared for training is used in it")
PROOF_STEPS = 8

LOADER = "DataLoader"

CLASS_WORDS = frozenset(("class", "classes", "label", "loss", "ce", "weight", "weights"))

WEIGHED = ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss")
"""Losses that take a weight for each class."""

TRAINING = frozenset(("train", "training"))

MASKS = frozenset(("mask", "attention_mask", "padding_mask", "key_padding_mask", "lengths"))
"""Arguments of a `forward` that leave padding out."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """A call, and the argument that it lacks."""

    call: ast.Call
    argument: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRead(BrokenLaw):
    """A name with a part to play, and nothing reads it."""

    name: str


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
            said=f"`{unread.name}` says where an episode ends, and nothing reads it: `{whole.text}`"
            " goes on past the end",
            facts=(Fact(f"`{unread.name}`", f"bound at line {bound_at(source, unread).line}"),),
            steps=PROOF_STEPS,
            fault=f"{LAW.name} {source.file} {unread.name}",
            name=unread.name,
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
        said=f"`{unread.name}` is never read, and `{callee}` is not given `{found.argument}`",
        facts=(Fact(f"`{unread.name}`", f"bound at line {bound_at(source, unread).line}"),),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {source.file} {unread.name}",
        name=unread.name,
        call=call,
        callee=callee,
        argument=found.argument,
    )


def watched(recording: Recording) -> MeasuredOn:
    files = len(list(recording.sources()))
    if not steps_taken(recording) or not files:
        return MeasuredOn(why_not="no training step was seen")
    return MeasuredOn(on=f"the names of {counted(files, 'file')}")


def receiver(source: Source, unread: UnreadName) -> Receiver | None:
    """None unless exactly one call of the scope fits."""
    if isinstance(unread.binder, ast.arg):
        return None
    found = [
        fitting
        for node in ast.walk(unread.scope)
        if isinstance(node, ast.Call) and node.lineno > binder_line(unread)
        if source.scope_of(node) is unread.scope and not is_open(node)
        for fitting in receivers(source, unread, node)
    ]
    if len(found) > 1:
        found = [fitting for fitting in found if is_alike(source, unread.name, fitting.call)]
    return found[0] if len(found) == 1 else None


def binder_line(unread: UnreadName) -> int:
    return int(getattr(unread.binder, "lineno", 0))


def receivers(source: Source, unread: UnreadName, call: ast.Call) -> Iterator[Receiver]:
    words = words_of(unread.name)
    computed = isinstance(unread.binder, ast.Assign) and isinstance(unread.binder.value, ast.Call)
    if computed and called(call) == LOADER:
        for word, argument in (("sampler", "sampler"), ("collate", "collate_fn")):
            if word in words and not has(call, argument, "batch_sampler", "sampler"):
                yield Receiver(call, argument)
    elif computed and called(call) in WEIGHED and is_of_classes(unread.name):
        argument = "pos_weight" if "pos" in words else "weight"
        if not call.args and not has(call, "weight", "pos_weight"):
            yield Receiver(call, argument)
    elif unread.name in MASKS:
        function = function_run(source, call)
        if function is not None and lacks(source, function, call, unread.name):
            yield Receiver(call, unread.name)


def is_of_classes(name: str) -> bool:
    """`class_weights`, `weights`, `pos_weight`; not `sample_weights`."""
    words = words_of(name)
    return bool(words & {"weight", "weights"}) and words <= CLASS_WORDS | {"pos"}


def has(call: ast.Call, *arguments: str) -> bool:
    return any(keyword.arg in arguments for keyword in call.keywords)


def lacks(source: Source, function: Method, call: ast.Call, argument: str) -> bool:
    """It takes the argument by this name, has a default for it, and reads it."""
    listed = function.args
    plain = [entry.arg for entry in given_by_position(source, function, call)]
    optional = plain[len(plain) - len(listed.defaults) :] if listed.defaults else []
    optional += [entry.arg for entry in listed.kwonlyargs]
    reads = any(isinstance(node, ast.Name) and node.id == argument for node in ast.walk(function))
    given = has(call, argument) or (argument in plain and len(call.args) > plain.index(argument))
    return argument in optional and reads and not given


def is_alike(source: Source, name: str, call: ast.Call) -> bool:
    """`train_sampler`, or `sampler`, for `train_loader = DataLoader(...)`."""
    statement = source.statement_of(call)
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    words = {word for node in targets(statement) for word in words_of(source.segment(node))}
    return bool(words & TRAINING) and not words_of(name) & HELD_OUT
