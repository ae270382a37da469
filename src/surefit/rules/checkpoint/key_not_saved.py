"""A checkpoint is asked for an entry that was never saved, or was saved under another name.

## What happens
One function writes the checkpoint, another reads it, and they do not name the same entries: the
schedule was added to the one and not to the other, or `opt` became `optimizer`. Python says
`KeyError: 'scheduler'`, at the reading end.

## Why it matters
It shows when a run is to be resumed, hours after the checkpoint was written. With a `.get` instead
the schedule silently starts from its beginning.

## What to do
Save the entry, where the checkpoint is written; or read it by the name that it has there. What old
files do not hold can only be left as it is: `if "scheduler" in checkpoint`.

## How it is recognised
A subscript with a written key failed with a `KeyError`, and a second run shows that its holder is
what `torch.load` returned. An entry that is never read and has almost the same name is the one;
otherwise the `torch.save` that writes the very entries there are has left it out.

In a script that is only read: an entry is read from what `torch.load` returns, and the dict that
the same script saves to that file does not have it.
"""

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.keys import EntryAbsent
from surefit.laws.values.subscripts import parts_of, renamed_everywhere
from surefit.remedies.change import Change
from surefit.remedies.save_entry import SavedDict, SaveEntry
from surefit.source.dictionary_edits import keys_of

SYMPTOM = Symptom(
    r"KeyError: '\w*(model|state|optim|sched|epoch|scaler|ema)\w*'",
    "which entries the checkpoint has, and which `torch.save` wrote it",
)
RULE = Rule("SF910", "key-not-saved", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

ALIKE = 0.8
SHORTEST = 3
SAYS_NOTHING = {"state", "states", "dict", "sd", "last", "current"}
OF_THE_MODEL = {"model", "net", "network", "weights", "module"}


@RULE.on(EntryAbsent)
def checkpoint_has_no_such_entry(broken: EntryAbsent, case: Case) -> Finding:
    other = other_name(broken)
    saved = next(saving(broken, case), None)
    at = broken.saved_at or (saved.place if saved else None)
    return case.finding(
        broken.use.place if other or at is None else at,
        headline(broken, other, at),
        facts=(
            Fact(f"entries of {broken.holder.name}", spoken(map(code, broken.entries))),
            *((Fact("written at", str(at)),) if other and at else ()),
            *fact_at("read at", broken.use if at and not other else None),
        ),
        why="A checkpoint holds what was given to `torch.save`, under the names it had there.",
        remedies=remedies(broken, other, saved),
    )


def headline(broken: EntryAbsent, other: str, at: Place | None) -> str:
    if other:
        return f"{broken.holder.name} has no `{broken.key}`: it was saved as `{other}`."
    if at:
        return (
            f"`{broken.key}` is read from the checkpoint, and is not among the entries saved here."
        )
    return f"The checkpoint that was loaded as {broken.holder.name} holds no `{broken.key}`."


def other_name(broken: EntryAbsent) -> str:
    """The only entry of the same word that nothing reads."""
    base = ast.unparse(broken.asked.base)
    parts = [parts_of(node) for node in broken.asked.source.every(ast.expr)]
    read = {
        pair[1].value
        for pair in parts
        if pair and isinstance(pair[1], ast.Constant) and ast.unparse(pair[0]) == base
    }
    unread = [entry for entry in broken.entries if entry not in read]
    near = get_close_matches(broken.key, unread, 1, ALIKE)
    key = words(broken.key)
    alike = near or [entry for entry in unread if is_one_word(words(entry), key)]
    return alike[0] if len(alike) == 1 else ""


def words(key: str) -> set[str]:
    """Those that tell what it is; a bare `state_dict` is the model's."""
    telling = {word for word in key.lower().split("_") if word not in SAYS_NOTHING}
    return {"model" if word in OF_THE_MODEL else word for word in telling or {"model"}}


def is_one_word(first: set[str], second: set[str]) -> bool:
    """`opt` and `optimizer`; all words of the shorter name begin some of the longer one."""
    few, many = sorted((first, second), key=len)
    return all(any(is_beginning(word, other) for other in many) for word in few)


def is_beginning(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return first == second or (len(short) >= SHORTEST and long.startswith(short))


def saving(broken: EntryAbsent, case: Case) -> Iterator[SavedDict]:
    """Dicts with just these entries that some `torch.save` of the user's is given."""
    for source in case.recording.sources():
        for call in source.calls_of("torch.save"):
            argument = source.argument(call, "obj", 0)
            value = source.value_of(argument) if argument is not None else None
            if isinstance(value, ast.Dict) and set(keys_of(value)) == set(broken.entries):
                yield SavedDict(source, value)


def remedies(broken: EntryAbsent, other: str, saved: SavedDict | None) -> Iterator[Remedy | Fix]:
    asked, key = broken.asked, broken.key
    base = ast.unparse(asked.base)
    place = Place(asked.source.file, asked.source.statement_of(asked.node).lineno)
    if other:
        yield Change(
            to=renamed_everywhere(asked, other),
            words=f"Read it by the name that it has: `{other}`.",
            must=KeyIsThere(place, f"{base}[{other!r}]"),
        )
    elif saved is not None:
        must = KeyIsThere(place, f"{base}[{key!r}]")
        yield SaveEntry(asked=asked, key=key, saved=saved, must=must)
    else:
        yield Fix(
            f'Save it with the others; for files without it: `if "{key}" in {base}:`.', choice=True
        )
