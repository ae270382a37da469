"""The page of a script's run: what `surefit run --html` writes."""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from surefit.doctor.findings import Fact
from surefit.doctor.measures.rates import LearningRates
from surefit.doctor.observations import Ended
from surefit.doctor.progress import final_steps
from surefit.doctor.words import counted
from surefit.render.json_document import Finding
from surefit.render.page.conclusions import duration
from surefit.render.page.contents import (
    Chart,
    Conclusion,
    Curve,
    FactTable,
    Figure,
    LawShown,
    Mood,
    RunPage,
)
from surefit.render.page.thinning import finite_or_none, short, thinned

if TYPE_CHECKING:
    from surefit.doctor.recording import Recording
    from surefit.examination import Examination

MODEL_LOSS = "Values on which `backward` was called: the first, the last, and a sample in between."
STOPPED = {
    "finding": "a finding was certain (--stop-on)",
    "hang": "no training activity (--hang-after)",
    "rank": "another process of the launch failed",
}
"""Why a run was ended -> in words."""


def page_of_script(
    examined: "Examination",
    command: Sequence[str],
    findings: Sequence[Finding],
    laws: Sequence[Mapping[str, Any]],
    not_observed: Sequence[str],
) -> RunPage:
    """Findings, laws and what was not observed as they were told: of a notebook by its cells."""
    return RunPage(
        title=" ".join(command),
        about=f"surefit run, {datetime.now():%Y-%m-%d %H:%M} on {platform.node()}",
        conclusion=conclude(examined, command[0], findings),
        figures=tuple(figures_of(examined)),
        findings=tuple(findings),
        charts=tuple(charts_of(examined.recording)),
        laws=tuple(law_shown(law) for law in laws),
        not_observed=tuple(not_observed),
        tables=(FactTable("Run", tuple(facts_of(examined, command))),),
    )


def conclude(examined: "Examination", script: str, findings: Sequence[Finding]) -> Conclusion:
    details = list(how_it_ended(examined, script))
    if findings:
        is_error = any(finding.severity == "error" for finding in findings)
        more = len(findings) - 1
        details += [f"{counted(more, 'more finding')} below."] if more else []
        mood = Mood.BAD if is_error else Mood.WARNING
        return Conclusion(mood, findings[0].headline, tuple(details))
    if examined.code:
        text = details.pop(0)
        return Conclusion(Mood.BAD, text, (*details, "No rule explains it."))
    if not examined.steps:
        return Conclusion(
            Mood.NEUTRAL, "The script took no optimizer step, so no training was observed."
        )
    text = f"No findings in {counted(examined.steps, 'optimizer step')}."
    return Conclusion(Mood.GOOD, text, tuple(details))


def how_it_ended(examined: "Examination", script: str) -> Iterator[str]:
    if examined.exception:
        yield f"{script} ended with {examined.exception}"
    elif examined.code:
        yield f"{script} ended with exit code {examined.code}."
    if examined.stopped:
        yield f"surefit stopped the run: {STOPPED.get(examined.stopped, examined.stopped)}."


def figures_of(examined: "Examination") -> Iterator[Figure]:
    yield Figure("optimizer steps", f"{examined.steps:,}")
    yield Figure("exit code", str(examined.code))
    ended = next(iter(examined.recording.all(Ended)), None)
    if ended is not None:
        yield Figure("time", duration(ended.seconds))
    losses = [steps.losses[-1][1] for steps in final_steps(examined.recording) if steps.losses]
    if losses:
        yield Figure("last loss", f"{losses[0]:.4g}")


def charts_of(recording: "Recording") -> Iterator[Chart]:
    """The losses of each process, and the learning rates of its optimizers."""
    losses = [
        curve(name_of(steps.process.rank, "loss"), steps.losses)
        for steps in final_steps(recording)
        if steps.losses
    ]
    if losses:
        yield Chart(name="Loss", about=MODEL_LOSS, curves=tuple(losses))
    rates = [
        curve(name_of(measure.process.rank, f"{course.kind}"), course.course)
        for measure in recording.all(LearningRates)
        for course in measure.optimizers
        if course.course
    ]
    if rates:
        about = "Per optimizer and step; for several parameter groups, the highest rate."
        yield Chart(name="Learning rate", about=about, curves=tuple(rates))


def curve(name: str, values: Sequence[tuple[int, float]]) -> Curve:
    points = thinned([(float(step), finite_or_none(value)) for step, value in sorted(values)])
    return Curve(
        name=name,
        steps=tuple(step for step, _ in points),
        values=tuple(short(value) for _, value in points),
    )


def name_of(rank: int | None, what: str) -> str:
    return what if rank is None else f"{what}, rank {rank}"


def law_shown(law: Mapping[str, Any]) -> LawShown:
    """From its part of the JSON document."""
    return LawShown(law["state"], law["words"], law["why_not"] or law["on"])


def facts_of(examined: "Examination", command: Sequence[str]) -> Iterator[Fact]:
    yield Fact("command", shlex.join(["surefit", "run", *command]))
    yield Fact("exit code", str(examined.code))
    if examined.exception:
        yield Fact("exception", examined.exception)
    ended = next(iter(examined.recording.all(Ended)), None)
    if ended is not None:
        yield Fact("time", duration(ended.seconds))
    yield Fact("optimizer steps", f"{examined.steps:,}")
    yield Fact("system", f"{platform.system()} {platform.release()}")
    for fault in examined.faults:
        yield Fact("fault of surefit itself", fault)
