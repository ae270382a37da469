"""A batch, a row or a table is asked for a key that has another name there, or was removed.

## What happens
Collators and tokenizers name columns in their own way (`label` becomes `labels`), `remove_columns`
and `set_format` remove columns, and a row has just the keys that it was created with. Python says
`KeyError: 'label'`, and not which keys there are.

## Why it matters
The failing line is seldom the one that removed or misspelled the key, and `.get` only hides it.

## What to do
Ask for the name that is there, give the row that name where it is created, or keep the column: name
it in `set_format`, do not remove it.

## How it is recognised
A subscript failed with a `KeyError`, for a key or a list of keys, and its holder has a key of like
spelling, or another usual name for labels or a mask, or both names that a join makes of it; or a
dataset that is alive has the column, and a call of the script removes it; or a second run shows
where the row is created, with other keys.
"""

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case
from surefit.laws.contracts.keys import KeyAbsent
from surefit.laws.rows.argument_names import mean_the_same
from surefit.laws.training.trainers import dropped_columns, trainer_of
from surefit.laws.values.subscripts import readable, renamed_everywhere
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.change import Change
from surefit.remedies.columns import Removal, removals
from surefit.source.dictionary_edits import key_renamed, keys_of
from surefit.source.edits import replaced
from surefit.source.patches import Edit

SYMPTOM = Symptom(r"KeyError: '", "which keys there are, and what removes columns")
RULE = Rule("SF217", "key-not-there", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

ALIKE = 0.8
CREATE = (ProducerKind.DISPLAY, ProducerKind.CALL)


@dataclass(frozen=True, slots=True)
class DatasetsWithColumn:
    """Datasets that are alive and have the column."""

    probe: ClassVar[str] = "columns"

    datasets: tuple[dict[str, object], ...] = ()


@RULE.on(KeyAbsent)
def a_key_is_not_there(broken: KeyAbsent, case: Case) -> Finding | None:
    if broken.key in dropped_columns(case, trainer_of(case)):
        return None  # `column-dropped-before-the-loss` has that
    if broken.joined:
        return renamed_by_a_join(broken, case)
    near = nearest(broken) if broken.written is not None else ""
    if near:
        return misnamed(broken, case, near)
    calls = list(removals(broken.asked.source, broken.key))
    alive = case.ask(DatasetsWithColumn, column=broken.key) if len(calls) == 1 else None
    if alive is not None and alive.datasets:
        return by_removal(broken, case, calls[0])
    return never_there(broken, case)


def nearest(broken: KeyAbsent) -> str:
    """Almost the same spelling, or the one key that people call so, too, and that is no text."""
    alike = get_close_matches(broken.key, broken.members, 1, ALIKE)
    if alike:
        return alike[0]
    same = [name for name in broken.members if mean_the_same(broken.key, name)]
    return same[0] if len(same) == 1 and broken.members[same[0]].kind != "str" else ""


def facts(broken: KeyAbsent, word: str, at: Written | None) -> tuple[Fact, ...]:
    keys = Fact(f"keys of {broken.holder.name}", spoken(map(code, broken.members)))
    return keys, *fact_at(word, at)


def misnamed(broken: KeyAbsent, case: Case, near: str) -> Finding:
    created, wanted = creation(broken, case), broken.members[near]
    there = key_written(case, created, near, broken.key)
    place = Place(broken.use.place.file, broken.asked.source.statement_of(broken.asked.node).lineno)
    asking = Change(
        to=renamed(broken, near),
        words=f"Ask for `{near}`.",
        must=KeyIsThere(place, readable(broken.asked, near), wanted),
    )
    naming = Change(
        to=there,
        words=f"Name it `{broken.key}` where it is created.",
        must=KeyIsThere(place, readable(broken.asked, broken.key), wanted),
    )
    dicts = [node for source in case.recording.sources() for node in source.every(ast.Dict)]
    odd = there is not None and any(broken.key in keys_of(node) for node in dicts)
    return case.finding(
        created.place if odd and created is not None else broken.use.place,
        f"{broken.holder.name} has no `{broken.key}`: it is called `{near}` there.",
        facts=facts(broken, "created at", created),
        why="A row has the keys that it was created with, and a batch those that the last step"
        " before it hands on.",
        remedies=(naming, asking) if odd else (asking, naming if there is not None else None),
    )


def renamed_by_a_join(broken: KeyAbsent, case: Case) -> Finding:
    created = next(filter(joins, case.lineage(broken.holder).producers), None)
    names = spoken(map(code, broken.joined))
    return case.finding(
        created.place if created is not None else broken.use.place,
        f"{broken.holder.name} has no `{broken.key}`: both tables that it is joined from had it,"
        f" and the join calls them {names}.",
        facts=(*facts(broken, "joined at", created), *fact_at("asked for at", broken.use)),
        why="A join gives a suffix to columns of one name that it does not join by.",
        remedies=[ask_for(broken, name) for name in broken.joined],
    )


def joins(producer: Producer) -> bool:
    return producer.kind is ProducerKind.CALL and "merge" in producer.text


def ask_for(broken: KeyAbsent, name: str) -> Change | Fix:
    words = f"Ask for `{name}`."
    if broken.written is None:
        return Fix(words, choice=True)
    edit = replaced(broken.asked.source, broken.written, f'"{name}"')
    return Change(to=edit, words=words, choice=True)


def renamed(broken: KeyAbsent, near: str) -> Edit:
    if broken.written is None or broken.is_subscript:
        return renamed_everywhere(broken.asked, near)
    return replaced(broken.asked.source, broken.written, f'"{near}"')


def creation(broken: KeyAbsent, case: Case) -> Producer | None:
    """The user's expression that gave the holder its keys."""
    for producer in case.lineage(broken.holder).producers:
        if producer.kind in CREATE and set(producer.value.members) == set(broken.members):
            return producer
    return None


def key_written(case: Case, created: Producer | None, key: str, new: str) -> Edit | None:
    """A dict display with another name for one of its keys."""
    node, source = case.node(created), case.source(created)
    if source is None or not isinstance(node, ast.Dict) or key not in keys_of(node):
        return None
    constant = node.keys[keys_of(node).index(key)]
    return key_renamed(source, constant, new) if isinstance(constant, ast.Constant) else None


def by_removal(broken: KeyAbsent, case: Case, removal: Removal) -> Finding:
    must = KeyIsThere(broken.use.place, readable(broken.asked, broken.key))
    return case.finding(
        Place(broken.asked.source.file, removal.call.lineno),
        f"{broken.holder.name} has no `{broken.key}`: {removal.how}.",
        facts=facts(broken, "asked for at", broken.use),
        why="The columns of a batch are those that the last step before it hands on.",
        remedies=(Change(to=removal.edit, words=removal.words, must=must),),
    )


def never_there(broken: KeyAbsent, case: Case) -> Finding | None:
    created = creation(broken, case)
    if created is None:
        return None
    there = spoken(map(code, broken.members))
    choices = f"Ask for one of {there}.", f"Create it with a `{broken.key}` at {created.place}."
    return case.finding(
        broken.use.place,
        f"{broken.holder.name} has no `{broken.key}`: it is created with {there}.",
        facts=facts(broken, "created at", created),
        why="A row has the keys that it was created with, and no others.",
        remedies=(Fix(text, choice=True) for text in choices),
    )
