"""The `surefit` command: reads the call, runs one command, shows what it found."""

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import BoundArguments, cleandoc
from pathlib import Path
from typing import Any

from cyclopts import App, Group, Parameter
from cyclopts.exceptions import CycloptsError
from cyclopts.help import DefaultFormatter, HelpPanel
from rich.console import Console, ConsoleOptions
from rich.text import Text

from surefit import __version__
from surefit.config_file import read_config
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import SurefitError, WrongCall
from surefit.installing import install_command
from surefit.render import console, json_document, outcome
from surefit.settings import given_twice, note_typed

from .config_flags import ConfigFlags
from .flags_elsewhere import flag_elsewhere, has_flag, renamed, say_mapping
from .inspect_arrays import speaks_of_arrays
from .wrong_calls import as_finding, missing_file

MISSING_PART = refusal(
    "SF006", "missing-part", "A package that this command needs is absent or too old."
)
UNUSABLE_PATH = refusal(
    "SF029", "unusable-path", "The system refuses to do something with a file or a folder."
)
UNWRITABLE_JSON = refusal("SF012", "unwritable-json", "The file for `--json` cannot be written.")

COMMANDS = {
    "demo": "surefit.cli.demo:demo",
    "env": "surefit.cli.env:env",
    "run": "surefit.cli.run:run",
    "check": "surefit.cli.check:check",
    "lint": "surefit.cli.lint:lint",
    "explain": "surefit.cli.explain:explain",
    "rules": "surefit.cli.rules:rules",
    "lsp": "surefit.cli.lsp:lsp",
    "sft": "surefit.cli.sft:sft",
    "pretrain": "surefit.cli.pretrain:pretrain",
    "distill": "surefit.cli.distill:distill",
    "report": "surefit.cli.report:report",
    "eval": "surefit.cli.evaluate:evaluate",
    "ask": "surefit.cli.ask:ask",
    "export": "surefit.cli.export:export",
    "inspect": "surefit.cli.inspect:inspect",
    "pack": "surefit.cli.pack:pack",
    "make-data": "surefit.cli.make_data:make_data",
}
"""Command -> its function, imported when the command or its help is asked for."""

FIRST_OF_GROUP = {
    "demo": "Start",
    "run": "Diagnose",
    "sft": "Train",
    "report": "Use a run",
    "inspect": "Data",
}
"""Command -> the heading that it and the commands after it have in the help."""

INSPECT_ARRAYS = "surefit.cli.inspect_arrays:inspect"
"""The same command for data of the other kind: its files say which."""

ABOUT = "Diagnoses PyTorch and Hugging Face training scripts, and trains models."

GLOBAL_FLAGS = """\
Every command takes:
  --config FILE  Read settings from a TOML or YAML file; flags override it.
  --json FILE    Write the findings as JSON when the command ends.
  --brief        Print one line per finding.
  --quiet        Print findings only: no messages, no progress bars."""

PARTS = {
    "accelerate": "train",
    "datasets": "train",
    "gguf": "gguf",
    "jinja2": "train",
    "numpy": "train",
    "peft": "train",
    "psutil": "train",
    "pyarrow": "train",
    "rensa": "train",
    "safetensors": "train",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
}
"""Package -> the extra of surefit that brings it."""

INTERRUPTED = 130
PIPE_CLOSED = 141


@dataclass(frozen=True, slots=True)
class Call:
    """A command line without the flags that every command takes, and what those said."""

    tokens: tuple[str, ...] = ()
    config: Path | None = None
    json: Path | None = None
    brief: bool = False
    quiet: bool = False

    @property
    def command(self) -> str:
        return self.tokens[0] if self.tokens and self.tokens[0] in COMMANDS else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; gives its exit code: 0 done, 1 failed or refused, 2 wrong call."""
    outcome.begin()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    call = Call()
    try:
        call = read_call(sys.argv[1:] if argv is None else argv)
        console.quiet, outcome.as_lines = call.quiet, call.brief
        ended = attempt(call)
        return write_json(call, ended)
    except WrongCall as error:
        outcome.tell(*error.findings)
        return error.exit_code
    finally:
        console.quiet = False


def read_call(argv: Sequence[str]) -> Call:
    """Takes the flags of every command out of a command line, up to `--`."""
    tokens: list[str] = []
    given: dict[str, Any] = {}
    rest = list(argv)
    standard_input = False
    while rest:
        token = rest.pop(0)
        flag, has_value, value = token.partition("=")
        if token == "--":
            tokens += [token, *rest]
            break
        if begins_the_script(token, tokens):
            tokens += ["--", token, *rest]
            break
        if token == "-":  # standard input, which the parser would take for a flag
            standard_input = True
            continue
        if flag not in ("--config", "--json") and token not in ("--brief", "--quiet"):
            tokens.append(token)
            continue
        if flag in given:
            raise WrongCall(given_twice(flag, flag, flag, COMMAND_LINE))
        given[flag] = True
        if flag in ("--config", "--json"):
            if not has_value:
                value = rest.pop(0) if rest and not rest[0].startswith("--") else ""
            if not value:
                raise WrongCall(missing_file(flag))
            given[flag] = Path(value)
    if standard_input:
        tokens += ["-"] if "--" in tokens else ["--", "-"]
    call = Call(tuple(tokens), **{flag.lstrip("-"): value for flag, value in given.items()})
    refuse_unwritable(call.json)
    return call


RUN_A_SCRIPT = ("run", "check")
VALUED = (
    *("--proof-seconds", "--proof_seconds", "--hang-after", "--hang_after", "--record"),
    *("--seconds", "--rows", "--further", "--stop-on", "--stop_on", "--html"),
)
"""Flags of these commands that a value follows."""


def begins_the_script(token: str, before: Sequence[str]) -> bool:
    """From here on a command line of `surefit run` or `surefit check` is the script's own."""
    if not before or before[0] not in RUN_A_SCRIPT or before[-1] in VALUED:
        return False
    return token == "-m" or not token.startswith("-")


def refuse_unwritable(path: Path | None) -> None:
    """Before the work, not after it."""
    if path and (path.is_dir() or not path.parent.is_dir()):
        reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise WrongCall(UNWRITABLE_JSON.finding(Place(str(path)), f"`{path}` {reason}."))


def attempt(call: Call) -> json_document.Ended:
    """Runs the command, and shows whatever ended it."""
    config = ConfigFlags(call.config, tuple(COMMANDS))
    try:
        code = run_command(call, config)
        sys.stdout.flush()
    except SurefitError as error:
        outcome.tell(*(config.placed(finding) for finding in error.findings))
        return json_document.Ended(error.exit_code)
    except KeyboardInterrupt:
        console.errors.print("Stopped.")
        return json_document.Ended(INTERRUPTED, "KeyboardInterrupt")
    except SystemExit as stop:  # from rich, too, when nobody reads its output any more
        return json_document.Ended(stop.code if isinstance(stop.code, int) else 1)
    except BrokenPipeError:
        # Python would try to flush again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return json_document.Ended(PIPE_CLOSED, "BrokenPipeError")
    except ImportError as error:
        finding = missing_part(error)
        if finding is None:
            return own_fault(error)
        outcome.tell(finding)
        return json_document.Ended(1, said(error))
    except OSError as error:
        if error.filename is None or error.strerror is None:
            return own_fault(error)
        outcome.tell(refused_by_the_system(error))
        return json_document.Ended(1, said(error))
    except Exception as error:  # noqa: BLE001 - the last to see it; it is shown in full
        return own_fault(error)
    return json_document.Ended(code)


def run_command(call: Call, config: ConfigFlags) -> int:
    app, form = make_app(config, functions_for(call))
    function, bound = parsed(app, call)
    if function == app.help_print:
        form.description = described(app[call.command].help) if call.command else ABOUT
        for name in () if call.command else COMMANDS:
            app[name]  # imports it: the first line of its docstring stands in the list
    for value in (*bound.args, *bound.kwargs.values()):
        if is_dataclass(value):
            note_typed(value, config.typed)
    code = function(*bound.args, **bound.kwargs)
    return code if isinstance(code, int) else 0


def parsed(app: App, call: Call) -> tuple[Callable[..., object], BoundArguments]:
    """What is to be called. Flags of other libraries become surefit's own, and that is said."""
    flags = ("--config", "--json", "--brief", "--quiet")
    tokens, taken = call.tokens, dict[str, str]()
    while True:
        try:
            function, bound, _ = app.parse_args(
                tokens,
                console=console.out,
                print_error=False,
                exit_on_error=False,
                verbose=False,
            )
        except CycloptsError as error:
            name, flag = flag_elsewhere(error)
            if flag is None:
                raise WrongCall(as_finding(error, COMMANDS, flags)) from error
            if flag in taken or has_flag(tokens, flag):
                first = taken.get(flag, flag)
                raise WrongCall(given_twice(flag, first, name, COMMAND_LINE)) from error
            taken[flag] = name
            tokens = renamed(tokens, name, flag)
        else:
            for flag, name in taken.items():
                say_mapping(name, flag)
            return function, bound


def functions_for(call: Call) -> dict[str, str]:
    """`surefit inspect` has flags of its own for feature arrays."""
    if call.command != "inspect":
        return COMMANDS
    config = read_config(call.config, "inspect", tuple(COMMANDS)) if call.config else {}
    arrays = speaks_of_arrays(call.tokens, config)
    return {**COMMANDS, "inspect": INSPECT_ARRAYS} if arrays else COMMANDS


def make_app(
    config: Callable[..., None], functions: Mapping[str, str] = COMMANDS
) -> tuple[App, "Form"]:
    form = Form()
    app = App(
        name="surefit",
        help=ABOUT,
        help_format="plaintext",
        help_formatter=form,
        help_epilogue=GLOBAL_FLAGS,
        group_commands=Group("About", sort_key=len(functions)),
        version=f"surefit {__version__}",
        config=config,
        default_parameter=Parameter(negative_iterable=(), show_default=default_in_words),
    )
    heading = Group("Commands")
    for number, (name, function) in enumerate(functions.items()):
        if name in FIRST_OF_GROUP:
            heading = Group(FIRST_OF_GROUP[name], sort_key=number)
        app.command(function, name=name, sort_key=number, group=heading)
    return app, form


def described(docstring: str) -> str:
    """Without the section on parameters, which the help shows in a table."""
    return cleandoc(docstring).partition("\n\nParameters\n---")[0]


class Form(DefaultFormatter):
    """A page of help that shows the docstring of a command as it is written."""

    description = ABOUT

    def render_description(
        self, console: Console, _options: ConsoleOptions, _description: object
    ) -> None:
        console.print(Text(self.description), end="\n\n", soft_wrap=True)

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """A text beneath a field is one paragraph, whatever lines it is written on."""
        for entry in panel.entries:
            shown = getattr(entry.description, "primary_renderable", None)
            if isinstance(shown, Text):
                entry.description.primary_renderable = Text(" ".join(shown.plain.split()))
        super().__call__(console, options, panel)


def default_in_words(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or None
    return str(value)


def refused_by_the_system(error: OSError) -> Finding:
    """What nobody nearer to the file had a word for: a name that is too long, a disk that fails."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    headline = f"`{name}` cannot be used: {error.strerror}."
    return UNUSABLE_PATH.finding(Place(str(name)), headline)


def missing_part(error: BaseException | None) -> Finding | None:
    """A finding if a package that surefit does not bring by itself was looked for in vain."""
    while error is not None:
        package = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and package in PARTS:
            return missing_package(package, error)
        error = error.__cause__
    return None


def missing_package(package: str, error: ImportError) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        headline = f"`{package}` {version(package)} lacks something that this command needs."
    except PackageNotFoundError:
        headline = f"`{package}` is not installed, and this command needs it."
    return MISSING_PART.finding(
        Place("environment"),
        headline,
        fixes=(Fix(install_command(PARTS[package])),),
        python_said=said(error),
    )


def own_fault(error: BaseException) -> json_document.Ended:
    console.errors.print(Text("".join(traceback.format_exception(error)).rstrip()), soft_wrap=True)
    console.errors.print(
        "\nThis is a bug in surefit. Please report it with the lines above and the output of"
        " `surefit env`.",
        soft_wrap=True,
    )
    return json_document.Ended(1, said(error))


def said(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def write_json(call: Call, ended: json_document.Ended) -> int:
    if call.json is None or outcome.told_elsewhere:
        return ended.code
    content = json_document.document(
        call.command,
        json_document.Ended(ended.code, ended.exception or outcome.exception),
        outcome.findings,
        script=outcome.script,
        not_observed=outcome.not_observed,
        parts=outcome.parts,
    )
    try:
        json_document.write(call.json, content)
    except OSError as error:
        headline = f"`{call.json}` cannot be written: {error.strerror}."
        outcome.tell(UNWRITABLE_JSON.finding(Place(str(call.json)), headline))
        return ended.code or 1
    return ended.code
