"""Settings of a config file put behind the flags of a call: flags win, then file, then defaults."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cyclopts import App, Argument, ArgumentCollection, Token

from surefit.doctor.findings import COMMAND_LINE, Finding, Place
from surefit.errors import WrongCall
from surefit.other_names import known_elsewhere
from surefit.settings import (
    SETTINGS,
    Config,
    Misfit,
    fit,
    given_twice,
    key_of,
    unknown_setting,
    wrong_type,
)

from .flags_elsewhere import say_mapping

MOST_FINDINGS = 20
"""Settings that are told to be wrong; a file with more of them is of another kind."""


def too_many(path: Path) -> Finding:
    from surefit.config_file import BROKEN_CONFIG

    headline = f"`{path.name}` has more than {MOST_FINDINGS} wrong settings; these are the first."
    return BROKEN_CONFIG.finding(Place(str(path)), headline)


class ConfigFlags:
    """The config file of one call, if it has one, as the parser wants it."""

    def __init__(self, path: Path | None, commands: Sequence[str]) -> None:
        self.path = path
        self.commands = commands
        self.places: dict[str, Place] = {}
        """Settings that the file decided, and where."""
        self.typed: set[str] = set()
        """Settings that a flag or the file decided."""

    def __call__(
        self, _app: App, command_chain: tuple[str, ...], arguments: ArgumentCollection
    ) -> None:
        if self.path is not None:
            self.read(self.path, command_chain, arguments)
        leaves = (argument for argument in arguments if argument.parse and not argument.children)
        self.typed = {argument.field_info.name for argument in leaves if argument.tokens}

    def read(
        self, path: Path, command_chain: tuple[str, ...], arguments: ArgumentCollection
    ) -> None:
        from surefit.config_file import read_config

        command = " ".join(command_chain)
        config = read_config(path, command, self.commands)
        leaves = [one for one in arguments if one.parse and not one.children]
        known = {key_of(name): one for one in leaves for name in one.names}
        found: list[Finding] = []
        taken: dict[str, str] = {}
        for key in config:
            argument = known.get(key_of(key))
            if argument is None and (field := known_elsewhere(key_of(key), known)):
                say_mapping(key, field, f"  ({config.place(key)})")
                argument = known[field]
            if argument is None and len(found) > MOST_FINDINGS:
                continue  # to look for the nearest name takes long
            if argument is None:
                found.append(unknown_setting(key, command, list(known), config.place(key)))
                continue
            name = argument.field_info.name
            if name in taken:
                found.append(given_twice(name, taken[name], key, config.place(key)))
                continue
            taken[name] = key
            found += self.put(argument, key, config)
        if len(found) > MOST_FINDINGS:
            found = [*found[:MOST_FINDINGS], too_many(path)]
        if found:
            raise WrongCall(*found)

    def put(self, argument: Argument, key: str, config: Config) -> list[Finding]:
        """Checks the value even where a flag wins: a file is right or wrong by itself."""
        try:
            value = fit(argument.hint, config[key])
        except Misfit as misfit:
            return [wrong_type(key, config[key], misfit.takes, config.place(key))]
        if not argument.tokens:
            self.places[argument.field_info.name] = config.place(key)
            argument.append(
                Token(keyword=key, value=str(value), source=str(self.path), implicit_value=value)
            )
        return []

    def placed(self, finding: Finding) -> Finding:
        """A finding about a setting, at the place that the setting came from."""
        if finding.place != SETTINGS:
            return finding
        named = re.match(r"`(\w+)`", finding.headline)
        place = self.places.get(named[1], COMMAND_LINE) if named else COMMAND_LINE
        return replace(finding, place=place)
