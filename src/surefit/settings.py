"""How a settings class becomes flags, a config file and a page of help."""

import math
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from surefit.did_you_mean import misspelling_of
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.other_names import ALMOST, known_elsewhere, mapping

Precision = Literal["fp32", "bf16", "fp16"]
AskedPrecision = Literal["auto", "fp32", "bf16", "fp16"]

UNKNOWN_SETTING = refusal(
    "SF001", "unknown-setting", "A flag, config key or argument that no setting has."
)
WRONG_TYPE = refusal(
    "SF002", "setting-of-wrong-type", "A setting was given a value of another kind than it takes."
)
OUT_OF_RANGE = refusal(
    "SF003", "setting-out-of-range", "A setting was given a number outside of its range."
)
GIVEN_TWICE = refusal(
    "SF004", "setting-given-twice", "One setting was given twice, under its name or an alias."
)
MISSING_SETTING = refusal("SF007", "missing-setting", "A setting without a default was not given.")

SETTINGS = Place("settings")
TYPED = "_typed"
"""The attribute of settings that holds the names of what was typed."""

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class Bound:
    """The numbers that a setting takes, as a test and in words."""

    holds: Callable[[float], bool]
    words: str


def at_least(low: float, itself: bool = True) -> Bound:
    """Numbers from `low` up; without `low` itself if `itself` is false."""
    if itself:
        return Bound(lambda number: number >= low, f"at least {low}")
    return Bound(lambda number: number > low, f"more than {low}")


def between(low: float, high: float) -> Bound:
    """Numbers from `low` to `high`, both included."""
    return Bound(lambda number: low <= number <= high, f"between {low} and {high}")


def check(settings: object, **bounds: Bound) -> None:
    """Refuses values of a wrong kind or out of range, all at once; `None` is always in range.

    Called from `__post_init__`. Values that only look different (a text for a path, a list for a
    tuple, 1 for 1.0) are put into the declared type.
    """
    found: list[Finding] = []
    for name, hint in hints(type(settings)).items():
        value = getattr(settings, name)
        try:
            fitted = fit(hint, value)
        except Misfit as misfit:
            found.append(wrong_type(name, value, misfit.takes, SETTINGS))
            continue
        if fitted is not value:
            object.__setattr__(settings, name, fitted)
        if name in bounds and isinstance(fitted, int | float):
            found += out_of_range(name, fitted, bounds[name])
    if found:
        raise WrongCall(*found)


def out_of_range(name: str, value: float, bound: Bound) -> Iterator[Finding]:
    if math.isnan(value) or not bound.holds(value):
        yield OUT_OF_RANGE.finding(
            SETTINGS,
            f"`{name}` must be {bound.words} and is {value}.",
            fixes=(Fix(f"Give `{name}` a number that is {bound.words}."),),
        )


def key_of(name: str) -> str:
    """The one spelling of a name under which `--max-tokens` and `max_tokens` are the same."""
    return name.lstrip("-").replace("-", "_")


def hints(settings_class: type) -> dict[str, Any]:
    """Field name -> declared type, with its annotations, in the order of the fields."""
    all_hints = get_type_hints(settings_class, include_extras=True)
    return {field.name: all_hints[field.name] for field in fields(settings_class)}


def names(settings_class: type) -> dict[str, str]:
    """Every name that may be given, aliases too, -> the name of its field."""
    found = {}
    for field, hint in hints(settings_class).items():
        found[field] = field
        for part in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
            if isinstance(part, Parameter):
                for alias in (*(part.alias or ()), *(part.name or ())):
                    found[key_of(alias)] = field
    return found


def unknown_setting(name: str, of: str, among: Collection[str], place: Place) -> Finding:
    """`among` in the spelling that the user is to write.

    What is advised means the same: a misspelt name, or what another library calls almost so.
    """
    field, differs = ALMOST.get(key_of(name), ("", ""))
    if field in {key_of(known) for known in among}:
        return UNKNOWN_SETTING.finding(
            place, f"`{name}` is not a setting of `{of}`.", fixes=(Fix(differs),)
        )
    meant = misspelling_of(name, among)
    return UNKNOWN_SETTING.finding(
        place,
        f"`{name}` is not a setting of `{of}`.",
        facts=() if meant else (Fact("its settings", ", ".join(among)),),
        fixes=(Fix(f"Write `{meant}`, the nearest name."),) if meant else (),
    )


def given_twice(setting: str, first: str, second: str, place: Place) -> Finding:
    headline = (
        f"`{setting}` was given twice."
        if first == second
        else f"`{first}` and `{second}` are the same setting, `{setting}`, and both were given."
    )
    return GIVEN_TWICE.finding(place, headline, fixes=(Fix("Keep one of them."),))


class Misfit(Exception):  # noqa: N818 - it reads as what it is
    """A value that a type does not take; `takes` says in words what it does take."""

    def __init__(self, takes: str) -> None:
        self.takes = takes
        super().__init__(takes)


IN_WORDS: dict[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    types.NoneType: "nothing",
}


def in_words(hint: Any) -> str:
    """What values of this type are called in a message."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return in_words(inside[0])
    if origin is Literal:
        return "one of " + ", ".join(f"`{choice}`" for choice in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(in_words(arm) for arm in inside)
    if origin in (tuple, list):
        return f"a list, each item {in_words(inside[0])}"
    return IN_WORDS.get(hint, f"a `{getattr(hint, '__name__', hint)}`")


def fit(hint: Any, value: object) -> Any:
    """The value as the declared type; raises `Misfit` unless nothing is lost by that."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fit(inside[0], value)
    if origin in (Union, types.UnionType):
        return fit_one_of(hint, inside, value)
    if origin is tuple:
        return fit_tuple(hint, inside[0], value)
    if origin is Literal:
        if any(value == choice and type(value) is type(choice) for choice in inside):
            return value
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint is Path and isinstance(value, str | Path):
        return Path(value)
    elif isinstance(hint, type) and isinstance(value, hint):
        if hint is not int or not isinstance(value, bool):
            return value
    elif hint is None and value is None:
        return None
    raise Misfit(in_words(hint))


def fit_one_of(hint: Any, arms: tuple[Any, ...], value: object) -> Any:
    for arm in sorted(arms, key=lambda arm: type(value) is not arm):
        try:
            return fit(arm, value)
        except Misfit:
            continue
    raise Misfit(in_words(hint))


def fit_tuple(hint: Any, item: Any, value: object) -> tuple[Any, ...]:
    """One text stands for a list of one, as it does on the command line."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, list | tuple):
        raise Misfit(in_words(hint))
    try:
        return tuple(fit(item, one) for one in value)
    except Misfit:
        raise Misfit(in_words(hint)) from None


def shown(value: object) -> str:
    """A value as a message shows it, with its kind where that is the point."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text `{value}`"
    if isinstance(value, int | float):
        return f"the number `{value}`"
    if isinstance(value, Mapping):
        return "a table"
    return f"`{value!r}`"


def wrong_type(name: str, value: object, takes: str, place: Place) -> Finding:
    return WRONG_TYPE.finding(place, f"`{name}` takes {takes}, and was given {shown(value)}.")


def typed_in(settings: object) -> frozenset[str] | None:
    """The fields that a call named, whatever their values; None where that was not noted."""
    names: frozenset[str] | None = getattr(settings, TYPED, None)
    return names


def note_typed(settings: object, names: Collection[str]) -> None:
    """Not a field: two calls with equal values ask for the same run."""
    if hasattr(settings, "__dict__"):
        object.__setattr__(settings, TYPED, frozenset(names))


def from_names(
    settings_class: type[Settings],
    values: Mapping[str, object],
    tell: Callable[[str], object] = lambda _: None,
) -> Settings:
    """Settings from names or aliases, hyphens and underscores alike; all faults at once.

    `tell` is given a line for each name of another library.
    """
    known, declared = names(settings_class), hints(settings_class)
    config = values if isinstance(values, Config) else None
    found: list[Finding] = []
    given: dict[str, str] = {}
    fitted: dict[str, Any] = {}
    for name, value in values.items():
        place = config.place(name) if config else SETTINGS
        field = known.get(key_of(name))
        if field is None and (field := known_elsewhere(key_of(name), declared)):
            tell(mapping(name, field))
        if field is None:
            found.append(unknown_setting(name, settings_class.__name__, known, place))
        elif field in given:
            found.append(given_twice(field, given[field], name, place))
        else:
            given[field] = name
            try:
                fitted[field] = fit(declared[field], value)
            except Misfit as misfit:
                found.append(wrong_type(name, value, misfit.takes, place))
    found += missing(settings_class, given)
    if found:
        raise WrongCall(*found)
    settings = settings_class(**fitted)
    note_typed(settings, fitted)
    return settings


def missing(settings_class: type, given: Collection[str]) -> Iterator[Finding]:
    for field in fields(settings_class):
        has_default = field.default is not MISSING or field.default_factory is not MISSING
        if not has_default and field.name not in given:
            takes = in_words(hints(settings_class)[field.name])
            yield MISSING_SETTING.finding(SETTINGS, f"`{field.name}` must be given: {takes}.")


def as_dict(settings: object) -> dict[str, JsonValue]:
    """Field name -> a value that JSON can hold; `from_names` makes the same settings of it."""
    return {name: as_json(getattr(settings, name)) for name in hints(type(settings))}


def as_json(value: object) -> JsonValue:
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


class Config(Mapping[str, object]):
    """The keys and values of a config file, each with the line it stands on."""

    def __init__(self, path: Path, values: dict[str, object], lines: dict[str, int]) -> None:
        self.path = path
        self.values_by_key = values
        self.lines = lines

    def __getitem__(self, key: str) -> object:
        return self.values_by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)

    def place(self, key: str) -> Place:
        return Place(str(self.path), self.lines.get(key))
