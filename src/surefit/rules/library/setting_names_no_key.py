"""A setting names an entry, such as a metric, that is not there when the library asks for it.

## What happens
Some settings are names of something that exists only later: `metric_for_best_model="f1"` is a key
of what `compute_metrics` returns, with `eval_` before it; `hidden_act="gleu"` is a key of a table
of the library. The library looks the name up when it needs it.

## Why it matters
The `KeyError` comes far from the setting, often after an epoch of training and its evaluation, and
names a key that the script does not contain.

## What to do
Write the setting as the entry is called, or name the entry as the setting says.

## How it is recognised
A line of a library asked a mapping for a key that it computed, the mapping does not have it, and
just one argument in the script is written as this key, or as its end after a prefix that other keys
of the mapping have, too. A similar key is proposed.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.setting_keys import SettingNamesNoKey
from surefit.laws.value_origins import shortened
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.source.dictionary_edits import key_renamed, keys_of
from surefit.source.patches import Edit

SYMPTOM = Symptom(r"KeyError: ", "whether a setting names a key that is not there")
RULE = Rule("SF855", "setting-names-no-key", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

LONGEST = 100


@RULE.on(SettingNamesNoKey)
def a_setting_names_a_key_that_is_not_there(broken: SettingNamesNoKey, case: Case) -> Finding:
    setting, near = broken.setting, broken.near
    there = f": it has `{broken.prefix}{near}`" if near else ""
    frame = broken.caller
    place = Place(frame.place.file, frame.place.line)
    line = shortened(" ".join(frame.line.split()), LONGEST)
    return case.finding(
        Place(setting.source.file, setting.constant.lineno),
        f"`{setting.name}` names `{broken.asked}`, and {broken.holder.name} of"
        f" `{frame.function}` has no such key{there}.",
        facts=(
            Fact(code(setting.name), repr(setting.text)),
            Fact(f"keys of {broken.holder.name}", spoken(map(code, broken.holder.value.members))),
            Fact("asked for at", f"{place}  {line}"),
        ),
        why=why(broken),
        remedies=remedies(broken, case),
    )


def why(broken: SettingNamesNoKey) -> str:
    before = f", with `{broken.prefix}` before it" if broken.prefix else ""
    return f"The library takes the setting for a key{before}, and looks it up only here."


def remedies(broken: SettingNamesNoKey, case: Case) -> Iterator[Remedy | Fix]:
    setting, near = broken.setting, broken.near
    if not near:
        yield Fix(f"Set `{setting.name}` to one of {some(broken.keys)}.", choice=True)
        return
    quote = setting.source.segment(setting.constant)[-1]
    yield ReplaceWith(
        at=case.expression(setting.source, setting.constant),
        text=f"{quote}{near}{quote}",
        words=f"Name the key that is there: `{setting.name}={near!r}`.",
        choice=True,
    )
    created = named_so(case, near, setting.text)
    if created is not None:
        words = f"Or name it `{setting.text}` where it is created."
        yield Change(to=created, words=words, choice=True)


def named_so(case: Case, key: str, new: str) -> Edit | None:
    """The only dictionary of the script that has the key, with the other name for it."""
    displays = [
        (source, constant)
        for source in case.recording.sources()
        for node in source.every(ast.Dict)
        for name, constant in zip(keys_of(node), node.keys, strict=True)
        if name == key and isinstance(constant, ast.Constant)
    ]
    return key_renamed(*displays[0], new) if len(displays) == 1 else None
