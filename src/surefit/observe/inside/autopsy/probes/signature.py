"""Which arguments a function, method or class of a library takes, and of which version it is."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from importlib import metadata
from types import FrameType, FunctionType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy import expressions
from surefit.observe.inside.autopsy.questions import Said

RENAMES = re.compile(
    r"`(\w+)=?`[^`]{0,160}?(?:deprecated|renamed|replaced|removed)[^`]{0,160}?`(\w+)=?`"
)
"""`max_seq_length` is deprecated ... use `max_length`."""
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """By the text that the source has for each; those that cannot be read are left out."""
    frame = frames[int(about["frame"])]
    found = {str(text): _taken(str(text), frame) for text in about["texts"]}
    return {"functions": {text: one for text, one in found.items() if one is not None}}


def _taken(text: str, frame: FrameType) -> dict[str, Any] | None:
    function, bound = _found(ast.parse(text, mode="eval").body, frame)
    if not callable(function) or _is_own(function):
        return None
    try:
        parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    except (ValueError, TypeError):
        return None
    package = str(getattr(function, "__module__", "") or "").partition(".")[0]
    return {
        "name": str(getattr(function, "__qualname__", text)),
        "package": package,
        "version": _version(package),
        "takes": [one.name for one in parameters if one.kind in NAMED],
        "any": any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters),
        "settings": _settings(function, parameters),
        "renamed": _renamed(function),
    }


def _settings(function: Any, parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """Parameter -> the class of settings that its annotation names, and what that takes."""
    names = vars(sys.modules.get(getattr(function, "__module__", ""), inspect))
    found = {}
    for parameter in parameters:
        words = re.findall(r"\w+", str(parameter.annotation))
        kinds = [kind for word in words if is_dataclass(kind := names.get(word))]
        if kinds and inspect.isclass(kinds[0]):
            found[parameter.name] = {
                "name": kinds[0].__name__,
                "module": kinds[0].__module__.partition(".")[0],
                "takes": [known.name for known in fields(kinds[0]) if known.init],
            }
    return found


def _renamed(function: Any) -> dict[str, str]:
    """Old name -> new one, as the library's own documentation and warnings tell."""
    texts = [str(getattr(function, "__doc__", "") or "")]
    for name in ("__init__", "__post_init__") if inspect.isclass(function) else ():
        try:
            texts.append(inspect.getsource(vars(function)[name]))
        except (KeyError, OSError, TypeError):
            continue
    return {old: new for text in texts for old, new in RENAMES.findall(text) if old != new}


def _found(node: ast.expr, frame: FrameType) -> tuple[Callable[..., Any] | None, bool]:
    """What a name stands for; True where its first argument is given by the way it is asked."""
    value = expressions.read(node, frame)
    if value is not expressions.MISSING:
        return value, False
    if not isinstance(node, ast.Attribute):
        return None, False
    owner = _found(node.value, frame)[0]
    if owner is None:
        return None, False
    found = inspect.getattr_static(owner, node.attr, None)
    if isinstance(found, classmethod):
        return found.__func__, True
    if isinstance(found, staticmethod):
        return found.__func__, False
    return found, isinstance(found, FunctionType) and not inspect.isclass(owner)


def _is_own(function: Any) -> bool:
    if inspect.isclass(function):
        return own_code.own_class(function)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and own_code.own(code)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
