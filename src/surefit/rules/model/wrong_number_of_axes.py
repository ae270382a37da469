"""A layer was given a tensor with more or fewer axes than it takes.

## What happens
A layer takes a tensor of so many axes: `nn.LSTM` takes rows, steps and features, `nn.Conv2d` rows,
channels, height and width. Rows that were averaged over their steps have lost one, a row without a
batch has one too few, and `unsqueeze` in a dataset is one too many.

## Why it matters
Python says `Expected 3D`, or `not enough values to unpack`, far from the line where the axis went
or came. Many layers also take one axis less, for a single row: then rows are silently read as steps
or channels.

## What to do
Mend it where the axis was lost or added, not by a reshape before the layer: do not average over
steps, put a single row into a batch with `unsqueeze(0)`, leave `unsqueeze` out where the loader
stacks rows, and give `squeeze` the axis that it must remove.

## How it is recognised
The innermost layer that was being called takes a certain number of axes by its class, a model of
transformers by the name of its argument, and the tensor has another number. A second run tells
which of your expressions changed it, also before an array became a tensor.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.widths import LayerAxes, LayerInput, LayerWidth
from surefit.laws.layers.axis_changes import (
    AxisChange,
    AxisChanges,
    axis_changes,
    last_part,
    lost_axis,
    newest,
    without_last_part,
)
from surefit.laws.layers.layer_tables import AXES, CHANNELS
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"[Ee]xpected (input to be )?\d+D (\(unbatched\) )?or \d+D|expected \d+D(, \d+D)? input"
    r"|not enough values to unpack \(expected [234], got [123]\)"
    r"|should be (un)?batched 2-?D or|received \d-D query",
    "how many axes the layer takes, and which line added or lost one",
)
RULE = Rule("SF311", "wrong-number-of-axes", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LayerAxes)
def input_has_other_axes(broken: LayerAxes, case: Case) -> Finding:
    story = axis_changes(case.lineage(broken.given))
    change = newest(story, broken.missing > 0)
    takes = f"{counted(broken.axes, 'axis')} ({broken.words})"
    if broken.or_less:
        takes = f"{broken.axes - 1} or {takes}"
    name = f"`{broken.argument}` of {broken.layer.name}" if broken.argument else broken.layer.name
    return finding(broken, case, f"{name} takes {takes}", broken.missing, change, story)


@RULE.on(LayerWidth)
def rows_were_read_as_channels(broken: LayerWidth, case: Case) -> Finding | None:
    """A convolution also takes a single row, which has one axis less."""
    change = lost_axis(case.lineage(broken.given)) if broken.lacks_an_axis else None
    if change is None:
        return None
    takes = f"{counted(CHANNELS[broken.kind] + 2, 'axis')} ({AXES[broken.kind][1]})"
    name = broken.layer.name
    return finding(broken, case, f"{name} takes {takes}", 1, change, AxisChanges())


def finding(
    broken: LayerInput,
    case: Case,
    takes: str,
    missing: int,
    change: AxisChange | None,
    story: AxisChanges,
) -> Finding:
    went, why, place, cause = [], "", broken.use.place, ""
    if change is not None:
        place = change.producer.place
        lost = len(change.before) > len(change.after)
        shapes = f"{shape_of(change.before)} → {shape_of(change.after)}"
        went = [Fact(f"an axis {'lost' if lost else 'added'} at", f"{place}  {shapes}")]
        verb = "takes an axis away" if missing > 0 else "adds an axis"
        cause = f": {code(last_part(case, change.producer))} {verb}"
        if missing < 0 and change.rows:
            why = "A loader adds the axis of the rows in front; a row must come without one."
        elif missing > 0 and change.name == "squeeze":
            why = "`squeeze()` removes every axis of size 1, that of a batch of one row too."
    return case.finding(
        place,
        f"{takes} and was given {broken.given.shape_words}{cause}.",
        facts=(Fact(broken.layer.name, broken.layer.words), broken.given.fact(), *went),
        why=why,
        remedies=remedies(broken, case, missing, change, story),
    )


def remedies(
    broken: LayerInput, case: Case, missing: int, change: AxisChange | None, story: AxisChanges
) -> Iterator[Remedy | Fix]:
    if change is not None and change.picks_a_row:
        yield batch_of_one(change.producer)
    elif change is not None and change.name == "squeeze" and missing > 0:
        yield from named_axis(change, case)
    elif change is not None:
        rest = without_last_part(case, change.producer)
        kept = "Leave the extra axis out" if missing < 0 else "Keep the axis"
        words = f"{kept}: {code(rest)}."
        yield ReplaceWith(at=change.producer, text=rest, words=words, choice=missing > 0)
    elif missing == -1:
        yield from squeezed(broken, story)
    elif missing > 0 and broken.given.use is not None:
        yield batch_of_one(broken.given.use, choice=True)
        yield Fix("If its first axis counts rows, look where it lost an axis.", choice=True)


def batch_of_one(at: Written, choice: bool = False) -> Remedy:
    suffix = ".unsqueeze(0)"
    words = f"Give it a batch of one row: {code(at.text + suffix)}."
    return Append(at=at, suffix=suffix, words=words, choice=choice, alike=False)


def named_axis(change: AxisChange, case: Case) -> Iterator[Remedy]:
    """Without an axis, `squeeze` took the row of a batch of one along."""
    others = [at for at, size in enumerate(change.before) if size == 1 and at > 0]
    text, words = without_last_part(case, change.producer), "Leave `squeeze()` out."
    if change.before[:1] != (1,) or len(others) > 1:
        return
    if others:
        axis = -1 if others[0] == len(change.before) - 1 else others[0]
        text = f"{text}.squeeze({axis})"
        words = f"Name the axis: {code(text)}."
    yield ReplaceWith(at=change.producer, text=text, words=words)


def squeezed(broken: LayerInput, story: AxisChanges) -> Iterator[Remedy]:
    """The one axis of size 1 is removed where the data begin, or before the layer."""
    ones = [at for at, size in enumerate(broken.shape) if size == 1]
    if len(ones) != 1:
        return
    after = broken.shape[ones[0] :]
    alike = [known for known in story.way if (known.value.shape or ())[-len(after) :] == after]
    for began in alike[-1:]:
        own = len(began.value.shape or ()) - len(after)
        text = f"{began.text}.squeeze({own})"
        words = f"Remove the axis of size 1 where the data begin: {code(text)}."
        yield Append(at=began, suffix=f".squeeze({own})", words=words, choice=True, alike=False)
    suffix = f".squeeze({ones[0]})"
    words = f"Remove it before the layer: {code(broken.given.name.strip('`') + suffix)}."
    yield Append(at=broken.given.use, suffix=suffix, words=words, choice=True, alike=False)
