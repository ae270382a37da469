"""Findings and reports as HTML: all of it text, whatever it says."""

import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from html.parser import HTMLParser

import pytest

from surefit.doctor.findings import Fact, Finding, Fix, Place, Proof, Severity
from surefit.recipes.distill_report import DistillReport
from surefit.recipes.pretrain_report import Pretrained, PretrainReport
from surefit.render.html import bar_html, findings_html
from surefit.train.record import Report
from surefit.watching import Findings

HOSTILE = "<script>alert('1')</script> & \"quoted\" \x1b[31m </div><img src=x onerror=y>"
FINDING = Finding(
    "ragged-labels",
    "SF201",
    Severity.ERROR,
    Place("train.py", 2),
    f"`model` {HOSTILE}",
    facts=(Fact(HOSTILE, HOSTILE),),
    ruled_out=(Fact("shared rows", HOSTILE),),
    why=HOSTILE,
    fixes=(
        Fix(HOSTILE, patch=f"--- a\n+++ b\n@@ -1 +1 @@\n-{HOSTILE}\n+x\n", choice=True),
        Fix("Another.", proof=Proof("not-tried", HOSTILE)),
    ),
    python_said=HOSTILE,
)


class Elements(HTMLParser):
    """What a browser would make of it: names of elements and of attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def source(_file: str, first: int, last: int) -> list[str]:
    return ["", f"x = model('{HOSTILE}')"][first - 1 : last]


def test_hostile_text_stays_text() -> None:
    html = findings_html([FINDING], source)
    ET.fromstring(html)  # well formed: nothing in it closes what it did not open
    elements = Elements(html)
    allowed = {"div", "b", "span", "pre", "mark", "table", "tr", "th", "td"}
    assert elements.names <= allowed
    assert elements.attributes <= {"class", "style"}
    assert elements.text.count("<script>") == 10
    assert "\x1b" not in html
    assert "\\x1b[31m" in elements.text
    assert "Your choice: <script>" in elements.text
    assert "    2 │ x = model('" in elements.text


def test_nothing_found_is_said() -> None:
    assert Findings()._repr_html_() == "<div>surefit: no findings.</div>"
    assert Findings([FINDING, replace(FINDING, why="")])._repr_html_().count("ragged-labels") == 2
    assert FINDING._repr_html_().startswith('<div class="surefit-finding"')


@pytest.mark.parametrize("kind", [Report, PretrainReport, DistillReport])
def test_reports(kind: type[Report]) -> None:
    values = {field.name: 1.5 for field in fields(kind)}
    report = kind(**{**values, "folder": HOSTILE, "trained": HOSTILE})  # type: ignore[arg-type]
    elements = Elements(report._repr_html_())
    assert elements.names <= {"div", "b", "table", "tr", "th", "td"}
    assert elements.text.count("<script>") == 2
    assert "1.5" in elements.text


def test_what_pretraining_gives_back_does_not_print_its_model() -> None:
    html = Pretrained(object(), 0.5, None, 1.25)._repr_html_()
    assert Elements(html).text == "surefit pretrain: objecttrain loss0.5seconds per epoch1.25"


def test_a_bar() -> None:
    elements = Elements(bar_html(HOSTILE, 3, 9, HOSTILE))
    assert elements.names == {"div", "progress"}
    assert elements.text.count("<script>") == 2
    assert "progress" not in bar_html("Counting", 3, None, "")
