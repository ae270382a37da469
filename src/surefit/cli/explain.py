"""`surefit explain`."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall
from surefit.render import console, outcome
from surefit.render.visible import wrap

if TYPE_CHECKING:
    from surefit.doctor.rule import Rule

UNKNOWN_RULE = refusal("SF018", "unknown-rule", "surefit has no rule of that name or code.")

WIDTH = 80


def explain(rule: str) -> None:
    """Explain a rule: what happens, why it matters, what to do.

    surefit explain ragged-labels
    surefit explain SF201

    Parameters
    ----------
    rule
        The name of a rule, or its code, as a finding shows it.
    """
    from surefit.doctor.catalogue import rules
    from surefit.doctor.pages import refusals, written_page

    known = {key: one for one in (*refusals(), *rules()) for key in (one.name, one.code)}
    name = rule.upper() if rule.upper() in known else rule.lower().replace("_", "-")
    if name not in known:
        raise WrongCall(unknown(rule, rules(), known))
    text = written_page(known[name])
    outcome.add_part("page", text)
    console.say("\n".join(reflowed(text)))


def unknown(name: str, catalogue: "tuple[Rule, ...]", known: "dict[str, Rule]") -> Finding:
    meant = nearest(name.replace("_", "-"), known)
    return UNKNOWN_RULE.finding(
        COMMAND_LINE,
        f"surefit has no rule `{name}`.",
        facts=() if meant else (Fact("its rules", ", ".join(one.name for one in catalogue)),),
        fixes=(Fix(f"Write `surefit explain {meant}`, the nearest name."),) if meant else (),
    )


def reflowed(page: str) -> Iterator[str]:
    """A page in 80 columns: paragraphs are wrapped anew, all else stays as it is."""
    paragraph: list[str] = []
    fence = ""
    for line in [*page.splitlines(), ""]:
        is_text = bool(line.strip()) and not re.match(r"#|\s|[-*|>] |\d+\.|```", line)
        if is_text and not fence:
            paragraph.append(line)
            continue
        yield from wrap(" ".join(paragraph), WIDTH) if paragraph else ()
        paragraph = []
        yield line
        if opening := re.match(r"```+", line):
            fence = "" if fence == opening[0] else fence or opening[0]
