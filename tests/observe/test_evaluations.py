"""What is measured of evaluations: modes, learning, and numbers that are printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefit.doctor.measures.modes import ModelCalls, Modes
from surefit.doctor.measures.reported import Reported
from surefit.doctor.recording import Recording, read

HERE = Path(__file__).parent
NAMES = ("stays_in_evaluation_mode", "keeps_gradients_on", "drops_as_a_function", "reports")


@pytest.fixture(scope="module")
def recordings() -> dict[str, Recording]:
    source = str(HERE.parents[1] / "src")
    command = [sys.executable, "evaluations.py", *NAMES]
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, check=True
    )
    lines = [line.partition(" ") for line in done.stderr.splitlines() if line.startswith(NAMES)]
    return {name: read([rest for known, _, rest in lines if known == name]) for name in NAMES}


def modes(recording: Recording) -> Modes:
    (found,) = recording.all(Modes)
    return found


def evaluation(recording: Recording) -> ModelCalls:
    (found,) = (calls for calls in modes(recording).calls if not calls.learned)
    return found


def test_a_call_that_no_backward_pass_goes_through_is_evaluation(
    recordings: dict[str, Recording],
) -> None:
    found = evaluation(recordings["keeps_gradients_on"])
    assert (found.grad, found.training, found.calls, found.followed) == (True, True, 3, 3)
    assert (found.looks[0].dropouts, found.looks[0].norms) == (1, 1)


def test_steps_are_counted_by_the_mode_that_they_were_learned_in(
    recordings: dict[str, Recording],
) -> None:
    found = modes(recordings["stays_in_evaluation_mode"])
    (stepped,) = found.stepped
    assert (stepped.training, stepped.evaluating) == (2, 4)
    assert (stepped.first_training, stepped.first_evaluating) == (1, 3)
    (switch,) = found.switches
    assert (switch.training, switch.times) == (False, 3)
    quiet = [one for one in found.calls if one.learned and not one.training]
    assert (quiet[0].looks[-1].dropouts_off, quiet[0].looks[-1].norms_off) == (1, 1)


def test_a_dropout_that_is_a_function_and_a_buffer_that_changes_are_seen(
    recordings: dict[str, Recording],
) -> None:
    found = modes(recordings["drops_as_a_function"])
    (dropout,) = found.dropouts
    assert (dropout.function, dropout.layer, dropout.asked, dropout.times) == (
        "dropout",
        "",
        False,
        3,
    )
    assert evaluation(recordings["drops_as_a_function"]).changed == ("running_mean",)


def test_printed_numbers_are_held_against_right_and_wrong_formulas(
    recordings: dict[str, Recording],
) -> None:
    (found,) = recordings["reports"].all(Reported)
    mean, last, halved, accuracy, *others = found.series
    assert [one.label for one in found.series[:4]] == ["mean", "last", "halved", "acc"]
    assert [one.label for one in others] == ["eval_accuracy", "rows_per_second"]
    assert all("loss" in report.rights for report in mean.reports)
    assert len(mean.reports) == 3
    assert all("last batch" in names(report.guesses) for report in last.reports)
    assert all(not report.rights for report in halved.reports)
    assert all("divided in the loop" in names(report.guesses) for report in halved.reports)
    assert all("accuracy" in report.rights for report in accuracy.reports)


def names(guesses: tuple[object, ...]) -> list[str]:
    return [getattr(guess, "formula", "") for guess in guesses]
