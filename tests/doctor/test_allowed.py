"""A comment allows a rule at its place, and nothing else."""

import pytest

from surefit.doctor.allowed import allowed, unknown_allowances
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule

RULE = Rule("SF998", "odd-call", Severity.ERROR, "A rule of a test.")
OTHER = Rule("SF997", "other-call", Severity.ERROR, "Another.")


def seen(text: str) -> Recording:
    return Recording([Script("train.py", text)])


def at(line: int, end_line: int | None = None) -> Finding:
    return RULE.finding(Place("train.py", line, end_line), "It is odd.")


@pytest.mark.parametrize(
    ("text", "line", "is_allowed"),
    [
        ("f()  # surefit: allow[odd-call]\n", 1, True),
        ("f()  #surefit:allow[ odd-call ] because\n", 1, True),
        ("f()  # noqa # surefit: allow[other-call,odd-call]\n", 1, True),
        ("# surefit: allow[odd-call]\nf()\n", 2, True),
        ("# surefit: allow[odd-call]\n# and why\nf()\n", 3, True),
        ("# surefit: allow[odd-call]\n\nf()\n", 3, False),
        ("g()  # surefit: allow[odd-call]\nf()\n", 2, False),
        ("f()\n# surefit: allow[odd-call]\n", 1, False),
        ("f()  # surefit: allow[other-call]\n", 1, False),
        ("f('# surefit: allow[odd-call]')\n", 1, False),
        ("f()  # surefit: odd-call\n", 1, False),
        ("f(\n    a,\n    b,\n)  # surefit: allow[odd-call]\n", 2, True),
        ("# surefit: allow[odd-call]\nx = f(\n    a,\n)\n", 3, True),
        ("for x in y:  # surefit: allow[odd-call]\n    f()\n", 2, False),
        ("for x in y:  # surefit: allow[odd-call]\n    f()\n", 1, True),
        ("for x in y:\n    f()  # surefit: allow[odd-call]\n", 1, False),
        ("# surefit: allow[odd-call]\n@d\ndef f():\n    pass\n", 3, True),
        ("match x:  # surefit: allow[odd-call]\n    case 1:\n        f()\n", 3, False),
    ],
)
def test_where_a_comment_counts(text: str, line: int, is_allowed: bool) -> None:
    assert allowed(at(line), seen(text)) is is_allowed


def test_a_handler_is_allowed_by_a_comment_inside_it() -> None:
    text = "try:\n    f()\nexcept E:\n    # surefit: allow[odd-call]\n    x = 1\n"
    assert allowed(at(3, 5), seen(text))
    assert not allowed(at(2), seen(text))


def test_places_without_source_allow_nothing() -> None:
    recording = seen("f(  # surefit: allow[odd-call]\n")
    assert not allowed(at(1), recording)
    assert not allowed(RULE.finding(Place("elsewhere.py", 1), "It is odd."), recording)
    assert not allowed(RULE.finding(Place("train.py"), "It is odd."), seen("f()\n"))


def test_unknown_names_are_noted() -> None:
    text = (
        "f()  # surefit: allow[od-call, odd-call, SF997]\n"
        "'# surefit: allow[x]'\n"
        "g()  # surefit: allow[zzz]\n"
    )
    first, second, third = unknown_allowances(seen(text), (RULE, OTHER))
    assert first.place == Place("train.py", 1)
    assert first.severity is Severity.NOTE
    assert first.headline == "`od-call` is not the name of a rule, so this comment allows nothing."
    assert first.fixes[0].text == "Write `# surefit: allow[odd-call]`, the nearest name."
    assert second.fixes[0].text == "Write `# surefit: allow[other-call]`, the nearest name."
    assert third.place == Place("train.py", 3)
    assert third.fixes == ()
    assert third.facts[0].value == "odd-call, other-call"
