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
of the mapping have, too. A similar key is proposed. Where the evaluation of a Trainer has no loss,
either, its labels are arguments of `forward` that it does not know for labels.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.setting_keys import SettingNamesNoKey
from surefit.laws.training.trainers import arguments_call, trainer_of
from surefit.laws.values.value_origins import shortened
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.source.classes import method
from surefit.source.dictionary_edits import key_renamed, keys_of
from surefit.source.patches import Edit

SYMPTOM = Symptom(r"KeyError: ", "whether a setting names a key that is not there")
RULE = Rule("SF855", "setting-names-no-key", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

LONGEST = 100
EVALUATION, LOSS, LABEL_NAMES = "eval_", "eval_loss", "label_names"
NO_LABELS = ("mask", "ids", "position", "return", "cache", "past", "embeds", "output", "head")
"""In names of other arguments that may be left out."""


@RULE.on(SettingNamesNoKey)
def a_setting_names_a_key_that_is_not_there(broken: SettingNamesNoKey, case: Case) -> Finding:
    targets = labels_without_the_name(broken, case)
    if targets is not None:
        return no_labels_known(broken, targets, case)
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


@dataclass(frozen=True, slots=True)
class UnknownLabels:
    """Arguments of `forward` that a Trainer does not take for labels, by their names."""

    names: tuple[str, ...]
    call: Expression
    """That creates the Trainer's arguments."""


def labels_without_the_name(broken: SettingNamesNoKey, case: Case) -> UnknownLabels | None:
    """An evaluation that computed no loss has found no labels, and then computes no metric."""
    arguments = arguments_call(case)
    if LOSS in broken.holder.value.members or broken.prefix != EVALUATION or arguments is None:
        return None
    source, call = arguments
    trainer = trainer_of(case) if source.argument(call, LABEL_NAMES) is None else None
    if trainer is None or any("label" in name for name in trainer.forward):
        return None
    names = tuple(
        name
        for name in may_be_left_out(case, trainer.model)
        if not any(word in name for word in NO_LABELS)
    )
    return UnknownLabels(names, case.expression(source, call)) if names else None


def may_be_left_out(case: Case, model: str) -> list[str]:
    """Arguments of the user's `forward` with a default: without it, no loss is computed."""
    for source, owner in case.recording.every(ast.ClassDef):
        forward = method(source, owner, "forward") if owner.name == model else None
        if forward is not None:
            known = forward.args
            plain = known.args[len(known.args) - len(known.defaults) :]
            return [argument.arg for argument in (*plain, *known.kwonlyargs)]
    return []


def no_labels_known(broken: SettingNamesNoKey, labels: UnknownLabels, case: Case) -> Finding:
    names = some(labels.names)
    single = len(labels.names) == 1
    fix = SetArgument(
        at=labels.call,
        name=LABEL_NAMES,
        value=f'["{labels.names[0]}"]',
        words=f'Say which argument holds the labels: `{LABEL_NAMES}=["{labels.names[0]}"]`.',
        choice=not single,
    )
    return case.finding(
        labels.call.place,
        f"The Trainer found no labels for its evaluation, so that there is no `{broken.asked}`:"
        f" `forward` takes them as {names}, and the Trainer looks for `label` in the names.",
        facts=(
            Fact(f"keys of {broken.holder.name}", spoken(map(code, broken.holder.value.members))),
            Fact(code(broken.setting.name), repr(broken.setting.text)),
        ),
        why="Without labels the Trainer evaluates no loss, and does not call `compute_metrics`.",
        remedies=(fix,),
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
        for source, node in case.recording.every(ast.Dict)
        for name, constant in zip(keys_of(node), node.keys, strict=True)
        if name == key and isinstance(constant, ast.Constant)
    ]
    return key_renamed(*displays[0], new) if len(displays) == 1 else None
