"""Flags as other libraries call them, put into surefit's own names before they are read."""

from collections.abc import Sequence

from cyclopts.exceptions import CycloptsError, UnknownOptionError

from surefit.launch_notes import number
from surefit.other_names import known_elsewhere, mapping
from surefit.render import console
from surefit.settings import key_of


def flag_elsewhere(error: CycloptsError) -> tuple[str, str | None]:
    """The unknown flag, and the one of the command that it stands for, if there is any."""
    if not isinstance(error, UnknownOptionError):
        return "", None
    name = str(error.token.keyword or error.token.value).split("=", 1)[0]
    arguments = [
        argument
        for argument in error.argument_collection
        if argument.parse and not argument.children
    ]
    own = {argument.field_info.name: argument.name for argument in arguments}
    field = known_elsewhere(key_of(name), own)
    return name, None if field is None else own[field]


def has_flag(tokens: Sequence[str], flag: str) -> bool:
    return any(
        key_of(token.split("=", 1)[0]) == key_of(flag) for token in tokens if _is_flag(token)
    )


def renamed(tokens: Sequence[str], name: str, flag: str) -> tuple[str, ...]:
    return tuple(_renamed(token, name, flag) for token in tokens)


def _renamed(token: str, name: str, flag: str) -> str:
    typed, has_value, value = token.partition("=")
    return f"{flag}{has_value}{value}" if typed == name else token


def _is_flag(token: str) -> bool:
    return token.startswith("--")


def say_mapping(name: str, own: str, where: str = "") -> None:
    """Of several processes the first says it."""
    if not number("RANK"):
        console.say(mapping(name, own) + where)
