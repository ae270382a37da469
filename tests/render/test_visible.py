"""Text of unknown origin, as people and programs are shown it."""

import json
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.render import brief, terminal
from surefit.render.json_document import Ended, document
from surefit.render.visible import in_json, visible

CHARACTERS = st.one_of(
    st.characters(),
    st.characters(categories=("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")),
    st.sampled_from("\x1b\x07\x7f\x9b\u200b\u202e\u2066\ufeff\u3164\U000e0041\n\t\r"),
)
TEXTS = st.text(CHARACTERS)
UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


def obeyed(text: str) -> set[str]:
    """Characters of a text that are no plain sign."""
    return {character for character in text if unicodedata.category(character) in UNSEEN}


@given(TEXTS)
@example("\x1b[2J\x1b]0;title\x07\u202egnp.exe\u2066\u200b\x9b31m")
def test_nothing_of_a_text_is_obeyed(text: str) -> None:
    assert not obeyed(visible(text))
    assert obeyed(visible(text, keep="\n")) <= {"\n"}
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="\u3164\uffa0")))
@example("naïve 日本語 😀 ≤ é")
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text or any(sign in text for sign in "\u115f\u1160\u2800")


@given(st.recursive(TEXTS, lambda inside: st.dictionaries(TEXTS, inside, max_size=3)))
def test_a_document_means_what_it_meant(value: object) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=2)
    assert json.loads(in_json(written)) == value
    assert obeyed(in_json(written)) <= {"\n"}


@given(TEXTS)
@example("\x1b]8;;http://evil\x07click\x1b]8;;\x07")
def test_nothing_of_a_finding_is_obeyed_wherever_it_is_shown(text: str) -> None:
    finding = Finding(
        rule="a-fault",
        code="SF900",
        severity=Severity.ERROR,
        place=Place(text, 3),
        headline=text,
        facts=(Fact(text, text),),
        why=text,
        fixes=(Fix(text),),
        python_said=text,
    )
    assert obeyed(terminal.text([finding], read_source=lambda *_: [text])) <= {"\n"}
    assert not obeyed(brief.line(finding))
    written = document("lint", Ended(1, text), [finding], parts={text: text}).decode()
    assert obeyed(written) <= {"\n"}


def test_a_text_that_nobody_reads_is_shown_in_part() -> None:
    long = "word " * 100_000
    finding = Finding(
        rule="a-fault",
        code="SF900",
        severity=Severity.ERROR,
        place=Place("x" * 100_000, 3),
        headline=long,
        facts=(Fact(long, long),),
        why=long,
        python_said=long,
    )
    shown = terminal.text([finding], read_source=lambda *_: [])
    assert len(shown) < 40_000
    assert "and 497,000 characters more" in " ".join(shown.split())
    assert len(brief.line(finding)) < 10_000
    assert long in document("lint", Ended(1), [finding]).decode()
