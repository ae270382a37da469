"""A command line that makes no sense, as findings: what the parser says, in surefit's words."""

from collections.abc import Collection

from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from surefit.did_you_mean import misspelt, nearest
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.settings import (
    MISSING_SETTING,
    given_twice,
    in_words,
    key_of,
    unknown_setting,
    wrong_type,
)

UNKNOWN_COMMAND = refusal("SF005", "unknown-command", "surefit has no command of that name.")
UNEXPECTED_ARGUMENT = refusal(
    "SF008", "unexpected-argument", "More was given to a command than it takes."
)
WRONG_CALL = refusal("SF013", "wrong-call", "The command line cannot be read.")


def as_finding(
    error: CycloptsError, commands: Collection[str], global_flags: Collection[str]
) -> Finding:
    """`global_flags` are those that every command takes; the parser does not know them."""
    command = " ".join(error.command_chain or ()) or "surefit"
    if isinstance(error, UnknownOptionError):
        name = (error.token.keyword or error.token.value).split("=", 1)[0]
        known = [flag for one in error.argument_collection if one.parse for flag in one.names]
        return unknown_flag(name, command, [*known, *global_flags])
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        return unknown_command(error.unused_tokens[0], commands, global_flags)
    if isinstance(error, MissingArgumentError) and error.argument:
        return missing_argument(error, command)
    if isinstance(error, CoercionError) and error.argument:
        token = error.token or error.argument.tokens[0]
        name = token.keyword or error.argument.name.lstrip("-").upper()
        return wrong_type(name, token.value, in_words(error.argument.hint), COMMAND_LINE)
    if isinstance(error, RepeatArgumentError):
        return repeated(error)
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return unexpected(error.unused_tokens, command)
    return WRONG_CALL.finding(COMMAND_LINE, f"`{command}` cannot be called so: {error}")


def unknown_flag(name: str, command: str, known: Collection[str]) -> Finding:
    """The flag as it was typed; the nearest one with hyphens."""
    spelled = {flag.replace("_", "-"): flag for flag in known if flag.startswith("--")}
    found = unknown_setting(name, command, sorted(spelled), COMMAND_LINE)
    meant = misspelt(name.replace("_", "-"), spelled)
    if meant and not found.fixes:
        found = unknown_setting(name, command, [meant], COMMAND_LINE)
    return found


def unknown_command(name: str, commands: Collection[str], global_flags: Collection[str]) -> Finding:
    if name.startswith("-"):
        return unknown_flag(name, "surefit", [*global_flags, "--help", "--version"])
    meant = nearest(name, commands)
    return UNKNOWN_COMMAND.finding(
        COMMAND_LINE,
        f"surefit has no command `{name}`.",
        facts=(Fact("its commands", ", ".join(commands)),),
        fixes=(Fix(f"Write `surefit {meant}`, the nearest command."),) if meant else (),
    )


def missing_argument(error: MissingArgumentError, command: str) -> Finding:
    assert error.argument is not None
    takes = in_words(error.argument.hint)
    if error.keyword:
        headline = f"`{error.keyword}` takes {takes}, and none was given."
    else:
        name = error.argument.name.lstrip("-").upper()
        headline = f"`{command}` needs `{name}`: {takes}."
    return MISSING_SETTING.finding(
        COMMAND_LINE, headline, fixes=(Fix(f"`surefit {command} --help` shows an example."),)
    )


def repeated(error: RepeatArgumentError) -> Finding:
    """Told with both names where the two are different names of one setting."""
    second = error.token.keyword or ""
    for argument in error.app.assemble_argument_collection() if error.app else ():
        same = {key_of(name) for name in argument.names}
        if key_of(second) in same:
            given = (token.split("=", 1)[0] for token in error.root_input_tokens or ())
            first = next(flag for flag in given if key_of(flag) in same)
            return given_twice(argument.name, first, second, COMMAND_LINE)
    return given_twice(second, second, second, COMMAND_LINE)


def unexpected(tokens: list[str], command: str) -> Finding:
    return UNEXPECTED_ARGUMENT.finding(
        COMMAND_LINE,
        f"`{command}` has no use for {', '.join(f'`{token}`' for token in tokens)}.",
        fixes=(Fix(f"`surefit {command} --help` shows an example."),),
    )


def missing_file(flag: str) -> Finding:
    return MISSING_SETTING.finding(COMMAND_LINE, f"`{flag}` takes a path, and none was given.")
