"""A batch norm in training mode was given a single value per channel.

## What happens
In training mode a batch norm subtracts the mean of the batch and divides by its spread. Over one
row that is 0 / 0: there is nothing to compare the row with. Mostly it is the last batch of an
epoch: 385 rows in batches of 32 leave one row over.

## Why it matters
It comes at the end of an epoch, after an hour perhaps, and only for some sizes of a dataset: one
row more, and it is gone until the data change again.

## What to do
`drop_last=True` in the training loader leaves the incomplete batch out; with `shuffle=True` it is
another row in each epoch. Where the batch size is one, use a larger one or a norm that does not
look across the batch (`nn.GroupNorm`, `nn.LayerNorm`). Where the model is only asked and not
trained, `model.eval()` uses the running mean.

## How it is recognised
The innermost module that was being run is a batch norm in training mode, its input has as many
channels as it was made for, and rows times positions are one. The loader whose epoch was under way
says how many batches of how many rows came before; a loop over `range` or `split` is read from its
source and its numbers.
"""

from collections.abc import Iterator
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Layer, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, times
from surefit.evidence.dropped_batches import UNCOUNTED, drop, dropped
from surefit.evidence.hand_made_batches import CutBatches, one_row_left
from surefit.evidence.layer_names import described, name
from surefit.evidence.loaders import (
    LoaderSeen,
    ShortBatch,
    loaders_at_work,
    short_batch,
)
from surefit.evidence.misfits import first_tensor
from surefit.laws.batch_lines import batch_line, caller_of_model, is_without_gradients, mode_in

RULE = Rule(
    "SF231",
    "batch-norm-of-one-row",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected more than 1 value per channel when training",
            "how many rows the dataset has and how many a batch: a remainder of one, or batches of"
            " one row",
        ),
    ),
)

NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
NOTHING_TO_COMPARE = (
    "In training mode a batch norm takes mean and spread over the batch; of a single value the"
    " spread is 0."
)
YOUR_CHOICE = "the batch size and the kind of norm are your choice"


@RULE.on(Crash)
def norm_was_given_one_value(crash: Crash, seen: Recording) -> Iterator[Finding]:
    found = norm_of_one_value(crash) if is_cause(crash, seen) else None
    if found is None:
        return
    layer, given = found
    short = short_batch(crash, seen, 1) if batch_has_one_row(crash) else None
    whole = loaders_at_work(crash, seen)
    if short is not None and short.loader.place is not None:
        yield last_batch(crash, seen, layer, given, short, short.loader.place)
    elif (cut := one_row_left(crash, seen)) is not None:
        yield last_round(crash, layer, given, cut)
    elif whole and whole[0].size == 1 and whole[0].place and batch_has_one_row(crash):
        yield batches_of_one(crash, layer, given, whole[0], whole[0].place)
    elif caller_of_model(crash):
        yield one_row_by_itself(crash, seen, layer, given)


def norm_of_one_value(crash: Crash) -> tuple[Layer, Value] | None:
    """The norm and its input; the number of channels must be right, or that is the fault."""
    frames = [frame for frame in crash.frames if frame.layer is not None]
    layer = frames[-1].layer if frames else None
    given = first_tensor(frames[-1]) if frames else None
    if layer is None or layer.kind not in NORMS or not layer.training or given is None:
        return None
    shape = given.shape or ()
    if len(shape) < 2 or shape[1] != layer.sizes.get("num_features"):
        return None
    return (layer, given) if shape[0] * prod(shape[2:]) == 1 else None


def batch_has_one_row(crash: Crash) -> bool:
    """What the model was called with has one row, too: the norm was not given one of many."""
    frame = caller_of_model(crash)
    shapes = [shape for value in frame.values for shape in shapes_of(value)] if frame else []
    return frame is None or not shapes or any(shape[0] == 1 for shape in shapes)


def shapes_of(value: Value) -> list[tuple[int, ...]]:
    inside = [one.shape for one in value.members.values()]
    return [shape for shape in (value.shape, *inside) if shape]


def facts(layer: Layer, given: Value, *more: Fact) -> tuple[Fact, ...]:
    made = f", made at {layer.made_at}" if layer.made_at else ""
    shape = given.shape or ()
    return (
        *more,
        Fact(name(layer), f"{described(layer)} in training mode{made}"),
        Fact("its input", f"{shape_of(shape)}: one value for each of {shape[1]} channels"),
    )


def last_batch(
    crash: Crash, seen: Recording, layer: Layer, given: Value, short: ShortBatch, place: Place
) -> Finding:
    dropping = dropped(seen, place)
    return RULE.finding(
        dropping.place,
        f"The last batch of an epoch has one row ({short.arithmetic}), and {name(layer)}, a"
        f" `{layer.kind}` in training mode, cannot normalise over one row.",
        facts=facts(
            layer,
            given,
            Fact("rows", f"{short.arithmetic}: {short.before} whole batches, and one row"),
        ),
        why=NOTHING_TO_COMPARE,
        fixes=(drop(crash, short, dropping), other_size(short)),
        python_said=crash.said,
        about=crash.id,
    )


def other_size(short: ShortBatch) -> Fix:
    larger = range(short.loader.size + 1, short.total)
    size = next((one for one in larger if short.total % one != 1), short.total)
    rest = f" + {short.total % size}" if short.total % size else ""
    return Fix(
        f"Or keep every row with another batch size: {short.total} ="
        f" {times((short.total // size, size))}{rest}.",
        why_not_tried="the batch size is your choice",
    )


def last_round(crash: Crash, layer: Layer, given: Value, cut: CutBatches) -> Finding:
    whole = cut.total // cut.size
    arithmetic = f"{cut.total} = {times((whole, cut.size))} + 1"
    line = batch_line(crash, 1)
    must = WholeBatches(line.place, line.text, line.mode, cut.size) if line else None
    return RULE.finding(
        cut.place,
        f"The last batch of this loop has one row ({arithmetic}), and {name(layer)}, a"
        f" `{layer.kind}` in training mode, cannot normalise over one row.",
        facts=facts(
            layer, given, Fact("rows", f"{arithmetic}: {whole} whole batches, and one row")
        ),
        why=NOTHING_TO_COMPARE,
        fixes=(
            Fix(
                f"Leave out the batch of one row: {code(cut.text)}. 1 of {cut.total} rows is then"
                " not trained on in a round; shuffle, so that it is another one each time.",
                cut.edit,
                must,
                "" if must else UNCOUNTED,
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def batches_of_one(
    crash: Crash, layer: Layer, given: Value, loader: LoaderSeen, place: Place
) -> Finding:
    return RULE.finding(
        place,
        f"Every batch has one row (`batch_size=1`), and {name(layer)}, a `{layer.kind}` in training"
        " mode, cannot normalise over one row.",
        facts=facts(layer, given, Fact("rows of a batch", str(loader.size))),
        why=NOTHING_TO_COMPARE,
        fixes=(
            Fix("Use batches of two rows or more: `batch_size=8`.", why_not_tried=YOUR_CHOICE),
            Fix(
                "Or use a norm that looks at one row at a time: `nn.GroupNorm`, `nn.LayerNorm`.",
                why_not_tried=YOUR_CHOICE,
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def one_row_by_itself(crash: Crash, seen: Recording, layer: Layer, given: Value) -> Finding:
    frame = caller_of_model(crash)
    assert frame is not None
    source = seen.source(frame.place)
    asked = source is not None and is_without_gradients(frame, source.tree)
    model = (mode_in(frame) or "model.training").removesuffix(".training")
    without = ", where no gradients are recorded" if asked else ""
    evaluate = Fix(
        f"If the model is only asked here and not trained: `{model}.eval()` before it, and"
        f" `{model}.train()` before training goes on.",
        why_not_tried="whether this line trains is yours to say",
    )
    more = Fix("If it trains here: give it two rows or more at once.", why_not_tried=YOUR_CHOICE)
    return RULE.finding(
        frame.place,
        f"{code(frame.expression or frame.line)} gives the model one row{without}, and"
        f" {name(layer)}, a `{layer.kind}`, is in training mode.",
        facts=facts(layer, given),
        why=NOTHING_TO_COMPARE,
        fixes=(evaluate,) if asked else (evaluate, more),
        python_said=crash.said,
        about=crash.id,
    )
