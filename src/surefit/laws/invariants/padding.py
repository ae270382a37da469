"""Padding does not matter: with less of it, or none, the outputs of a row are the same."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, GenerateCall, Generated, OperationSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.invariants.independent_rows import facts, share, why_not
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.mixing_operations import ATTENTION, RECURRENT, SOFTMAX
from surefit.laws.operations.operation_calls import line_of

LAW = Law("padding", "padding does not matter")
POOLS = frozenset(("mean", "max", "amax"))
"""Operations that take padding for a part of a row. Recurrent layers and convolutions are not
among them: these are run over short padding on purpose. Where a row is to give a single result, the
state after its padding is another matter."""
PICKS = frozenset(("__getitem__", "select"))
BOTH_WAYS = "7"
"""Number of the argument that says whether a recurrent operation goes both ways."""
PADDED = 3
"""Axes of what a recurrent layer is given, unless it is packed."""
POOLED = 2
"""Axes of an output that has a vector for each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingIsSeen(BrokenLaw):
    """What a row gives changes with the padding after it."""

    operation: OperationSeen
    argument: str
    """The mask or the lengths that the model is given; empty where it is given none."""
    inverted: bool
    """It sees padding, and not what stands before it."""
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAfterPadding(BrokenLaw):
    """What stands for a row is taken from its last position, which is padding."""

    operation: OperationSeen
    """What picks the last position, or the recurrent layer whose last state is used."""
    argument: str
    """As in `PaddingIsSeen`."""
    forgotten: bool
    """A change of the row changes nothing, and its padding does."""
    zeros: bool
    """The position holds zeros, with which rows were filled up when they were unpacked."""
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuedAfterPadding(BrokenLaw):
    """A decoder-only model continues rows after their padding."""

    call: GenerateCall


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for generated in case.recording.all(Generated):
        for call in generated.lines:
            if call.padded and call.place is not None:
                yield continued(call, case)
    told: set[str] = set()
    for made in case.recording.all(Experimented):
        broken = seen(made, case) or read_after(made, case)
        if broken is not None and broken.fault not in told:
            told.add(broken.fault)
            yield broken


def continued(call: GenerateCall, case: Case) -> ContinuedAfterPadding:
    assert call.place is not None
    return ContinuedAfterPadding(
        use=line_of(case, call.place),
        said=f"{counted(call.padded, 'prompt')} of {call.rows:,} that {code(call.model)} continues"
        " have padding at their end; 0 are expected.",
        facts=(
            Fact("prompts", f"{call.rows:,} in {counted(call.calls, 'call')} of `generate`"),
            Fact("padded on the right", f"{call.padded:,}, by up to {call.tokens} tokens"),
        ),
        steps=call.step + 1,
        fault=f"generation after padding at {call.place}",
        call=call,
    )


def seen(made: Experimented, case: Case) -> PaddingIsSeen | None:
    tried, operation = made.padding, made.padding.operation
    if not tried.changed or operation is None or not operation.numbers:
        return None
    pools = operation.name in POOLS and bool(tried.argument) and len(operation.inputs) == 1
    if operation.name not in ATTENTION | SOFTMAX and not pools:
        return None
    place = operation.place or made.place
    if place is None:
        return None
    return PaddingIsSeen(
        use=line_of(case, place),
        said=f"The output of {code(made.model)} for a row changes by {share(tried)} of its largest"
        " value when padding after the row is left out, where 0 is expected.",
        facts=(
            *facts(made, tried),
            Fact("padding is kept apart until", code(operation.name)),
        ),
        steps=made.step + 2,
        fault=f"padding is seen at {place}",
        operation=operation,
        argument=tried.argument,
        inverted=tried.hidden,
        model=made.model,
    )


def read_after(made: Experimented, case: Case) -> ReadAfterPadding | None:
    tried, operation = made.padding, made.padding.operation
    place = operation.place if operation is not None else None
    if not tried.changed or operation is None or place is None or not operation.numbers:
        return None
    if len(tried.output) != POOLED or not (picks_last(operation) or gives_last_state(operation)):
        return None
    if not tried.argument and (made.training or not tried.hidden):
        return None  # nobody says that padding is not to be read, and it may do no harm
    change = "a longer row is in its batch" if tried.beside else "padding after the row is left out"
    return ReadAfterPadding(
        use=line_of(case, place),
        said=f"The output of {code(made.model)} for a row changes by {share(tried)} of its largest"
        f" value when {change}, where 0 is expected: it is read from the last position, which is"
        " padding.",
        facts=facts(made, tried),
        steps=made.step + 2,
        fault=f"padding is read at {place}",
        operation=operation,
        argument=tried.argument,
        forgotten=tried.hidden,
        zeros=tried.beside,
        model=made.model,
    )


def picks_last(operation: OperationSeen) -> bool:
    """`out[:, -1]`, `out.select(1, -1)`, `out[-1]` where positions come first."""
    if operation.name not in PICKS:
        return False
    indices = [part for text in operation.arguments.values() for part in text.split(", ")]
    return "-1" in indices


def gives_last_state(operation: OperationSeen) -> bool:
    """In one direction: the other begins in padding, which does little. Packed rows have no axis
    of positions."""
    is_padded = operation.name in RECURRENT and len(operation.inputs[0]) == PADDED
    return is_padded and operation.arguments.get(BOTH_WAYS) == "False"


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Experimented))
    tried = [made for made in every if made.padding.judged]
    rows = sum(call.rows for measure in recording.all(Generated) for call in measure.lines)
    parts = [f"{code(made.model)} on {made.padding.on}" for made in tried[:1]]
    parts += [f"{counted(rows, 'prompt')} given to `generate`"] if rows else []
    if parts:
        return MeasuredOn(on=" and ".join(parts))
    return MeasuredOn(why_not=why_not(every, lambda made: made.padding))
