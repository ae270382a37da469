"""The law on reported numbers, on measures written by hand."""

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.reported import Guess, Reported, ReportedSeries, ReportSeen
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.doctor.scoring.labels import is_impossible
from surefit.laws.case import Case
from surefit.laws.invariants.reported_numbers import (
    ImpossibleNumber,
    Misreported,
    violations_of,
    watched,
)
from surefit.laws.law import BrokenLaw

FILE = "train.py"
SCRIPT = """\
def evaluate():
    total = 0.0
    for n, (x, y) in enumerate(loader, start=1):
        total += criterion(model(x), y).item()
        total /= n
    return total
def accuracy():
    return (model(x).argmax() == y).float().mean().item()
print("val loss", evaluate())
print("accuracy", accuracy())
"""


def guess(formula: str, expected: float, metric: str = "loss") -> Guess:
    return Guess(formula=formula, metric=metric, expected=expected)


def report(text: str, *guesses: Guess, rights: tuple[str, ...] = (), step: int = 5) -> ReportSeen:
    return ReportSeen(step=step, text=text, value=float(text), rights=rights, guesses=guesses)


def series(label: str, line: int, *reports: ReportSeen) -> ReportedSeries:
    measured = (Place(FILE, 4 if line == 9 else 8),)
    return ReportedSeries(
        place=Place(FILE, line),
        position=0,
        label=label,
        times=len(reports),
        reports=reports,
        measured_at=measured,
    )


def recording(*every: ReportedSeries) -> Recording:
    measure = Reported(process=Process(), evaluations=2, batches=8, series=every)
    return Recording([Script(FILE, SCRIPT, main=True), measure])


def broken(*every: ReportedSeries) -> list[BrokenLaw]:
    return list(violations_of(Case(recording(*every))))


def test_numbers_that_a_right_formula_gives_are_healthy() -> None:
    right = report("0.4120", guess("last batch", 0.5), rights=("mean",))
    healthy = series("val loss", 9, right, right)
    assert broken(healthy) == []
    assert watched(recording(healthy)).on == "2 numbers after 2 evaluations"


def test_a_number_that_no_formula_gives_is_no_finding() -> None:
    assert broken(series("val loss", 9, report("0.4120"), report("0.3077"))) == []


def test_a_sum_that_is_divided_in_the_loop_is_found_at_its_division() -> None:
    wrong = [
        report("0.0742", guess("divided in the loop", 2.879)),
        report("0.0662", guess("divided in the loop", 2.586)),
    ]
    (found,) = broken(series("val loss", 9, *wrong))
    assert isinstance(found, Misreported)
    assert found.formula == "divided in the loop"
    assert found.use.place.line == 5


def test_one_report_that_is_right_rules_a_formula_out() -> None:
    wrong = report("0.0742", guess("divided in the loop", 2.879))
    assert broken(series("val loss", 9, wrong, report("0.3101", rights=("mean",)))) == []


def test_zero_is_no_proof_without_an_argmax_in_the_source() -> None:
    wrong = report("0.0000", guess("argmax over everything", 0.625, "accuracy"))
    (found,) = broken(series("accuracy", 10, wrong, wrong))
    assert isinstance(found, Misreported)
    assert found.use.place.line == 8
    elsewhere = ReportedSeries(
        place=Place("other.py", 1), position=0, label="accuracy", times=2, reports=(wrong, wrong)
    )
    assert broken(elsewhere) == []


def test_a_last_batch_that_is_named_so_is_meant() -> None:
    last = report("0.7310", guess("last batch", 0.4)), report("0.6122", guess("last batch", 0.3))
    assert broken(series("last batch loss", 9, *last)) == []


def test_a_perplexity_below_one_is_impossible() -> None:
    (found,) = broken(series("perplexity", 9, report("0.2970")))
    assert isinstance(found, ImpossibleNumber)


@pytest.mark.parametrize(
    ("label", "value", "impossible"),
    [
        ("val ppl", 0.4, True),
        ("log perplexity", 0.4, False),
        ("val mse", -0.1, True),
        ("neg_mse", -0.1, False),
        ("accuracy", 104.0, True),
        ("accuracy", 98.0, False),
        ("accuracy change", -0.2, False),
        ("accumulated", 4000.0, False),
    ],
)
def test_what_is_impossible_depends_on_the_word(label: str, value: float, impossible: bool) -> None:
    assert bool(is_impossible(label, value)) is impossible


def test_a_metric_of_the_evaluation_before() -> None:
    late = [
        report("0.4120"),
        report("0.5210", guess("evaluation before", 0.611, "accuracy")),
        report("0.6110", guess("evaluation before", 0.702, "accuracy")),
    ]
    (found,) = broken(series("val accuracy", 10, *late))
    assert isinstance(found, Misreported)
    assert found.formula == "evaluation before"
    assert broken(series("best val accuracy", 10, *late)) == []


def test_another_metric_is_named() -> None:
    swapped = guess("is the recall macro", 0.812, "precision macro")
    wrong = report("0.7421", swapped, rights=("recall macro",))
    (found,) = broken(series("precision", 10, wrong))
    assert "it is the recall macro" in found.said
    right = report("0.7421", swapped, rights=("recall macro", "precision weighted"))
    assert broken(series("precision", 10, right)) == []


def test_means_of_batches_must_be_far_off() -> None:
    def means(expected: float) -> ReportSeen:
        return report(
            "0.7421", guess("mean of batch means", expected), rights=("loss over batches",)
        )

    assert broken(series("val loss", 9, means(0.7201), means(0.7201))) == []
    (found,) = broken(series("val loss", 9, means(0.6201), means(0.6201)))
    assert found.use.place.line == 4
