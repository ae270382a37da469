"""A loss of your own asks for a column that the Trainer has dropped.

## What happens
A Trainer keeps only columns that the model's `forward` takes by name, and drops the others before
the batch is made. A `compute_loss` of your own that reads another one, a weight of each row for
instance, finds a batch without it: `KeyError`.

## Why it matters
The dataset has the column, and printing a row shows it; that it is dropped on the way is said in
the log alone, at a level that is not shown.

## What to do
`remove_unused_columns=False` in the `TrainingArguments`, and take away yourself what neither the
model nor your loss wants: `dataset.remove_columns([...])`.

## How it is recognised
A line of yours below the Trainer asks its batch for a key that is not there; the rows have a column
of this name, and the Trainer drops it because `forward` has no such argument.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Json, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.trainers import dropped_columns, trainer_of
from surefit.source.edits import appended, argument_added
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF207",
    "column-dropped-before-the-loss",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"^KeyError",
            "whether the Trainer drops the column because `forward` does not take it",
            passed=r"compute_loss|prediction_step|training_step",
        ),
    ),
)


@RULE.on(Crash)
def batch_lacks_a_dropped_column(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    asked = asked_for(frame) if frame else None
    if frame is None or asked is None or not is_cause(crash, seen):
        return
    batch, key = asked
    trainer = trainer_of(crash, seen)
    dropped = dropped_columns(seen, trainer)
    if trainer is None or key not in dropped:
        return
    source = seen.source(frame.place)
    call = arguments_call(source) if source else None
    place = Place(frame.place.file, call.lineno, call.end_lineno) if call else frame.place
    yield RULE.finding(
        place,
        f"`{key}` is no argument of `{trainer['model']}.forward`, so the Trainer drops the column,"
        f" and `{frame.function}` asks for it.",
        facts=(
            *rows_fact(trainer),
            Fact(f"`{batch.text}`", ", ".join(batch.members)),
            Fact("it is asked for at", f"{frame.place}  {frame.line}"),
        ),
        why="With `remove_unused_columns=True`, the default, a Trainer keeps only columns that"
        " `forward` takes by name.",
        fixes=(fix_of(source, call, batch, key, dropped, trainer, frame),),
        python_said=crash.said,
        about=crash.id,
    )


def asked_for(frame: Frame) -> tuple[Value, str] | None:
    """The mapping that the failing expression reads, and the key that it has not."""
    try:
        node = ast.parse(frame.expression or "", mode="eval").body
    except SyntaxError:
        return None
    match node:
        case ast.Subscript(value=read, slice=ast.Constant(value=str(key))):
            pass
        case ast.Call(
            func=ast.Attribute(value=read, attr="pop"), args=[ast.Constant(value=str(key))]
        ):
            pass
        case _:
            return None
    values = [one for one in frame.values if one.text == ast.unparse(read)]
    if not values or not values[0].members or key in values[0].members:
        return None
    return values[0], key


def arguments_call(source: Source) -> ast.Call | None:
    """The one call that makes the Trainer's arguments."""
    calls = [one for one in source.every(ast.Call) if called(one).endswith("TrainingArguments")]
    return calls[0] if len(calls) == 1 else None


def rows_fact(trainer: dict[str, Json]) -> Iterator[Fact]:
    if trainer["columns"]:
        yield Fact("columns of the rows", ", ".join(trainer["columns"]))


def fix_of(
    source: Source | None,
    call: ast.Call | None,
    batch: Value,
    key: str,
    dropped: dict[str, str],
    trainer: dict[str, Json],
    frame: Frame,
) -> Fix:
    text = "Keep it: `remove_unused_columns=False`"
    if source is None or call is None:
        return Fix(f"{text}.", why_not_tried="the arguments of the Trainer were not found")
    edit = argument_added(source, call, "remove_unused_columns", "False")
    spare = [name for name in dropped if name != key and not is_read(source, frame, name)]
    if trainer["columns"] and spare:
        edit, text = without(source, edit, spare, text)
    return Fix(f"{text}.", edit, condition(batch, key, frame))


def is_read(source: Source, frame: Frame, name: str) -> bool:
    """The function that asks for the one column asks for this one, too."""
    statement = source.statement_at(frame.place.line or 0)
    scope = source.scope_of(statement) if statement else source.tree
    return any(isinstance(one, ast.Constant) and one.value == name for one in ast.walk(scope))


def without(source: Source, edit: Edit, spare: list[str], text: str) -> tuple[Edit, str]:
    """The columns that nobody wants are taken away before the Trainer gets the rows."""
    names = "[" + ", ".join(f'"{one}"' for one in spare) + "]"
    for node in source.every(ast.keyword):
        none = isinstance(node.value, ast.Constant)
        if node.arg in ("train_dataset", "eval_dataset") and not none:
            edit = both(edit, appended(source, node.value, f".remove_columns({names})"))
    return edit, f"{text}, and take the others away: `.remove_columns({names})`"


def condition(batch: Value, key: str, frame: Frame) -> Condition:
    """The batch has the column when it is asked for it, a value or more for each row."""
    rows = next((one.shape[0] for one in batch.members.values() if one.shape), None)
    wanted = Wanted(f"{batch.text}['{key}']", rows=rows)
    return ValuesAt(Place(frame.place.file, frame.place.line), (wanted,))
