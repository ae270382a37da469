"""Which rules could be behind a traceback: by the first exception of its chain that any fits."""

from surefit.doctor.findings import Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.suspects import as_findings, suspects
from surefit.doctor.symptoms import Symptom
from surefit.doctor.tracebacks import Raised, Traceback, TracebackFrame

ODD = Rule(
    "SF901",
    "odd-rows",
    Severity.ERROR,
    "",
    symptoms=(
        Symptom("odd row", "how many rows are odd", passed=r"loader\.py:fetch"),
        Symptom("odd row", "whether there are rows"),
    ),
)
WRAPPED = Rule("SF902", "wrapped", Severity.ERROR, "", symptoms=(Symptom("gave up", "why"),))
ANY = Rule("SF999", "any", Severity.ERROR, "", general=True, symptoms=(Symptom("", "values"),))
RULES = (ODD, WRAPPED, ANY)
FRAME = TracebackFrame("train.py", 3, "main", "fetch()")
INSIDE = TracebackFrame("/x/site-packages/loader.py", 9, "fetch")


def names(*said: str, frames: tuple[TracebackFrame, ...] = ()) -> list[tuple[str, str]]:
    told = Traceback(tuple(Raised(one, frames) for one in said))
    return [(one.rule.name, one.decides) for one in suspects(told, RULES)]


def test_the_first_symptom_that_fits_says_what_decides() -> None:
    assert names("ValueError: odd row") == [("odd-rows", "whether there are rows")]
    passed = names("ValueError: odd row", frames=(FRAME, INSIDE))
    assert passed == [("odd-rows", "how many rows are odd")]


def test_what_a_library_made_of_it_says_less() -> None:
    assert names("ValueError: odd row", "LoaderError: gave up")[0][0] == "odd-rows"
    assert names("KeyError: 1", "LoaderError: gave up")[0][0] == "wrapped"


def test_a_general_rule_gives_way() -> None:
    assert names("KeyError: 1") == [("any", "values")]


def test_findings_are_notes() -> None:
    told = Traceback((Raised("ValueError: odd row", (FRAME, INSIDE)),))
    (found,) = as_findings(
        suspects(told, RULES), told, Place("train.py", 3), "surefit run train.py"
    )
    assert found.severity is Severity.NOTE
    assert found.facts[0].value == "train.py:3 in main  fetch()"
    assert "does not decide it" in found.headline
