"""What is read from run folders, and what is said of them first."""

from dataclasses import replace
from pathlib import Path

import pytest

from run_folders import BEFORE, DATA, REPORT, SETTINGS, finding, healthy_run, steps, write_run
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.errors import WrongCall
from surefit.render.page.charts import charts_of, mean_window
from surefit.render.page.comparison import page_of_runs
from surefit.render.page.contents import Mood, RunPage
from surefit.render.page.left_behind import LeftBehind, read_run_folder
from surefit.render.page.of_run import page_of_run

NO_PROCESS = 2**22 + 1
"""Above the highest that Linux gives."""


def page(folder: Path) -> RunPage:
    return page_of_run(read_run_folder(folder))


def test_a_run_that_learned(tmp_path: Path) -> None:
    made = page(healthy_run(tmp_path / "run"))
    assert made.conclusion.mood is Mood.GOOD
    assert (
        made.conclusion.headline == "It learned: F1 rose from 0.2500 to 0.4175 on 4 held-out rows."
    )
    assert [figure.name for figure in made.figures][:2] == ["F1", "exact match"]
    assert not made.is_live


@pytest.mark.parametrize(
    ("report", "mood", "says"),
    [
        ({**REPORT, "f1": 0.25}, Mood.WARNING, "It did not learn: F1 is unchanged at 0.2500"),
        ({**REPORT, "f1": 0.1}, Mood.WARNING, "It did not learn: F1 fell from 0.2500 to 0.1000"),
        ({**REPORT, "f1_before": None}, Mood.NEUTRAL, "it was not scored before training"),
        ({**REPORT, "f1": None}, Mood.NEUTRAL, "nothing shows whether it learned"),
        (
            {"validation_loss": 1.0, "validation_loss_before": 2.0, "held_out_rows": 5},
            Mood.GOOD,
            "It learned: validation loss fell from 2.0000 to 1.0000 on 5 held-out rows.",
        ),
        (
            {"cross_entropy": 0.0, "cross_entropy_before": 0.0, "held_out_tokens": 1},
            Mood.WARNING,
            "perplexity is unchanged at 1.0000 on 1 held-out token.",
        ),
    ],
)
def test_what_a_report_says(
    tmp_path: Path, report: dict[str, object], mood: Mood, says: str
) -> None:
    made = page(write_run(tmp_path / "run", report=report))
    assert made.conclusion.mood is mood
    assert says in made.conclusion.headline


def test_a_run_that_goes_on_and_one_whose_process_is_gone(tmp_path: Path) -> None:
    running = page(write_run(tmp_path / "running"))
    assert running.is_live
    assert running.conclusion.headline == "Running: 200 steps."
    assert "Newest F1: 0.7500 on 3 held-out rows" in running.conclusion.details[0]
    killed = page(write_run(tmp_path / "killed", pid=NO_PROCESS))
    assert not killed.is_live
    assert killed.conclusion.mood is Mood.BAD
    assert killed.conclusion.headline == "The run ended without a report after 200 steps."


def test_a_run_with_findings(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ended=(1, (finding(), finding("Second."))))
    made = page(folder)
    assert made.conclusion.mood is Mood.BAD
    assert made.conclusion.headline == "`labels` are text."
    assert made.conclusion.details[0] == "1 more finding below."
    assert len(made.findings) == 2


def test_a_run_that_was_stopped_is_no_failure(tmp_path: Path) -> None:
    stop = Finding(
        "stopped", "SF198", Severity.NOTE, Place("run"), "Stopped.", fixes=(Fix("Go on."),)
    )
    made = page(write_run(tmp_path / "run", ended=(130, (stop,))))
    assert made.conclusion.mood is Mood.NEUTRAL
    assert made.conclusion.details == ("Go on.",)


def test_a_run_that_ended_with_an_exception(tmp_path: Path) -> None:
    made = page(write_run(tmp_path / "run", ended=(1, ()), exception="KeyError: 'x'"))
    assert made.conclusion.headline == "The run failed after 200 steps."
    assert made.conclusion.details == ("KeyError: 'x'",)


def test_a_law_that_a_finding_says_is_broken(tmp_path: Path) -> None:
    lost = Finding("distillation-became-nan", "SF081", Severity.ERROR, Place("run"), "It is nan.")
    folder = write_run(tmp_path / "run", settings={"recipe": "distill"}, ended=(1, (lost,)))
    states = {law.words: law.state for law in page(folder).laws}
    assert states["the loss is a number"] == "broken"
    assert states["the teacher's output reaches the loss"] == "holds"


def test_files_that_are_missing_or_cut_off_are_left_out(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data=None)
    for name in ("metrics.jsonl", "environment.json", "report.json", "findings.json", "data.json"):
        (folder / name).write_text('{"step": 1, "lo')
    made = page(folder)
    assert made.charts == ()
    assert made.data is None
    assert made.conclusion.headline == "Not complete: 0 steps so far."


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    healthy_run(tmp_path / "runs" / "sft-1")
    for folder, says in (
        (tmp_path / "runs", "runs: sft-1"),
        (tmp_path / "nothing", "does not exist"),
    ):
        with pytest.raises(WrongCall) as refused:
            read_run_folder(folder)
        said = refused.value.findings[0]
        assert says in said.headline + "".join(fact.value for fact in said.facts)


def test_every_number_has_a_curve() -> None:
    records = [{**record, "balance": 0.5, "note": "text"} for record in steps(100)]
    charts = {chart.name: chart for chart in charts_of(records)}
    assert list(charts) == [
        "Loss",
        "Learning rate",
        "Gradient norm",
        "Tokens per second",
        "Balance",
    ]
    assert [curve.name for curve in charts["Loss"].curves] == ["training loss", "mean of 5 steps"]


def test_values_that_are_not_finite_are_named() -> None:
    records = steps(10)
    records[3]["loss"] = None
    loss = charts_of(records)[0]
    assert loss.curves[0].values[3] is None
    assert loss.notes == ("training loss is not finite at step 4.",)
    every = charts_of([{**record, "loss": None} for record in records])[0]
    assert every.notes == ("No value of training loss is finite.",)


def test_a_scale_with_zeros_is_not_logarithmic() -> None:
    records = steps(10)
    assert {chart.name for chart in charts_of(records) if chart.logarithmic} == {"Gradient norm"}
    records[0]["gradient_norm"] = 0.0
    assert not any(chart.logarithmic for chart in charts_of(records))


def test_means_are_over_a_fiftieth_of_the_run() -> None:
    assert [mean_window(steps) for steps in (60, 500, 100_000, 10**9)] == [5, 10, 2000, 5000]


def test_of_many_rows_an_even_part_is_shown(tmp_path: Path) -> None:
    rows = [{**BEFORE[0], "place": f"rows:{number}", "input": "x" * 4000} for number in range(4000)]
    made = page(write_run(tmp_path / "run", answers={0: rows}))
    assert made.answers is not None
    shown = [row.place for row in made.answers.rows]
    assert 900 < len(shown) <= 1500
    assert shown[-1] > "rows:3990"
    assert made.answers.rows[0].input.endswith("… 2,800 more characters")
    assert f"{len(shown):,} of 4,000 rows are here" in made.answers.note


def test_a_comparison_shows_what_differs(tmp_path: Path) -> None:
    settings = {**SETTINGS, "learning_rate": 0.1, "out": "elsewhere"}
    first = healthy_run(tmp_path / "first")
    second = healthy_run(tmp_path / "second", settings=settings, records=steps(40))
    third = write_run(tmp_path / "other" / "first", settings={"recipe": "pretrain"}, data=None)
    made = page_of_runs([LeftBehind(folder) for folder in (first, second, third)])
    assert [run.name for run in made.runs] == [f"{tmp_path.name}/first", "second", "other/first"]
    assert {setting.name: setting.values for setting in made.differing} == {
        "recipe": ("sft", "sft", "pretrain"),
        "data": ("rows.jsonl", "rows.jsonl", "not a setting"),
        "model": ("embedded", "embedded", "not a setting"),
        "learning_rate": ("0.001", "0.1", "not a setting"),
    }
    loss = made.charts[0]
    assert {curve.run for curve in loss.curves} == {0, 1, 2}
    assert not any(curve.faint for curve in loss.curves)
    assert made.answers is not None
    assert made.answers.columns == (f"{tmp_path.name}/first, epoch 2", "second, epoch 2")


def test_runs_of_other_rows_are_said_to_be_so(tmp_path: Path) -> None:
    first = healthy_run(tmp_path / "first")
    other = replace(DATA, fingerprints=(Fact("rows", "another"),))
    second = healthy_run(tmp_path / "second", data=other)
    made = page_of_runs([LeftBehind(first), LeftBehind(second)])
    assert "means over different rows" in made.notes[0]
