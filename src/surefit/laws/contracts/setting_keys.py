"""A setting that a library takes for the name of an entry: the entry must be there."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.did_you_mean import nearest
from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.keys import MOST_KEYS
from surefit.source import snippets
from surefit.source.reading import Source

LISTED = 3
"""Frames of libraries from the innermost outwards in which the key may have been asked for."""
SEPARATORS = "_/.:-"
SHORTEST = 3
"""Letters that a name and its abbreviation must share."""


@dataclass(frozen=True, slots=True)
class Setting:
    """`metric_for_best_model="f1"`."""

    source: Source
    name: str
    constant: ast.Constant
    """The text, also where the call only has a name for it."""

    @property
    def text(self) -> str:
        return str(self.constant.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingNamesNoKey(Violation):
    """A library asked a holder for a key that a setting of the user's names."""

    holder: Operand
    asked: str
    """With what the library puts before it: `eval_f1`."""
    setting: Setting
    prefix: str
    caller: Frame
    keys: tuple[str, ...]
    """As a setting would name them: those of the holder with the same prefix, without it."""

    @property
    def near(self) -> str:
        return nearest_key(self.setting.text, self.keys)


def violations_of(case: Case) -> Iterator[SettingNamesNoKey]:
    if case.crash is None or case.own is None or case.crash.kind != "KeyError":
        return
    for number, frame in list(enumerate(case.frames))[: -LISTED - 1 : -1]:
        if frame.own:
            return
        asked = asked_by(frame)
        setting = setting_naming(asked[1], case) if asked is not None else None
        if asked is None or setting is None:
            continue
        holder, key = asked
        prefix = key.removesuffix(setting.text)
        keys = [name.removeprefix(prefix) for name in holder.members if name.startswith(prefix)]
        if keys:
            yield SettingNamesNoKey(
                use=use_of(case.own),
                holder=Operand(value=holder, name=code(holder.text), frame=number),
                asked=key,
                setting=setting,
                prefix=prefix,
                caller=frame,
                keys=tuple(keys),
            )
        return


def asked_by(frame: Frame) -> tuple[Value, str] | None:
    """Holder and key of a subscript that a library computes, and has not written itself."""
    node = snippets.expression(frame.expression)
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Constant):
        return None
    holder, key = frame.value(ast.unparse(node.value)), frame.value(ast.unparse(node.slice))
    if holder is None or key is None or not isinstance(key.scalar, str):
        return None
    known = 0 < len(holder.members) < MOST_KEYS and key.scalar not in holder.members
    return (holder, key.scalar) if known else None


def setting_naming(key: str, case: Case) -> Setting | None:
    """The only argument in the user's source that is written as this key, or as the end of it."""
    named = [
        Setting(source, keyword.arg, value)
        for source, keyword in case.recording.every(ast.keyword)
        if keyword.arg is not None
        and isinstance(value := source.value_of(keyword.value), ast.Constant)
        and isinstance(value.value, str)
        and is_end_of(value.value, key)
    ]
    whole = [setting for setting in named if setting.text == key] or named
    return whole[0] if len({setting.constant for setting in whole}) == 1 else None


def is_end_of(text: str, key: str) -> bool:
    before = key.removesuffix(text)
    return bool(text) and (not before or (before != key and before[-1] in SEPARATORS))


def nearest_key(written: str, keys: tuple[str, ...]) -> str:
    """`macro_f1` for `f1`, `acc` for `accuracy`, or almost the same spelling; empty for none."""
    holding = [key for key in keys if words_of(written) <= words_of(key)]
    within = [key for key in keys if words_of(key) < words_of(written)]
    short = [
        key
        for key in keys
        if min(len(key), len(written)) >= SHORTEST
        and (key.startswith(written) or written.startswith(key))
    ]
    for same in (holding, within, short):
        if len(same) == 1:
            return same[0]
    return nearest(written, keys) or ""


def words_of(name: str) -> set[str]:
    return {word for word in re.split(rf"[{re.escape(SEPARATORS)}\s]+", name.lower()) if word}
