"""A page as one HTML file: every text in it is shown and never obeyed."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from surefit import __version__
from surefit.doctor.findings import Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.render.visible import visible

from .contents import ComparisonPage, RunPage

if TYPE_CHECKING:
    from jinja2 import Template

PARTS_MISSING = refusal(
    "SF096",
    "page-needs-jinja",
    "A page cannot be written, because the package it needs is missing.",
)

HERE = Path(__file__).parent
MARK = "<!-- a page of surefit -->"
"""At the beginning of every page, so that surefit knows its own."""
ESCAPED: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""Characters that could end a script element, or a line in one."""


def as_html(page: RunPage | ComparisonPage, *, live: bool = False) -> str:
    """`live`: the page asks the server that it came from for what is new."""
    scripts = [text_of(name) for name in ("theme.js", "uplot/uPlot.iife.min.js", "page.js")]
    return _template().render(
        mark=MARK,
        page=page,
        compares=isinstance(page, ComparisonPage),
        live=live,
        version=__version__,
        styles=[text_of("uplot/uPlot.min.css"), text_of("page.css")],
        scripts=scripts,
        script_hashes=[f"'sha256-{fingerprint(script)}'" for script in scripts],
        data=as_script_data({"charts": page.charts, "answers": page.answers}),
    )


def check_parts() -> None:
    """Refuses before the work, not after it."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise BadInput(
            PARTS_MISSING.finding(
                Place("environment"),
                "`jinja2` is not installed; it is required to write a page.",
                fixes=(Fix("pip install jinja2"),),
                python_said=f"{type(error).__name__}: {error}",
            )
        ) from error


@cache
def _template() -> "Template":
    check_parts()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=neutral,
    )
    environment.filters["raw_file"] = _verbatim
    environment.filters["prose"] = _prose
    return environment.get_template("page.html.jinja")


def _verbatim(text: str) -> Any:
    """Of surefit's own scripts and styles, and of data that is encoded already."""
    from markupsafe import Markup

    return Markup(text)


def _prose(text: str) -> Any:
    """What stands between backticks as code, and so a command, which two spaces part from its
    sentence. A backtick without its partner stays one."""
    from markupsafe import Markup

    said, colon, command = neutral(text).partition(":  ")
    if colon and "\n" not in command:
        return _with_code(said) + ": " + Markup('<code class="command">{}</code>').format(command)
    return _with_code(neutral(text))


def _with_code(text: str) -> Any:
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return Markup("`").join(parts)
    pairs = (f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
    return Markup("".join(pairs))


def neutral(value: Any) -> Any:
    """A text with its control characters written out; line breaks and tabs stay."""
    if type(value) is str:
        return visible(value, keep="\n\t")
    return value


def as_script_data(value: object) -> str:
    """JSON that can stand in a script element of HTML."""
    encoded = msgspec.json.encode(all_neutral(value)).decode()
    return encoded.translate(str.maketrans(ESCAPED))


def all_neutral(value: Any) -> Any:
    """The same as plain data, with every text in it neutral."""
    if isinstance(value, str):
        return neutral(str(value))
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name) for name in value.__slots__}  # type: ignore[attr-defined]
    if isinstance(value, Mapping):
        return {name: all_neutral(inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [all_neutral(inner) for inner in value]
    return value


@cache
def text_of(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def fingerprint(script: str) -> str:
    """As a Content-Security-Policy names a script that may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
