"""A batch, a row or a table is asked for a key that has another name there, or was taken away.

## What happens
Collators and tokenizers name columns in their own way (`label` becomes `labels`), `remove_columns`
and `set_format` take columns away, and the Trainer leaves out every column that the model's
`forward` does not name. Python says `KeyError: 'label'`, and not which keys there are.

## Why it matters
The place that fails is seldom the place that took the column away; and a `.get` in its stead only
hides that it is gone.

## What to do
Ask for the name that is there, or keep the column: name it in `set_format`, do not remove it, give
`remove_unused_columns=False` to `TrainingArguments`.

## How it is recognised
A subscript with a written key failed with a `KeyError`, and its holder has a key of almost the same
spelling, or another usual name for labels or a mask; or a dataset that is alive has the column, and
the source or the Trainer takes it away on the way; or a function of the script makes rows of just
the keys that there are. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.evidence.argument_names import mean_the_same
from surefit.evidence.failed_keys import Asked, parts_of, subscript_in
from surefit.evidence.row_makers import columns_of, row_makers
from surefit.source.edits import argument_added, both, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF217",
    "key-not-there",
    Severity.ERROR,
    __doc__,
    symptoms=(Symptom(r"KeyError: '", "which keys there are, and what takes columns away"),),
)

ALIKE = 0.8
MOST_KEYS = 40
"""Beyond this not all keys of a value are known."""
TRAINER = "transformers/trainer.py"
WHICH = "which of them is meant only you know"


@dataclass(frozen=True, slots=True)
class Taken:
    """What takes a column away, and how to keep it."""

    node: ast.expr
    how: str
    text: str
    edit: Edit | None


@RULE.on(Crash)
def a_key_was_not_there(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    asked = subscript_in(frame, seen) if frame and crash.kind == "KeyError" else None
    if frame is None or asked is None or not is_cause(crash, seen):
        return
    key = asked.key.value if isinstance(asked.key, ast.Constant) else None
    keys = keys_of(crash, asked.holder)
    if not isinstance(key, str) or not keys or key in keys or len(keys) >= MOST_KEYS:
        return
    near = get_close_matches(key, keys, 1, ALIKE) or same_meaning(key, asked.holder)
    taken = None if near else taken_away(crash, asked, key, seen)
    if not near and taken is None:
        yield from never_made(crash, asked, key, keys, seen)
        return
    holder = asked.source.segment(asked.base)
    there = spoken(code(one) for one in keys)
    place = frame.place
    if taken:
        place = Place(asked.source.file, taken.node.lineno)
    said = f"`{holder}` has no `{key}`"
    headline = (
        f"{said}: it is called `{near[0]}` there." if near else f"{said}: {taken and taken.how}."
    )
    yield RULE.finding(
        place,
        headline,
        facts=(
            Fact(f"keys of `{holder}`", there),
            *((Fact("fails at", str(frame.place)),) if taken else ()),
        ),
        why="The columns that a script sees are those that the last step before it hands on.",
        fixes=(fix(asked, key, near, taken, frame.place),),
        python_said=crash.said,
        about=crash.id,
    )


def same_meaning(key: str, holder: Value | None) -> list[str]:
    """The one that people call so, too, such as `target` for `labels`; no text is meant by it."""
    members = holder.members if holder else {}
    found = [name for name in members if mean_the_same(key, name)]
    return [name for name in found if members[name].kind != "str"] if len(found) == 1 else []


def never_made(
    crash: Crash, asked: Asked, key: str, keys: list[str], seen: Recording
) -> Iterator[Finding]:
    """A function of the script makes the rows, with just these keys."""
    found = [
        (source, maker, columns)
        for script in seen.all(Script)
        if (source := seen.source(script.file)) is not None
        for maker in row_makers(source)
        if set(columns := columns_of(source, maker.function)) == set(keys)
    ]
    if len(found) != 1 or crash.own_frame is None:
        return
    source, maker, columns = found[0]
    made = Place(source.file, min(one.lineno for one in columns.values()))
    holder, there = asked.source.segment(asked.base), spoken(code(one) for one in keys)
    yield RULE.finding(
        crash.own_frame.place,
        f"`{holder}` has no `{key}`: `{maker.name}` makes rows of {there}.",
        facts=(Fact(f"keys of `{holder}`", there), Fact("rows are made at", str(made))),
        why="A row has the keys that its dataset gives it, and no others.",
        fixes=(
            Fix(f"Ask for one of {there} here.", why_not_tried=WHICH),
            Fix(f"Or let `{maker.name}` give a `{key}`, too, at {made}.", why_not_tried=WHICH),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def keys_of(crash: Crash, holder: Value | None) -> list[str]:
    if holder is None:
        return []
    if holder.kind in ("LazyRow", "LazyBatch"):
        inside = [one for one in crash.frames[-1].values if one.text == "self.data"]
        return list(inside[0].members) if inside else []
    return list(holder.members)


def taken_away(crash: Crash, asked: Asked, key: str, seen: Recording) -> Taken | None:
    """By a statement of the script or by the Trainer; only where a dataset has the column."""
    found = list(takers(asked.source, key))
    trained = any(frame.place.file.endswith(TRAINER) for frame in crash.frames)
    if not found and not trained:
        return None
    said = seen.ask(Question("columns", crash.id, {"column": key}))
    if said is None or not said["datasets"]:
        return None
    if len(found) == 1:
        return found[0]
    calls = [call for call in asked.source.every(ast.Call) if called(call) == "TrainingArguments"]
    if found or not trained or len(calls) != 1:
        return None
    return Taken(
        calls[0],
        "the Trainer leaves out the columns that `forward` of the model does not name",
        "Keep all columns: `remove_unused_columns=False`.",
        argument_added(asked.source, calls[0], "remove_unused_columns", "False"),
    )


def takers(source: Source, key: str) -> Iterator[Taken]:
    """Calls that take a column of this name away, or do not name it among those that are kept."""
    for call in source.every(ast.Call):
        if called(call) in ("set_format", "with_format"):
            kept = source.argument(call, "columns", 1)
            names = written(kept)
            if names is not None and key not in names and isinstance(kept, ast.List):
                text = f"[{', '.join([*map(source.segment, kept.elts), repr_of(key)])}]"
                yield Taken(
                    call,
                    f"`{called(call)}` at line {call.lineno} keeps {spoken(map(code, names))} only",
                    f"Name `{key}` among the columns that are kept.",
                    replaced(source, kept, text),
                )
        given = source.argument(call, "remove_columns")
        if called(call) == "remove_columns":
            given = source.argument(call, "column_names", 0)
        names = written(given)
        if names and key in names and isinstance(given, ast.List):
            left = [one for one, name in zip(given.elts, names, strict=True) if name != key]
            yield Taken(
                call,
                f"`remove_columns` at line {given.lineno} takes it away",
                f"Do not remove `{key}`.",
                replaced(source, given, f"[{', '.join(map(source.segment, left))}]"),
            )


def repr_of(key: str) -> str:
    return f'"{key}"'


def written(node: ast.expr | None) -> list[str] | None:
    """The strings of a list that stands in the source."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    names = [one.value for one in node.elts if isinstance(one, ast.Constant)]
    return [str(name) for name in names] if len(names) == len(node.elts) else None


def fix(asked: Asked, key: str, near: list[str], taken: Taken | None, place: Place) -> Fix:
    statement = asked.source.statement_of(asked.node)
    line = Place(asked.source.file, statement.lineno)
    if near:
        members = asked.holder.members if asked.holder else {}
        return Fix(
            f"Ask for `{near[0]}`.",
            renamed(asked, key, near[0]),
            KeyIsThere(line, text_of(asked, near[0]), members.get(near[0])),
        )
    assert taken is not None
    return Fix(taken.text, taken.edit, KeyIsThere(place, text_of(asked, key)))


def renamed(asked: Asked, key: str, new: str) -> Edit:
    """Here, and wherever else the same holder is asked for the same key."""
    source, base = asked.source, ast.unparse(asked.base)
    edit = replaced(source, asked.key, repr_of(new))
    for node in source.every(ast.expr):
        parts = parts_of(node) if node is not asked.node else None
        if parts is None or getattr(node, "ctx", None).__class__ in (ast.Store, ast.Del):
            continue
        same = isinstance(parts[1], ast.Constant) and parts[1].value == key
        if same and ast.unparse(parts[0]) == base:
            edit = both(edit, replaced(source, parts[1], repr_of(new)))
    return edit


def text_of(asked: Asked, key: str) -> str:
    """The value as the statement itself can read it: inside a comprehension, the first one."""
    base = ast.unparse(asked.base)
    for outer in asked.source.up(asked.node):
        if isinstance(outer, ast.stmt):
            break
        for one in getattr(outer, "generators", ()):
            if ast.unparse(one.target) == base and isinstance(one.iter, ast.Name):
                base = f"{one.iter.id}[0]"
    return f"{base}[{key!r}]"
