"""A checkpoint is asked for an entry that was never saved, or was saved under another name.

## What happens
One function writes the checkpoint, another reads it, and they do not name the same entries: the
schedule was added to the one and not to the other, or `opt` became `optimizer`. Python says
`KeyError: 'scheduler'`, at the reading end.

## Why it matters
It is found when a run is to go on, hours after the checkpoint was written. A `.get` in its stead
begins the schedule anew without a word.

## What to do
Save the entry, where the checkpoint is written; or read it by the name that it has there. What old
files do not hold can only be left as it is: `if "scheduler" in checkpoint`.

## How it is recognised
A subscript with a written key failed with a `KeyError`, and what it asks comes from `torch.load`.
If an entry that is never read has a name of the same word, it is the one; if not, the `torch.save`
that writes the very entries there are has left it out. The text of the exception is not looked at.

In a script that is only read: an entry is read from what `torch.load` gives, and the dict that the
same script saves to that file does not have it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.interpreter import violations, wording
from surefit.laws.subscripts import Asked, parts_of, subscript_in
from surefit.source.edits import appended, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Function, Source, called

RULE = Rule(
    "SF910",
    "key-not-saved",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"KeyError: '\w*(model|state|optim|sched|epoch|scaler|ema)\w*'",
            "which entries the checkpoint has, and which `torch.save` wrote it",
        ),
    ),
)

ALIKE = 0.8
"""Names of so much the same spelling are another rule's: see `key-not-there`."""
MOST_KEYS = 40
SHORTEST = 3
SAYS_NOTHING = {"state", "states", "dict", "sd", "last", "current"}
OF_THE_MODEL = {"model", "net", "network", "weights", "module"}


@dataclass(frozen=True, slots=True)
class Saved:
    """The dictionary that `torch.save` was given."""

    source: Source
    written: ast.Dict


@RULE.on(Crash)
def checkpoint_has_no_such_entry(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    asked = subscript_in(frame, seen) if frame and crash.kind == "KeyError" else None
    if frame is None or asked is None or asked.holder is None or not is_cause(crash, seen):
        return
    key = asked.key.value if isinstance(asked.key, ast.Constant) else None
    keys = list(asked.holder.members)
    if not isinstance(key, str) or not keys or key in keys or len(keys) >= MOST_KEYS:
        return
    if get_close_matches(key, keys, 1, ALIKE) or not is_loaded(asked.source, asked.base):
        return
    other = other_name(asked, key, keys)
    saved = next(iter(saving(seen, keys)), None)
    holder = asked.source.segment(asked.base)
    at = Place(saved.source.file, saved.written.lineno, saved.written.end_lineno) if saved else None
    yield RULE.finding(
        frame.place if other or at is None else at,
        headline(holder, key, other, at),
        facts=(
            Fact(f"entries of {code(holder)}", spoken(map(code, keys))),
            *((Fact("written at", str(at)),) if other and at else ()),
            *((Fact("read at", str(frame.place)),) if at and not other else ()),
        ),
        why="A checkpoint holds what was given to `torch.save`, under the names it had there.",
        fixes=(renaming(asked, other) if other else saving_too(asked, key, saved),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(holder: str, key: str, other: str | None, at: Place | None) -> str:
    if other:
        return f"{code(holder)} has no `{key}`: it was saved as `{other}`."
    if at:
        return f"`{key}` is read from the checkpoint, and is not among the entries saved here."
    return f"The checkpoint that was loaded as {code(holder)} holds no `{key}`."


def is_loaded(source: Source, base: ast.expr) -> bool:
    """It comes from `torch.load`, directly or through a function of the file that returns it."""
    value = source.value_of(base)
    if not isinstance(value, ast.Call):
        return False
    if source.imported(value.func) == "torch.load":
        return True
    made = [one for one in source.every(ast.FunctionDef) if one.name == called(value)]
    given = [
        source.value_of(one.value)
        for function in made
        for one in ast.walk(function)
        if isinstance(one, ast.Return) and one.value
    ]
    loads = [isinstance(g, ast.Call) and source.imported(g.func) == "torch.load" for g in given]
    return bool(loads) and all(loads)


def other_name(asked: Asked, key: str, keys: list[str]) -> str | None:
    """The only entry of the same word that nothing reads."""
    base = ast.unparse(asked.base)
    parts = [parts_of(node) for node in asked.source.every(ast.expr)]
    read = {
        one[1].value
        for one in parts
        if one and isinstance(one[1], ast.Constant) and ast.unparse(one[0]) == base
    }
    alike = [one for one in keys if one not in read and is_one_word(words(one), words(key))]
    return alike[0] if len(alike) == 1 else None


def words(key: str) -> set[str]:
    """Those that tell what it is; a bare `state_dict` is the model's."""
    told = {one for one in key.lower().split("_") if one not in SAYS_NOTHING}
    return {"model" if one in OF_THE_MODEL else one for one in told or {"model"}}


def is_one_word(one: set[str], other: set[str]) -> bool:
    """`opt` and `optimizer`; all words of the shorter name begin some of the longer one."""
    few, many = sorted((one, other), key=len)
    return all(any(is_beginning(a, b) for b in many) for a in few)


def is_beginning(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= SHORTEST and long.startswith(short))


def saving(seen: Recording, keys: list[str]) -> Iterator[Saved]:
    """Dictionaries with just these entries that some `torch.save` of the user's is given."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.calls_of("torch.save") if source else ():
            given = source.argument(call, "obj", 0) if source else None
            value = source.value_of(given) if source and given else None
            if source and isinstance(value, ast.Dict) and names_of(value) == sorted(keys):
                yield Saved(source, value)


def names_of(written: ast.Dict) -> list[str]:
    constants = [one for one in written.keys if isinstance(one, ast.Constant)]
    return sorted(str(one.value) for one in constants)


def renaming(asked: Asked, other: str) -> Fix:
    return Fix(
        f"Read it by the name that it has: `{other}`.",
        replaced(asked.source, asked.key, f'"{other}"'),
        there(asked, other),
    )


def there(asked: Asked, key: str) -> KeyIsThere:
    line = asked.source.statement_of(asked.node).lineno
    place = Place(asked.source.file, line)
    return KeyIsThere(place, f"{ast.unparse(asked.base)}[{key!r}]")


def saving_too(asked: Asked, key: str, saved: Saved | None) -> Fix:
    base = asked.source.segment(asked.base)
    if saved is None:
        return Fix(
            f'Save it with the others; for files without it: `if "{key}" in {base}:`.',
            why_not_tried="what wrote the checkpoint is not in your source",
        )
    value = value_to_save(asked, saved)
    text = f'Save it with the others: `"{key}": {value or "..."}`.'
    return Fix(
        f"{text} Files that are written already do not hold it.",
        entry_added(saved, key, value) if value else None,
        there(asked, key) if value else None,
        "" if value else "what is to be saved does not reach the function that saves",
    )


def value_to_save(asked: Asked, saved: Saved) -> str | None:
    """Of `x.load_state_dict(checkpoint[key])`: `x.state_dict()`, where saving knows the same x."""
    source = asked.source
    outer = source.parents.get(asked.node)
    owner, text = None, ""
    if isinstance(outer, ast.Call) and called(outer) == "load_state_dict":
        owner = outer.func.value if isinstance(outer.func, ast.Attribute) else None
        text = f"{source.segment(owner)}.state_dict()" if owner else ""
    elif isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Attribute):
        owner, text = outer.targets[0], source.segment(outer.targets[0])
    return text if owner is not None and is_known(asked, saved, owner) else None


def is_known(asked: Asked, saved: Saved, owner: ast.expr) -> bool:
    """The name stands for the same thing where the checkpoint is written."""
    root = next((one for one in ast.walk(owner) if isinstance(one, ast.Name)), None)
    if root is None or saved.source is not asked.source:
        return False
    source = saved.source
    if root.id == "self":
        return class_of(source, owner) is not None and class_of(source, owner) is class_of(
            source, saved.written
        )
    function = source.scope_of(saved.written)
    if source.scope_of(asked.node) is function:
        return True
    if not isinstance(function, Function):
        return False
    return root.id in {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}


def class_of(source: Source, node: ast.AST) -> ast.AST | None:
    return next((one for one in source.up(node) if isinstance(one, ast.ClassDef)), None)


def entry_added(saved: Saved, key: str, value: str) -> Edit:
    """Behind the last entry; on a line of its own, where the last one has one."""
    source, written = saved.source, saved.written
    last = written.keys[-1]
    lines = {one.lineno for one in written.keys if one}
    before = " "
    if last is not None and len(lines) == len(written.keys) and written.lineno not in lines:
        line = source.lines[last.lineno - 1]
        before = f"{source.newline}{line[: len(line) - len(line.lstrip())]}"
    return appended(source, written.values[-1], f',{before}"{key}": {value}')


@RULE.on(Script)
def entry_in_the_source_is_not_saved(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.CheckpointKeyMissing):
        entries = [str(name) for name in one.checkpoint.items or ()]
        yield RULE.finding(
            wording.place_of(source, one.checkpoint.node or one.node),
            f"`{one.key}` is read from the checkpoint, and is not among the entries saved here.",
            facts=(
                Fact("entries", spoken(f"`{name}`" for name in entries)),
                Fact("read at", wording.line_at(source, one.node)),
            ),
            why="A checkpoint holds what was given to `torch.save`, under the names it had there.",
            fixes=(
                Fix(
                    "Save it with the others, or read it by the name that it has.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
