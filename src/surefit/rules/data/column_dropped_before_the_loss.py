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

In a script that is only read: the `compute_loss` of a Trainer in the file asks its batch for a key
that the `forward` of the model, a class of the file, does not take; the settings stand in the file
and keep only columns that it takes; and no collator of the user's own adds any.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Json, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.read_datasets import collator_of, trainers
from surefit.evidence.read_models import own_module
from surefit.evidence.trainers import dropped_columns, trainer_of
from surefit.source.callers import is_open
from surefit.source.classes import Method, method, named_class
from surefit.source.edits import appended, argument_added
from surefit.source.outcomes import maker
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called, dotted

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


ONLY_READ = "the script was read, not run"


KEPT_ANYWAY = ("label", "label_ids", "labels")


@RULE.on(Script)
def a_dropped_column_would_be_asked_for(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for call in trainers(source) if source else ():
        assert source is not None
        owner = named_class(source, call.func)
        loss = method(source, owner, "compute_loss") if owner else None
        settings = drops(source, call)
        forward = forward_of(source, call)
        if owner is None or loss is None or settings is None or forward is None:
            continue
        taken = {one.arg for one in (*forward.args.args, *forward.args.kwonlyargs)}
        for key, node in keys_asked(loss):
            if key in taken or key in KEPT_ANYWAY or forward.args.kwarg:
                continue
            yield RULE.finding(
                Place(source.file, settings.lineno),
                f"`{key}` is no argument of `{forward_name(source, forward)}`, so the Trainer drops"
                f" the column, and `{owner.name}.compute_loss` asks for it.",
                facts=(Fact("asked for at", f"{source.file}:{node.lineno}"),),
                why="A Trainer passes on the columns that `forward` takes, by their names.",
                fixes=(
                    Fix(
                        "`remove_unused_columns=False` keeps all columns.",
                        argument_added(source, settings, "remove_unused_columns", "False"),
                        why_not_tried=ONLY_READ,
                    ),
                ),
                severity=Severity.WARNING,
            )
            break


def drops(source: Source, call: ast.Call) -> ast.Call | None:
    """The settings of a Trainer that drops columns, where nothing of the user's puts them back."""
    given = source.argument(call, "args", 1)
    made = maker(source, given) if given is not None else None
    if made is None or is_open(made) or is_open(call):
        return None
    collator = collator_of(source, call, "data_collator")
    if not source.imported(made.func).startswith("transformers."):
        return None
    names = ("remove_unused_columns", "label_names")
    chosen = any(source.argument(made, one) is not None for one in names)
    return None if chosen or (collator and not collator.startswith("transformers.")) else made


def forward_of(source: Source, call: ast.Call) -> Method | None:
    given = source.argument(call, "model", 0)
    owner = own_module(source, given) if given is not None else None
    return method(source, owner, "forward") if owner else None


def forward_name(source: Source, forward: Method) -> str:
    owner = source.parents[forward]
    return f"{owner.name}.forward" if isinstance(owner, ast.ClassDef) else "forward"


def keys_asked(loss: Method) -> Iterator[tuple[str, ast.expr]]:
    """`inputs["weight"]` and `inputs.pop("weight")`, without a value in its place."""
    if len(loss.args.args) < 3:
        return
    batch = loss.args.args[2].arg
    for node in ast.walk(loss):
        key = asked_key(node, batch)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, key


def asked_key(node: ast.AST, batch: str) -> ast.expr | None:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.slice if dotted(node.value) == batch else None
    pops = isinstance(node, ast.Call) and dotted(node.func) == f"{batch}.pop"
    return node.args[0] if pops and isinstance(node, ast.Call) and len(node.args) == 1 else None
