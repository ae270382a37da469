"""`forward` and `generate` take inputs by name; a Trainer drops columns without such a name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.conditions.inputs import inputs_of
from surefit.doctor.observations import Frame
from surefit.doctor.violations import Violation, narrowed
from surefit.laws.case import Case, use_of
from surefit.laws.rows.argument_names import meant_for
from surefit.laws.training.trainers import (
    TrainerState,
    dropped_columns,
    is_text,
    is_trainer,
    trainer_of,
)

LABELS = "labels"
IDS = {"input_ids", "decoder_input_ids", "inputs_embeds"}
"""What a decoder derives from labels, and misses without them."""
NUMBERS_OF_ROWS = re.compile(r"(^|_)(id|ids|idx|index|uid|guid|row|length|len|fold|split)(_|\d|$)")
"""Columns that count, find or divide rows: never what a classifier is to learn."""
CAUSAL = ("LMHeadModel", "ForCausalLM")
FILTERS, VALIDATES = "_remove_unused_columns", "_validate_model_kwargs"
CALLS = "torch/nn/modules/module.py"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the crashed process says of `forward` of the model."""

    probe: ClassVar[str] = "forward"

    kind: str
    takes: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """Arguments without a default."""
    open: bool = False
    """It has `**kwargs`."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A column that did not get to the argument that it was meant for."""

    column: str
    meant: str
    dropped: bool
    """By a Trainer; otherwise the model was given it under this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardArguments(Violation):
    """A model lacks an input, or was given one that it does not take."""

    model: str
    signature: Signature
    takes: tuple[str, ...]
    received: tuple[str, ...]
    called: bool
    """At the step of the fault it was called at all."""
    trainer: TrainerState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsAstray(ForwardArguments):
    """Columns have other names than the arguments that they were meant for."""

    strays: tuple[Stray, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryColumnDropped(ForwardArguments):
    """`forward` names no column of the rows, so that a Trainer has none left."""

    columns: tuple[str, ...]
    """Those of numbers."""


class LabelsNeverCreated(ForwardArguments):
    """A causal language model was called by a Trainer without labels, and no column is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysNotTaken(Violation):
    """A call gives keys that the function has no argument for."""

    function: str
    model: str
    strange: tuple[str, ...]
    taken: tuple[str, ...]


def violations_of(case: Case) -> Iterator[Violation]:
    if case.crash is None or case.own is None or case.crash.collator is not None:
        return
    last = case.frames[-1]
    if last.function.endswith(VALIDATES):
        yield from unused_by_generate(case, case.own, last)
    elif could_lack_inputs(case, case.own):
        trainer = trainer_of(case)
        signature = case.ask(Signature)
        if signature is not None:
            yield from inputs_lacking(case, case.own, last, signature, trainer)


def could_lack_inputs(case: Case, own: Frame) -> bool:
    """Before anything is asked: a model or a Trainer is involved, or None is where a loss is."""
    calls = any(is_trainer(frame) or frame.place.file.endswith(CALLS) for frame in case.frames)
    return calls or is_none_asked(own) or lacks_loss(own)


def unused_by_generate(case: Case, own: Frame, last: Frame) -> Iterator[KeysNotTaken]:
    unused, every = last.value("unused_model_args"), last.value("model_kwargs")
    names = [value.scalar for value in (unused.members if unused else {}).values()]
    strange = tuple(name for name in names if isinstance(name, str))
    taken = tuple(name for name in (every.members if every else {}) if name not in strange)
    model = last.layer.kind if last.layer else "the model"
    if strange and case.own is not last:
        yield KeysNotTaken(
            use=use_of(own), function="generate", model=model, strange=strange, taken=taken
        )


def inputs_lacking(
    case: Case, own: Frame, last: Frame, signature: Signature, trainer: TrainerState | None
) -> Iterator[Violation]:
    assert case.crash is not None
    calls = inputs_of(case.recording, case.crash.process.rank)
    calls = [call for call in calls if call.step == case.crash.steps]
    takes = (trainer.forward if trainer is not None else ()) or signature.takes
    lacking = ForwardArguments(
        use=use_of(own),
        model=trainer.model if trainer is not None else signature.kind,
        signature=signature,
        takes=takes,
        received=named(tuple(calls[-1].shapes) if calls else (), takes),
        called=bool(calls),
        trainer=trainer,
    )
    dropped = dropped_columns(case, trainer)
    strays = strays_of(lacking, dropped)
    if strays and shows(last, lacking, strays):
        yield narrowed(ColumnsAstray, lacking, strays=strays)
    elif last.function.endswith(FILTERS):
        columns = tuple(name for name, kind in dropped.items() if not is_text(kind))
        yield narrowed(EveryColumnDropped, lacking, columns=columns)
    elif are_labels_never_created(last, lacking, dropped):
        yield narrowed(LabelsNeverCreated, lacking)
    else:
        yield from keys_not_taken(own, last, signature)


def named(received: tuple[str, ...], takes: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments by position get the name that `forward` has for them."""
    numbers = [int(name) for name in received if name.isdigit() and int(name) < len(takes)]
    return (*(takes[number] for number in numbers), *(n for n in received if not n.isdigit()))


def strays_of(lacking: ForwardArguments, dropped: dict[str, str]) -> tuple[Stray, ...]:
    """In the order of the arguments that they were meant for."""
    free = [name for name in lacking.takes if name not in lacking.received]
    strays = [*given_strays(lacking, free), *dropped_strays(lacking, dropped, free)]
    return tuple(sorted(strays, key=lambda stray: lacking.takes.index(stray.meant)))


def given_strays(lacking: ForwardArguments, free: list[str]) -> Iterator[Stray]:
    """What the model was given under a name that it does not take; the last that is left is meant
    for the last argument that must be given."""
    unknown: list[str] = []
    for column in lacking.received:
        meant = meant_for(column, free) if column not in lacking.takes else None
        if meant is not None:
            free.remove(meant)
            yield Stray(column, meant, dropped=False)
        elif column not in lacking.takes and not NUMBERS_OF_ROWS.search(column.lower()):
            unknown.append(column)
    if len(unknown) == len(free) == 1 and free[0] in (*lacking.signature.needs, LABELS):
        yield Stray(unknown[0], free.pop(), dropped=False)


def dropped_strays(
    lacking: ForwardArguments, dropped: dict[str, str], free: list[str]
) -> Iterator[Stray]:
    """The only column of numbers that is dropped before a classifier without labels is taken for
    its labels, whatever its name."""
    left: list[str] = []
    for column, kind in dropped.items():
        meant = meant_for(column, free) if not is_text(kind) else None
        if meant is not None:
            free.remove(meant)
            yield Stray(column, meant, dropped=True)
        elif kind and not is_text(kind) and not NUMBERS_OF_ROWS.search(column.lower()):
            left.append(column)
    alone = len(free) == 1 or lacking.signature.kind.endswith("Classification")
    if LABELS in free and len(left) == 1 and alone:
        yield Stray(left[0], LABELS, dropped=True)


def shows(last: Frame, lacking: ForwardArguments, strays: tuple[Stray, ...]) -> bool:
    """What failed is the absence of what one of these columns was meant for."""
    meant = {stray.meant for stray in strays}
    if last.function.endswith(FILTERS):
        return True
    if is_trainer(last) and "compute_loss" in last.function:
        return LABELS in meant
    if not lacking.called:
        return False
    if last.own and (is_none_asked(last) or lacks_loss(last)) and "forward" not in last.function:
        return LABELS in meant
    if passes_arguments_on(last):
        unknown = [name for name in lacking.received if name not in lacking.takes]
        needed = meant & set(lacking.signature.needs)
        return bool(unknown and not lacking.signature.open) or bool(needed)
    none = {value.text for value in last.values if value.kind == "NoneType"}
    return bool(none & meant) or (LABELS in meant and bool(none & IDS))


def passes_arguments_on(last: Frame) -> bool:
    """The innermost line is the call that could not be made."""
    return not last.own and "**kwargs" in last.line and "self" not in last.arguments[1:]


def is_none_asked(frame: Frame) -> bool:
    """What the failing expression begins with is None."""
    value = frame.value((frame.expression or "").rpartition(".")[0])
    return value is not None and value.kind == "NoneType"


def lacks_loss(frame: Frame) -> bool:
    """A line reads the loss of an output that has none."""
    text = (frame.expression or "").replace('"', "'")
    output = frame.value(text.partition("[")[0].partition(".")[0])
    reads = text.endswith(("['loss']", ".loss"))
    return reads and output is not None and "loss" not in output.members


def are_labels_never_created(
    last: Frame, lacking: ForwardArguments, dropped: dict[str, str]
) -> bool:
    if not (is_trainer(last) and "compute_loss" in last.function and lacking.called):
        return False
    lack = LABELS in lacking.takes and LABELS not in lacking.received
    meant = any(meant_for(name, [LABELS]) for name, kind in dropped.items() if not is_text(kind))
    return lack and lacking.model.endswith(CAUSAL) and not meant


def keys_not_taken(own: Frame, last: Frame, signature: Signature) -> Iterator[KeysNotTaken]:
    keys = last.value("kwargs")
    if not last.function.endswith("_call_impl") or keys is None or last.layer is None:
        return
    if signature.open or signature.kind != last.layer.kind:
        return
    strange = tuple(name for name in keys.members if name not in signature.takes)
    taken = tuple(name for name in keys.members if name in signature.takes)
    if strange:
        yield KeysNotTaken(
            use=use_of(own), function="forward", model=signature.kind, strange=strange, taken=taken
        )
