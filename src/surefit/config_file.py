"""A config file: settings in TOML or YAML, and the line on which each stands."""

import re
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import yaml

from surefit.doctor.findings import Fact, Place
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.settings import Config, key_of, unknown_setting
from surefit.user_files import read_plain

UNREADABLE_CONFIG = refusal(
    "SF009", "unreadable-config", "The config file is not there or cannot be read."
)
UNKNOWN_CONFIG_KIND = refusal(
    "SF010", "unknown-config-kind", "The config file's ending names neither TOML nor YAML."
)
BROKEN_CONFIG = refusal(
    "SF011", "broken-config", "The config file is not valid TOML or YAML, or holds no settings."
)

LARGEST = 1 << 19
"""Bytes; what reads YAML takes ten seconds for each million."""
MOST_TABLES = 20
"""Of other names that are told."""
MOST_VALUES = 100_000
"""Of a YAML file, each alias counted as what it stands for."""


def read_config(path: Path, command: str, other_commands: Collection[str] = ()) -> Config:
    """The settings for `command`: keys at the top, and over them those in a table of its name.

    Tables named after other commands are left alone; any other table is refused.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise WrongCall(
            UNKNOWN_CONFIG_KIND.finding(
                Place(str(path)),
                f"`{path.name}` is not a config file that surefit reads.",
                facts=(Fact("endings", ", ".join(READERS)),),
            )
        )
    values, lines = reader(path, config_text(path))
    refuse_unprintable(path, values, lines)
    top = {k: v for k, v in values.items() if not isinstance(v, dict)}
    tables = {k: v for k, v in values.items() if isinstance(v, dict)}
    unknown = [name for name in tables if name != command and name not in other_commands]
    if unknown:
        raise WrongCall(
            *(
                unknown_setting(
                    name, command, (command, *other_commands), Place(str(path), lines.get((name,)))
                )
                for name in unknown[:MOST_TABLES]
            )
        )
    table = tables.get(command, {})
    lines_of_keys = {k: lines[(k,)] for k in top if (k,) in lines}
    lines_of_keys |= {k: lines[(command, k)] for k in table if (command, k) in lines}
    same = {key_of(k) for k in table}
    merged = {k: v for k, v in top.items() if key_of(k) not in same} | table
    return Config(path, merged, lines_of_keys)


def refuse_unprintable(path: Path, values: dict[str, Any], lines: "Lines") -> None:
    """Python reads some numbers that it then refuses to write: no message could show them."""
    for key, value in values.items():
        try:
            repr(value)
        except (ValueError, RecursionError) as error:
            headline = f"The value of `{key}` is too long or nested too deeply."
            raise broken(path, lines.get((key,)), headline, python_says(error)) from error


def config_text(path: Path) -> str:
    try:
        return read_plain(path, LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        headline = f"The config file `{path}` does not exist."
    except UnicodeDecodeError as error:
        headline = f"`{path.name}` is not UTF-8: byte {error.start + 1} is wrong."
    except OSError as error:
        headline = f"`{path.name}` cannot be read: {error.strerror}."
    raise WrongCall(UNREADABLE_CONFIG.finding(Place(str(path)), headline))


def broken(path: Path, line: int | None, headline: str, python_said: str = "") -> WrongCall:
    return WrongCall(
        BROKEN_CONFIG.finding(Place(str(path), line), headline, python_said=python_said)
    )


Lines = dict[tuple[str, ...], int]
"""The line of each key; the key of a table's key is (table, key)."""


def read_toml(path: Path, text: str) -> tuple[dict[str, Any], Lines]:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        raise broken(path, line, f"`{path.name}` is not valid TOML.", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise broken(path, None, f"`{path.name}` cannot be read.", python_says(error)) from error
    return values, toml_lines(text)


def python_says(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


TOML_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
TOML_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*[=.]""")


def toml_lines(text: str) -> Lines:
    """By eye: `tomllib` tells no lines."""
    found: Lines = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := TOML_TABLE.match(line):
            table = (heading[1].strip("\"'"),)
            found.setdefault(table, number)
        elif key := TOML_KEY.match(line):
            found.setdefault((*table, key[1] or key[2] or key[3]), number)
    return found


class ConfigLoader(yaml.SafeLoader):
    """YAML without objects, in which `2e-4` is a number, as it is everywhere but in YAML 1.1."""


ConfigLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def read_yaml(path: Path, text: str) -> tuple[dict[str, Any], Lines]:
    try:
        return parsed_yaml(path, text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        said = error.problem or error.context or ""
        raise broken(path, line, f"`{path.name}` is not valid YAML.", said) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise broken(path, line, f"`{path.name}` is not valid YAML.", error.reason) from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # What constructors raise on values that only look like a date, a number or a set.
        raise broken(path, None, f"`{path.name}` cannot be read.", python_says(error)) from error


def parsed_yaml(path: Path, text: str) -> tuple[dict[str, Any], Lines]:
    loader = ConfigLoader(text)
    lines: Lines = {}
    root = loader.get_single_node()
    if root is None:
        return {}, {}
    if not isinstance(root, yaml.MappingNode):
        line = root.start_mark.line + 1
        raise broken(path, line, f"`{path.name}` holds no `key: value` lines.")
    if values_of(root, {}) > MOST_VALUES:
        headline = f"The aliases of `{path.name}` stand for more than {MOST_VALUES:,} values."
        raise broken(path, None, headline)
    yaml_lines(path, root, (), lines)
    values = loader.construct_document(root)
    return {str(key): value for key, value in values.items()}, lines


def values_of(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for; a node within itself for more than any number."""
    if id(node) not in known:
        known[id(node)] = MOST_VALUES + 1
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        nodes = (part for item in inside for part in (item if isinstance(item, tuple) else (item,)))
        known[id(node)] = 1 + sum(values_of(part, known) for part in nodes)
    return known[id(node)]


def yaml_lines(path: Path, node: yaml.MappingNode, above: tuple[str, ...], found: Lines) -> None:
    for key, value in node.value:
        name, line = (*above, str(key.value)), key.start_mark.line + 1
        if name in found:
            raise broken(
                path, line, f"`{name[-1]}` is set on line {found[name]} and on line {line}."
            )
        found[name] = line
        if isinstance(value, yaml.MappingNode):
            yaml_lines(path, value, name, found)


READERS: dict[str, Callable[[Path, str], tuple[dict[str, Any], Lines]]] = {
    ".toml": read_toml,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}
