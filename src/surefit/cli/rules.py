"""`surefit rules`."""

from collections.abc import Sequence
from inspect import cleandoc

from surefit.did_you_mean import nearest
from surefit.doctor.findings import COMMAND_LINE, Finding, Fix
from surefit.doctor.rule import Rule, refusal
from surefit.errors import WrongCall
from surefit.render import console, outcome
from surefit.render.visible import wrap

NO_RULE_SPEAKS = refusal("SF027", "no-such-rule", "A search for rules has no result.")

WIDTH = 80
INDENT = 7


def rules(*words: str) -> None:
    """List all rules, or search them.

    surefit rules
    surefit rules padding
    surefit rules learning rate
    surefit rules SF4

    Rules are searched by name, code and page. Use the names in `# surefit:
    allow[...]`, `--select`, `--ignore` and `surefit explain`.

    Parameters
    ----------
    words
        List the rules that contain all of these words. Without words, every rule about runs is
        listed; refusals of bad input are listed only by a search.
    """
    from surefit.doctor import catalogue
    from surefit.doctor.pages import refusals, summary

    every = catalogue.rules()
    found = ranked((*every, *refusals()), words) if words else every
    if not found:
        raise WrongCall(nothing_found(words, every))
    outcome.add_part(
        "rules",
        [
            {
                **{"name": rule.name, "code": rule.code, "severity": rule.severity.value},
                "summary": summary(rule),
            }
            for rule in found
        ],
    )
    for rule in found:
        console.say(f"{rule.code:<6} {rule.severity:<7} {rule.name}")
        for line in wrap(summary(rule), WIDTH - INDENT):
            console.say(" " * INDENT + line)


def ranked(rules: Sequence[Rule], words: Sequence[str]) -> list[Rule]:
    """With all words in name, code or page; those that have them in name or code first."""
    lower = [word.lower() for word in words]

    def in_name(rule: Rule) -> bool:
        return all(word in f"{rule.name} {rule.code.lower()}" for word in lower)

    def in_page(rule: Rule) -> bool:
        whole = f"{rule.name} {rule.code} {cleandoc(rule.explanation)}".lower()
        return all(word in " ".join(whole.split()) for word in lower)

    return sorted(filter(in_page, rules), key=lambda rule: not in_name(rule))


def nothing_found(words: Sequence[str], rules: Sequence[Rule]) -> Finding:
    in_names = {part for rule in rules for part in rule.name.split("-")}
    meant = [nearest(word, in_names) or word for word in words]
    fixes = (Fix(f"Try `surefit rules {' '.join(meant)}`."),) if meant != list(words) else ()
    return NO_RULE_SPEAKS.finding(
        COMMAND_LINE, f"No rule contains `{' '.join(words)}`.", fixes=fixes
    )
