"""A column has another name than the argument of `forward` that it is meant for.

## What happens
A model knows its inputs by name. What its `forward` does not take under that name is left out: a
`Trainer` drops the column without a word, a model with `**kwargs` swallows it, any other raises
`unexpected keyword argument`. The model runs without labels, or without inputs.

## Why it matters
The message is about what is missing (`You must specify exactly one of input_ids or inputs_embeds`,
`The model did not return a loss`), never about the column that was left out.

## What to do
Give the column the name that `forward` has for it where the column is made: `labels`, `input_ids`,
`attention_mask`, `pixel_values`.

## How it is recognised
The rows, or the batch, have a column of numbers that the model's own `forward` does not take; an
argument with a similar meaning was not given; and what failed is the missing of just that: an
argument that is None, an output without a loss, a call that cannot be made. The only column of
numbers that a Trainer drops before a classifier without labels is taken for its labels, whatever
its name, and so is the last column that is left for the last argument that must be given.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import ColumnReachesModel, inputs_of
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Json, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import some
from surefit.evidence.argument_names import meant_for
from surefit.evidence.column_names import handed_over, naming_of
from surefit.evidence.trainers import dropped_columns, is_text, is_trainer, trainer_of
from surefit.source.patches import both

RULE = Rule(
    "SF204",
    "column-not-taken-by-the-model",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"exactly one of input_ids or inputs_embeds|did not return a loss|unexpected keyword"
            r"|No columns in the dataset match|missing \d+ required positional|KeyError: 'loss'",
            "whether a column of your rows has a name that the model's `forward` does not take",
        ),
        Symptom(
            r"'NoneType' object has no attribute 'backward'",
            "whether the model was called without `labels`",
        ),
    ),
)

LABELS = "labels"
NUMBERS_OF_ROWS = re.compile(r"(^|_)(id|ids|idx|index|uid|guid|row|length|len|fold|split)(_|\d|$)")
"""Columns that count, find or divide rows: never what a classifier is to learn."""
READ_TOO = "your code reads the column by this name elsewhere, too"
ONLY_YOU = "where the column gets its name was not found in your source"


@dataclass(frozen=True, slots=True)
class Model:
    """What `forward` takes, and what it was given."""

    kind: str
    takes: tuple[str, ...]
    needs: tuple[str, ...]
    open: bool
    given: tuple[str, ...]
    called: bool


@dataclass(frozen=True, slots=True)
class Stray:
    """A column that did not get where it was meant to."""

    column: str
    meant: str
    dropped: bool
    """By a Trainer; otherwise the model was given it under this name."""


@RULE.on(Crash)
def column_did_not_reach_the_model(crash: Crash, seen: Recording) -> Iterator[Finding]:
    if crash.collator is not None or not is_cause(crash, seen) or not could_be(crash):
        return
    trainer = trainer_of(crash, seen)
    model = model_of(crash, seen, trainer)
    strays = sorted(strays_of(seen, model, trainer), key=place_in(model)) if model else []
    if model is None or not strays or not lacks(crash, model, strays):
        return
    named = [one for one in strays if (naming_of(seen, one.column))]
    place = naming_place(crash, seen, strays, named)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(strays, model, trainer),
        facts=tuple(facts(strays, model, trainer)),
        why=why(strays[0], model),
        fixes=(fix_of(seen, strays, trainer),),
        python_said=crash.said,
        about=crash.id,
    )


def place_in(model: Model) -> Callable[[Stray], int]:
    """In the order of the arguments that they were meant for."""
    return lambda stray: model.takes.index(stray.meant)


def could_be(crash: Crash) -> bool:
    """Before anything is asked: a model or a Trainer is involved, or a None is where a loss is."""
    own = crash.own_frame
    if own is not None and (nothing_in(own) or without_loss(own)):
        return True
    return any(is_trainer(frame) or is_call(frame) for frame in crash.frames)


def is_call(frame: Frame) -> bool:
    return frame.place.file.endswith("torch/nn/modules/module.py")


def nothing_in(frame: Frame) -> bool:
    """What the failing expression of an own line begins with is None."""
    begins = (frame.expression or "").rpartition(".")[0]
    return any(one.text == begins and one.kind == "NoneType" for one in frame.values)


def model_of(crash: Crash, seen: Recording, trainer: dict[str, Json] | None) -> Model | None:
    said = seen.ask(Question("forward", crash.id))
    if not said:
        return None
    calls = [call for call in inputs_of(seen, crash.process.rank) if call.step == crash.steps]
    given = tuple(calls[-1].shapes) if calls else ()
    takes = tuple(map(str, said["takes"]))
    if trainer is not None:
        takes = tuple(map(str, trainer["forward"])) or takes
    positional = [takes[int(one)] for one in given if one.isdigit() and int(one) < len(takes)]
    given = (*positional, *(one for one in given if not one.isdigit()))
    needs = tuple(map(str, said["needs"]))
    return Model(str(said["kind"]), takes, needs, bool(said["open"]), given, bool(calls))


def strays_of(seen: Recording, model: Model, trainer: dict[str, Json] | None) -> Iterator[Stray]:
    """Columns of numbers that were left out, each with the argument that it was meant for."""
    free = [one for one in model.takes if one not in model.given]
    unknown: list[str] = []
    for column in model.given:
        meant = meant_for(column, free) if column not in model.takes else None
        if meant is not None:
            free.remove(meant)
            yield Stray(column, meant, dropped=False)
        elif column not in model.takes and not NUMBERS_OF_ROWS.search(column.lower()):
            unknown.append(column)
    if len(unknown) == len(free) == 1 and free[0] in (*model.needs, LABELS):
        yield Stray(unknown[0], free.pop(), dropped=False)
    left: list[str] = []
    for column, kind in dropped_columns(seen, trainer).items():
        meant = meant_for(column, free) if not is_text(kind) else None
        if meant is not None:
            free.remove(meant)
            yield Stray(column, meant, dropped=True)
        elif kind and not is_text(kind) and not NUMBERS_OF_ROWS.search(column.lower()):
            left.append(column)
    alone = len(free) == 1 or model.kind.endswith("Classification")
    if LABELS in free and len(left) == 1 and alone:
        yield Stray(left[0], LABELS, dropped=True)


def lacks(crash: Crash, model: Model, strays: list[Stray]) -> bool:
    """What failed is the missing of what one of these columns was meant for."""
    last = crash.frames[-1] if crash.frames else None
    if last is None:
        return False
    meant = {one.meant for one in strays}
    if "_remove_unused_columns" in last.function:
        return True
    if is_trainer(last) and "compute_loss" in last.function:
        return LABELS in meant
    if not model.called:
        return False
    if last.own and (nothing_in(last) or without_loss(last)) and "forward" not in last.function:
        return LABELS in meant
    if call_could_not_be_made(last):
        unknown = [one for one in model.given if one not in model.takes]
        return bool(unknown and not model.open) or bool(meant & set(model.needs))
    return is_none_below(crash, meant)


def call_could_not_be_made(last: Frame) -> bool:
    """The innermost line only passes arguments on."""
    return not last.own and "**kwargs" in last.line and "self" not in last.arguments[1:]


def without_loss(frame: Frame) -> bool:
    """An own line reads the loss of an output that has none."""
    said = frame.expression or ""
    begins = said.partition("[")[0].partition(".")[0]
    reads = said.replace('"', "'").endswith(("['loss']", ".loss"))
    outputs = [one for one in frame.values if one.text == begins]
    return reads and any("loss" not in one.members for one in outputs)


def is_none_below(crash: Crash, meant: set[str]) -> bool:
    """A module below the model was given None for what it needs."""
    none = {one.text for one in crash.frames[-1].values if one.kind == "NoneType"}
    if none & meant:
        return True
    return LABELS in meant and bool(none & {"input_ids", "decoder_input_ids", "inputs_embeds"})


def naming_place(
    crash: Crash, seen: Recording, strays: list[Stray], named: list[Stray]
) -> Place | None:
    """Where the first of them gets its name; otherwise the own line that handed the rows over."""
    if named:
        found = naming_of(seen, named[0].column)
        return found.place if found else None
    over = handed_over(seen, {one.column: one.meant for one in strays})
    if over is not None:
        return over.place
    return crash.own_frame.place if crash.own_frame else None


def headline(strays: list[Stray], model: Model, trainer: dict[str, Json] | None) -> str:
    first = strays[0]
    forward = f"`{model.kind}.forward`" if trainer is None else f"`{trainer['model']}.forward`"
    if first.dropped:
        so = f"the Trainer drops it and the model gets no `{first.meant}`"
    elif model.open:
        so = f"nothing is made of it and the model gets no `{first.meant}`"
    else:
        so = f"the call fails; what it takes is `{first.meant}`"
    return f"The column `{first.column}` is no argument of {forward}, so {so}."


def facts(strays: list[Stray], model: Model, trainer: dict[str, Json] | None) -> Iterator[Fact]:
    if trainer is not None and trainer["columns"]:
        yield Fact("columns of the rows", ", ".join(trainer["columns"]))
    if model.called:
        yield Fact("the model was given", ", ".join(model.given))
    shown = [one for one in model.takes if one in model.given or one in {s.meant for s in strays}]
    rest = len(model.takes) - len(shown)
    more = f" and {rest} more" if rest else ""
    yield Fact("`forward` takes", ", ".join(f"`{one}`" for one in shown) + more)
    for one in strays[1:]:
        yield Fact(f"`{one.column}`", f"meant for `{one.meant}`, in the same way")


def why(stray: Stray, model: Model) -> str:
    if stray.dropped:
        return (
            "With `remove_unused_columns=True`, the default, a Trainer keeps only columns that"
            " `forward` takes by name."
        )
    if model.open:
        return "`forward` takes further names by `**kwargs` and makes nothing of them."
    return "`forward` takes its inputs by name."


def fix_of(seen: Recording, strays: list[Stray], trainer: dict[str, Json] | None) -> Fix:
    names = {one.column: one.meant for one in strays}
    columns, where = ("column", "it is") if len(names) == 1 else ("columns", "they are")
    text = f"Name the {columns} {some(names.values())} where {where} made."
    must = All(tuple(ColumnReachesModel(one.meant) for one in strays))
    made = [naming_of(seen, one.column) for one in strays]
    known = [one for one in made if one is not None and one.can_be_renamed]
    if known and len(known) == len(strays):
        edit = known[0].renamed(strays[0].meant)
        for one, stray in zip(known[1:], strays[1:], strict=True):
            edit = both(edit, one.renamed(stray.meant))
        return Fix(text, edit, must)
    over = handed_over(seen, names)
    if over is not None and trainer is not None and trainer["columns"]:
        return Fix(over.text, over.edit, must)
    return Fix(text, why_not_tried=READ_TOO if any(made) else ONLY_YOU)
