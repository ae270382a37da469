"""A user's own augmentation, imported from `module:function` and held to what it promises."""

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from surefit.did_you_mean import suggestion
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix, Place
from surefit.doctor.rule import Rule, refusal
from surefit.errors import BadInput, WrongCall

from .bad_rows import shown
from .row import Row

NOT_IMPORTABLE = refusal(
    "SF132",
    "augmentation-not-importable",
    "`--augment-with module:function` imports the module as `python -c 'import module'` would in "
    "the folder you are in.",
)
NO_SUCH_FUNCTION = refusal(
    "SF133",
    "no-such-augmentation",
    "`--augment-with module:function` names a function of that module.",
)
FAILED = refusal(
    "SF134",
    "augmentation-failed",
    "Your function is called with a prompt, its answer and a `random.Random` for every copy.",
)
NOT_A_PROMPT = refusal(
    "SF135",
    "augmentation-not-text",
    "Your function must return the new prompt, a non-empty text.",
)

UserFunction = Callable[[str, str, random.Random], object]


def load_function(name: str) -> UserFunction:
    """Imports `module:function`, with the folder the user is in on the path meanwhile."""
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        _refuse(NOT_IMPORTABLE, name, f"`{name}` is not of the form `module:function`.")
    module = _imported(module_name, name)
    function = getattr(module, function_name, None)
    if not callable(function):
        _refuse_function(module, function_name, name)
    checked: UserFunction = function
    return checked


def call(function: UserFunction, name: str, row: Row, text: str, chance: random.Random) -> str:
    """What the function makes of a row's text; refused at the row's place if it is no prompt."""
    try:
        given = function(text, row.target, chance)
    except Exception as error:  # the user's program
        raise BadInput(_failed(name, text, row.place, error)) from error
    if isinstance(given, str) and given.strip():
        return given
    raise BadInput(_not_a_prompt(name, text, row.place, given))


def _imported(module_name: str, name: str) -> ModuleType:
    try:
        with _here_on_the_path():
            return importlib.import_module(module_name)
    except Exception as error:  # noqa: BLE001 - the user's program
        _refuse(
            NOT_IMPORTABLE,
            name,
            f"The module `{module_name}` of `{name}` cannot be imported.",
            facts=(Fact("looked in", "the current folder, then Python's path"),),
            said=f"{type(error).__name__}: {error}",
        )


@contextmanager
def _here_on_the_path() -> Iterator[None]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _refuse(
    rule: Rule, name: str, headline: str, *, facts: tuple[Fact, ...] = (), said: str = ""
) -> NoReturn:
    fix = Fix(f"Give `--augment-with` a function that can be imported here, not `{name}`.")
    raise WrongCall(
        rule.finding(COMMAND_LINE, headline, facts=facts, fixes=(fix,), python_said=said)
    )


def _refuse_function(module: ModuleType, function_name: str, name: str) -> NoReturn:
    functions = [one for one, value in vars(module).items() if callable(value) and one[0] != "_"]
    _refuse(
        NO_SUCH_FUNCTION,
        name,
        f"`{module.__name__}` has no function `{function_name}`."
        f"{suggestion(function_name, functions)}",
        facts=(Fact("its functions", ", ".join(sorted(functions)) or "none"),),
    )


def _failed(name: str, prompt: str, place: Place, error: Exception) -> Finding:
    return FAILED.finding(
        place,
        f"`{name}` raised `{type(error).__name__}` on this row.",
        facts=(Fact("input", shown(prompt)),),
        fixes=(Fix("Fix the function, or return the input unchanged."),),
        python_said=f"{type(error).__name__}: {error}",
    )


def _not_a_prompt(name: str, prompt: str, place: Place, given: object) -> Finding:
    what = (
        "an empty text" if isinstance(given, str) else f"a value of type `{type(given).__name__}`"
    )
    return NOT_A_PROMPT.finding(
        place,
        f"`{name}` gave back {what} for this row, not a prompt.",
        facts=(Fact("input", shown(prompt)), Fact("given back", shown(given))),
        fixes=(Fix("Return the new input as a non-empty text."),),
    )
