"""A batch norm in training mode was given a single value per channel.

## What happens
In training mode a batch norm subtracts the mean of the batch and divides by its standard deviation.
Over one row that is 0 / 0: there is nothing to compare the row with. Mostly it is the last batch of
an epoch: 385 rows in batches of 32 leave one row over.

## Why it matters
It happens at the end of an epoch, after an hour perhaps, and only for some sizes of a dataset: one
row more, and it is gone until the data change.

## What to do
`drop_last=True` in the training loader leaves the incomplete batch out; with `shuffle=True` it is
another row in each epoch. Where the batch size is one, use a larger one or a norm of each row by
itself (`nn.GroupNorm`, `nn.LayerNorm`). Where the model only predicts: `model.eval()`.

## How it is recognised
The innermost module is a batch norm in training mode, its input has as many channels as it was
created for, and rows times positions are one. The loader at work says how many batches of how many
rows came before; a loop over `range` or `split` is read from its source and its numbers.
"""

import ast
from collections.abc import Sequence

from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Frame
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.batch_norms import OneValuePerChannel
from surefit.laws.layers.layer_words import described, layer_name
from surefit.laws.rows.batch_lines import batch_line, caller_of_model, is_without_gradients, mode_in
from surefit.laws.rows.batches import LastBatch, LoaderAtWork, last_batch, loaders_at_work
from surefit.laws.rows.loaders import loader_call
from surefit.laws.rows.loop_batches import CutBatches, one_row_left
from surefit.remedies.arguments import SetArgument, call_at
from surefit.remedies.change import Change
from surefit.remedies.drop_last import drop_last
from surefit.remedies.replace import ReplaceWith
from surefit.source.edits import inserted_after, inserted_before
from surefit.source.patches import both

SYMPTOM = Symptom(
    r"Expected more than 1 value per channel when training",
    "how many rows the dataset has and how many a batch: a remainder of one, or batches of one row",
)
RULE = Rule("SF231", "batch-norm-of-one-row", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
ENOUGH = 8
"""Rows of a batch that a norm can be computed over."""


@RULE.on(OneValuePerChannel)
def norm_was_given_one_value(broken: OneValuePerChannel, case: Case) -> Finding | None:
    last = last_batch(case, 1) if broken.of_batch else None
    loaders = loaders_at_work(case)
    if last is not None and last.loader.place is not None:
        return of_loader(broken, case, last, last.loader.place)
    cut = one_row_left(case)
    if cut is not None:
        return of_loop(broken, case, cut)
    place = loaders[0].place if loaders and loaders[0].size == 1 and broken.of_batch else None
    if place is not None:
        return finding(
            broken,
            case,
            place,
            f"Every batch has one row (`batch_size=1`), and {cannot(broken)}.",
            Fact("rows of a batch", "1"),
            fixes=(other_size(case, loaders[0], place), one_row_norm(broken, case)),
        )
    caller = caller_of_model(case.crash) if case.crash is not None else None
    return one_row_by_itself(broken, case, caller) if caller is not None else None


def finding(
    broken: OneValuePerChannel,
    case: Case,
    place: Place,
    words: str,
    *rows: Fact,
    fixes: Sequence[Remedy | Fix | None],
) -> Finding:
    created = f", created at {broken.layer.made_at}" if broken.layer.made_at else ""
    each = f"one value for each of {broken.shape[1]} channels"
    return case.finding(
        place,
        words,
        facts=(
            *rows,
            Fact(layer_name(broken.layer), f"{described(broken.layer)} in training mode{created}"),
            Fact("its input", f"{shape_of(broken.shape)}: {each}"),
        ),
        why="In training mode a batch norm takes mean and standard deviation over the batch; of a"
        " single value the deviation is 0.",
        remedies=fixes,
    )


def cannot(broken: OneValuePerChannel) -> str:
    kind = broken.layer.kind
    return f"{layer_name(broken.layer)}, a `{kind}` in training mode, cannot normalise over one row"


def of_loader(broken: OneValuePerChannel, case: Case, last: LastBatch, place: Place) -> Finding:
    drop = drop_last(case, last)
    return finding(
        broken,
        case,
        drop.at.place if isinstance(drop, SetArgument) and drop.at else place,
        f"The last batch of an epoch has one row ({last.arithmetic}), and {cannot(broken)}.",
        Fact("rows", f"{last.arithmetic}: {last.before} complete batches, and one row"),
        fixes=(drop, other_size(case, last.loader, place, last)),
    )


def other_size(
    case: Case, loader: LoaderAtWork, place: Place, last: LastBatch | None = None
) -> SetArgument | None:
    """A batch size that leaves no single row over; of batches of one row, several."""
    source = case.source(place)
    call = loader_call(source, place) if source is not None else None
    if source is None or call is None:
        return None
    total, words = loader.rows or 0, "Use batches of several rows"
    larger = range(max(ENOUGH, (loader.size or 1) + 1), total)
    size = next((number for number in larger if total % number != 1), ENOUGH)
    if last is not None:
        total = last.total
        sizes = range(last.size + 1, total)
        size = next((number for number in sizes if total % number != 1), total)
        rest = f" + {total % size}" if total % size else ""
        sum_of = f"{total} = {times((total // size, size))}{rest}"
        words = f"Keep every row with another batch size, {sum_of}"
    return SetArgument(
        at=case.expression(source, call),
        name="batch_size",
        value=str(size),
        words=f"{words}: `batch_size={size}`.",
        must=TrainingGoesOn(changes_the_past=True, rows_change=True),
        choice=True,
    )


def of_loop(broken: OneValuePerChannel, case: Case, cut: CutBatches) -> Finding:
    whole = cut.total // cut.size
    arithmetic = f"{cut.total} = {times((whole, cut.size))} + 1"
    line = batch_line(case.crash, 1) if case.crash is not None else None
    must = (
        WholeBatches(place=line.place, text=line.text, mode=line.mode, rows=cut.size)
        if line is not None
        else None
    )
    words = (
        f"Leave out the batch of one row: {code(cut.text)}. 1 of {cut.total} rows is then not"
        " trained on in an epoch; shuffle, so that it is another one each time."
    )
    return finding(
        broken,
        case,
        cut.place,
        f"The last batch of this loop has one row ({arithmetic}), and {cannot(broken)}.",
        Fact("rows", f"{arithmetic}: {whole} complete batches, and one row"),
        fixes=(Change(to=cut.edit, words=words, must=must, choice=True),),
    )


def one_row_norm(broken: OneValuePerChannel, case: Case) -> ReplaceWith | Fix:
    """A norm over the channels of each row by itself."""
    words = "Use a norm that looks at one row at a time: `nn.GroupNorm`, `nn.LayerNorm`."
    created = case.constructor(broken.layer)
    source, node = call_at(case, created)
    if source is None or node is None or not node.args:
        return Fix(words, choice=True)
    prefix = "".join(source.segment(node.func).rpartition(".")[:2])
    text = f"{prefix}GroupNorm(1, {source.segment(node.args[0])})"
    words = f"{words[:-1]}, here {code(text)}."
    return ReplaceWith(at=created, text=text, words=words, choice=True)


def one_row_by_itself(broken: OneValuePerChannel, case: Case, caller: Frame) -> Finding:
    source = case.source(caller.place)
    predicts = source is not None and is_without_gradients(caller, source.tree)
    without = ", where no gradients are recorded" if predicts else ""
    more = None if predicts else Fix("If it trains here: give it more rows at once.", choice=True)
    return finding(
        broken,
        case,
        caller.place,
        f"{code(caller.expression or caller.line)} gives the model one row{without}, and"
        f" {layer_name(broken.layer)}, a `{broken.layer.kind}`, is in training mode.",
        fixes=(evaluating(caller, case, predicts), more),
    )


def evaluating(caller: Frame, case: Case, predicts: bool) -> Remedy | Fix:
    """Evaluation mode before the line and training mode again after it. In words only where the
    line may train: in evaluation mode it would train without the norm."""
    model = (mode_in(caller) or "model.training").removesuffix(".training")
    modes = f"`{model}.eval()` before it, and `{model}.train()` after"
    words = f"If the model only predicts here: {modes}."
    source = case.source(caller.place)
    statement = source.statement_at(caller.place.line or 0) if source is not None else None
    if source is None or not predicts or not isinstance(statement, ast.Assign | ast.Expr):
        return Fix(words, choice=True)
    edit = both(
        inserted_before(source, statement, f"{model}.eval()"),
        inserted_after(source, statement, f"{model}.train()"),
    )
    must = TrainingGoesOn(rows_change=True)  # the row is no longer one of training
    return Change(to=edit, words=words, must=must, choice=True)
