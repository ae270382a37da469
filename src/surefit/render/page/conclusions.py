"""What is said of a run first: whether it learned, and how that is known."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import exp
from typing import Any

from surefit.render.json_document import Document

from .charts import is_score
from .contents import Conclusion, Figure, Mood
from .left_behind import METRICS, LeftBehind

STOPPED = "stopped"
"""The rule of the finding that a run leaves which the user stopped."""

Report = Mapping[str, Any]


def conclude(run: LeftBehind) -> Conclusion:
    """From the end of the run backwards: how it ended, then what its scores say."""
    ended = run.ended
    if ended is not None and (ended.findings or ended.ended.code):
        return of_an_end(ended, run)
    if run.report is not None:
        return of_a_report(run.report)
    if run.is_running:
        return of_a_running(run)
    return Conclusion(
        Mood.BAD,
        f"The run ended without a report after {steps_so_far(run)}.",
        (
            "Its process no longer exists: it was killed, or the machine was shut down.",
            f"To resume it:  surefit {run.recipe} --resume {run.path}",
        ),
    )


def of_a_running(run: LeftBehind) -> Conclusion:
    if run.environment is not None and run.environment.is_alive:
        return Conclusion(Mood.RUNNING, f"Running: {steps_so_far(run)}.", tuple(latest(run)))
    unknown = "It is unknown whether the run is still alive: its process is on another machine."
    return Conclusion(
        Mood.RUNNING, f"Not complete: {steps_so_far(run)} so far.", (*latest(run), unknown)
    )


def of_an_end(ended: Document, run: LeftBehind) -> Conclusion:
    """A run that was stopped, or that something is wrong with."""
    if not ended.findings:
        said = ended.ended.exception or f"exit code {ended.ended.code}"
        return Conclusion(Mood.BAD, f"The run failed after {steps_so_far(run)}.", (said,))
    first = ended.findings[0]
    more = len(ended.findings) - 1
    details = [f"{more} more {'finding' if more == 1 else 'findings'} below."] if more else []
    if first.rule == STOPPED:
        return Conclusion(Mood.NEUTRAL, first.headline, tuple(fix.text for fix in first.fixes))
    mood = Mood.BAD if any(found.severity == "error" for found in ended.findings) else Mood.WARNING
    if run.report is None:
        details.append(f"The run ended after {steps_so_far(run)}.")
    return Conclusion(mood, first.headline, tuple(details))


def of_a_report(report: Report) -> Conclusion:
    """What a run that is done says of itself, by the first score that it has before and after."""
    for judge in (by_f1, by_validation_loss, by_cross_entropy):
        conclusion = judge(report)
        if conclusion is not None:
            return conclusion
    return Conclusion(
        Mood.NEUTRAL,
        "The run is done; no row was held out, so nothing shows whether it learned.",
    )


def by_f1(report: Report) -> Conclusion | None:
    after, before, rows = report.get("f1"), report.get("f1_before"), report.get("held_out_rows", 0)
    if after is None:
        return None
    best = f"Best epoch: {report.get('best_epoch')} of {report.get('epochs')}."
    over = f"on {counted(rows, 'held-out row')}"
    if before is None:
        text = f"F1 is {after:.4f} {over}; it was not scored before training."
        return Conclusion(Mood.NEUTRAL, text, (best,))
    if after > before:
        text = f"It learned: F1 rose from {before:.4f} to {after:.4f} {over}."
        return Conclusion(Mood.GOOD, text, (best,))
    word = "is unchanged at" if after == before else f"fell from {before:.4f} to"
    return Conclusion(Mood.WARNING, f"It did not learn: F1 {word} {after:.4f} {over}.", (best,))


def by_validation_loss(report: Report) -> Conclusion | None:
    after, before = report.get("validation_loss"), report.get("validation_loss_before")
    if after is None or before is None:
        return None
    details = [f"Best epoch: {report.get('best_epoch')} of {report.get('epochs')}."]
    best = report.get("best_possible")
    if best is not None:
        details.append(f"The best possible loss is {best:.4f} (computed from the source).")
    over = f"on {counted(report.get('held_out_rows', 0), 'held-out row')}"
    return compared("validation loss", before, after, over, tuple(details))


def by_cross_entropy(report: Report) -> Conclusion | None:
    after, before = report.get("cross_entropy"), report.get("cross_entropy_before")
    if after is None or before is None:
        return None
    over = f"on {counted(report.get('held_out_tokens', 0), 'held-out token')}"
    details = [f"Best step: {report.get('best_step')} of {report.get('steps')}."]
    teacher = report.get("teacher_cross_entropy")
    if teacher is not None:
        details.append(f"The teacher's perplexity is {exp(teacher):.2f}.")
    return compared("perplexity", exp(before), exp(after), over, tuple(details))


def compared(
    name: str, before: float, after: float, over: str, details: tuple[str, ...]
) -> Conclusion:
    """Of a number that should fall."""
    if after < before:
        text = f"It learned: {name} fell from {before:.4f} to {after:.4f} {over}."
        return Conclusion(Mood.GOOD, text, details)
    word = "is unchanged at" if after == before else f"rose from {before:.4f} to"
    return Conclusion(Mood.WARNING, f"It did not learn: {name} {word} {after:.4f} {over}.", details)


def figures_of(run: LeftBehind) -> tuple[Figure, ...]:
    """The few numbers that people compare."""
    return tuple(of_reported(run.report) if run.report is not None else of_running(run))


def of_reported(report: Report) -> Iterator[Figure]:
    yield from of_scores(report)
    if report.get("steps") is not None:
        epochs = report.get("epochs")
        yield Figure("steps", f"{report['steps']:,}", counted(epochs, "epoch") if epochs else "")
    rows, held_out = report.get("training_rows"), report.get("held_out_rows")
    if rows is not None:
        yield Figure("training rows", f"{rows:,}", f"{held_out:,} held out" if held_out else "")
    if report.get("seconds") is not None:
        yield Figure("time", duration(report["seconds"]))


def of_scores(report: Report) -> Iterator[Figure]:
    if report.get("f1") is not None:
        yield Figure("F1", f"{report['f1']:.4f}", was(report.get("f1_before")))
    if report.get("exact_match") is not None:
        yield Figure("exact match", f"{report['exact_match']:.4f}")
    if report.get("validation_loss") is not None:
        before = was(report.get("validation_loss_before"))
        yield Figure("validation loss", f"{report['validation_loss']:.4f}", before)
    if report.get("cross_entropy") is not None:
        first = report.get("cross_entropy_before")
        note = "" if first is None else f"was {exp(first):.2f}"
        yield Figure("perplexity", f"{exp(report['cross_entropy']):.2f}", note)
    if report.get("agreement") is not None:
        yield Figure("agreement", f"{report['agreement']:.1%}", "likeliest token, with the teacher")
    loss = report.get("loss", report.get("train_loss"))
    if loss is not None:
        yield Figure("training loss", f"{loss:.4f}", "mean of an epoch")


def of_running(run: LeftBehind) -> Iterator[Figure]:
    steps = [record for record in run.records[-200:] if not is_score(record)]
    if not steps:
        return
    newest = steps[-1]
    yield Figure("step", f"{newest.get('step', 0):,}")
    if newest.get("epoch") is not None:
        yield Figure("epoch", f"{newest['epoch']}")
    if newest.get("loss") is not None:
        yield Figure("training loss", f"{newest['loss']:.4f}", "of the newest step")
    if newest.get("tokens_per_second") is not None:
        yield Figure("tokens/s", f"{newest['tokens_per_second']:,.0f}")


def latest(run: LeftBehind) -> Iterator[str]:
    """Of a run that goes on: its newest score, and when it last wrote."""
    scores = [record for record in run.records if is_score(record)]
    for name, key in (("F1", "f1"), ("validation loss", "validation_loss"), ("perplexity",) * 2):
        if scores and scores[-1].get(key) is not None:
            rows = scores[-1].get("rows")
            over = f" on {counted(rows, 'held-out row')}" if rows else ""
            at = scores[-1].get("step", 0)
            yield f"Newest {name}: {scores[-1][key]:.4f}{over}, after step {at:,}."
            break
    file = run.path / METRICS
    if file.exists():
        written = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
        yield f"Last written: {written:%Y-%m-%d %H:%M:%S %Z}."


def steps_so_far(run: LeftBehind) -> str:
    return counted(run.steps, "step")


def counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def was(before: float | None) -> str:
    return "" if before is None else f"was {before:.4f}"


def duration(seconds: float) -> str:
    """`2 h 05 min`, `3 min 20 s`, `41 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
