"""Leaving the incomplete last batch out, where its loader is made, and the rows that it costs."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.findings import Fix, Place
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.evidence.loaders import ShortBatch, arguments_call, loader_call, makes_several
from surefit.laws.batch_lines import batch_line
from surefit.source.edits import argument_added
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

UNCOUNTED = "no line was found at which the rows of a batch can be counted"
WRONG_MEAN = "the script divides by `len(loader.dataset)`, which counts the rows that are left out"
NOT_FOUND = "no call that makes this loader alone was found in your source"


@dataclass(frozen=True, slots=True)
class Dropping:
    """The argument that leaves it out, and the call that gets it."""

    place: Place
    argument: str
    edit: Edit | None
    fewer: bool
    """Something counts the batches, so that a run with fewer of them is another from the start."""
    rows_counted: bool = False
    """Something counts the rows, `len(loader.dataset)`: a mean over fewer would be wrong."""


def dropped(seen: Recording, place: Place) -> Dropping:
    """At the loader; of a Trainer, at its arguments."""
    source = seen.source(place)
    call = loader_call(source, place) if source else None
    if source is not None and call is not None:
        at = Place(place.file, call.lineno)
        value = dropping_value(source, call)
        edit = argument_added(source, call, "drop_last", value) if value else None
        argument = f"drop_last={value or True}"
        counts = batches_are_counted(source), rows_are_counted(source)
        return Dropping(at, argument, edit, *counts)
    trainer = arguments_call(source) if source else None
    if source is not None and trainer is not None:
        edit = argument_added(source, trainer, "dataloader_drop_last", "True")
        at = Place(place.file, trainer.lineno)
        return Dropping(at, "dataloader_drop_last=True", edit, True)
    return Dropping(place, "drop_last=True", None, False)


def dropping_value(source: Source, call: ast.Call) -> str:
    """A line that makes loaders for evaluation, too, must not drop rows of theirs: it drops where
    it shuffles. Empty where that cannot be said."""
    if not makes_several(source, call):
        return "True"
    shuffles = source.argument(call, "shuffle", 2)
    if shuffles is None or isinstance(shuffles, ast.Constant):
        return ""
    return source.segment(shuffles)


def batches_are_counted(source: Source) -> bool:
    """`len(loader)`: a schedule over all steps, say, which is then another one from the start."""
    counts = [one for one in source.every(ast.Call) if called(one) == "len" and one.args]
    return any("loader" in source.segment(one.args[0]).lower() for one in counts)


def rows_are_counted(source: Source) -> bool:
    counts = [one for one in source.every(ast.Call) if called(one) == "len" and one.args]
    return any(source.segment(one.args[0]).endswith(".dataset") for one in counts)


def drop(crash: Crash, short: ShortBatch, dropping: Dropping, in_order: bool = False) -> Fix:
    """In order: the rows of a batch go on in the next, so that they must not be shuffled."""
    line = batch_line(crash, short.rows)
    training = is_training(crash)
    must = None
    if line is not None:
        size, fewer = short.loader.size, dropping.fewer
        must = WholeBatches(line.place, line.text, line.mode, size, fewer, training)
    why_not = "" if dropping.edit and must else UNCOUNTED if dropping.edit else NOT_FOUND
    if dropping.edit and not training and dropping.rows_counted:
        must, why_not = None, WRONG_MEAN
    rows = lost(short, in_order) if training else not_scored(short)
    text = f"Leave the incomplete batch out: `{dropping.argument}`. {rows}"
    return Fix(text, dropping.edit, must, why_not)


def is_training(crash: Crash) -> bool:
    """By the mode of the outermost module that was called."""
    layers = [frame.layer for frame in crash.frames if frame.layer is not None]
    return layers[0].training if layers else True


def not_scored(short: ShortBatch) -> str:
    """Rows that an evaluation leaves out; what it divides by must know that."""
    are = "is" if short.rows == 1 else "are"
    left = short.total - short.rows
    return (
        f"{short.rows} of {short.total} rows {are} then not evaluated: a mean over them is one over"
        f" {left}, not over `len(dataset)`."
    )


def lost(short: ShortBatch, in_order: bool) -> str:
    """How many rows are no longer trained on, and which."""
    one = short.rows == 1
    said = f"{short.rows} of {short.total} rows {'is' if one else 'are'} then not trained on in an"
    if short.loader.shuffles:
        other = "another one in each" if one else "others in each"
        return f"{said} epoch, {other} because the loader shuffles."
    if in_order:
        return f"{said} epoch."
    same, another = ("one", "another") if one else ("ones", "others")
    return f"{said} epoch, always the same {same}; `shuffle=True` makes it {another} in each."
