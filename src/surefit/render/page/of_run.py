"""The page of a run, from its folder."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from surefit.doctor.findings import Fact

from .answers import before_and_after
from .charts import charts_of, is_score
from .conclusions import conclude, figures_of
from .contents import FactTable, LawShown, RunPage
from .left_behind import LeftBehind

LAWS = (
    ("loss-became-nan", "the loss is a number", "at every step"),
    ("gradients-all-zero", "gradients are not all zero while there is a loss", "at every step"),
    ("loss-stays-uniform", "the loss does not stay that of a uniform guess", "at every step"),
    ("every-step-skipped", "the gradient scaler does not skip every step", "at every step"),
)
"""What ends a run of every recipe, by the rule that says it; see `surefit.train.watch`."""
DISTILLATION_LAWS = (
    ("teacher-not-heard", "the teacher's output reaches the loss", "at every step"),
)
SAME_FAULT = {
    "feature-loss-became-nan": "loss-became-nan",
    "distillation-became-nan": "loss-became-nan",
}


def page_of_run(run: LeftBehind) -> RunPage:
    """What is shown follows from the files that are there."""
    ended = run.ended
    return RunPage(
        title=run.name,
        about=about(run),
        conclusion=conclude(run),
        figures=figures_of(run),
        findings=tuple(ended.findings) if ended else (),
        charts=charts_of(run.records),
        answers=before_and_after(run),
        data=run.data,
        laws=tuple(laws_of(run)),
        not_observed=tuple(ended.not_observed) if ended else (),
        tables=tuple(tables_of(run)),
        is_live=run.is_running,
    )


def about(run: LeftBehind) -> str:
    """`surefit sft, begun 2026-11-18 20:12`."""
    began = ""
    if run.environment is not None:
        began = f", begun {day_and_time(run.environment.began)} on {run.environment.host}"
    return f"surefit {run.recipe}{began}"


def day_and_time(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}"
    except ValueError:
        return text


def laws_of(run: LeftBehind) -> Iterator[LawShown]:
    """What the recipe watched at each step, and whether a finding says that it did not hold."""
    steps = sum(1 for record in run.records if not is_score(record))
    findings = run.ended.findings if run.ended else ()
    rules = {SAME_FAULT.get(finding.rule, finding.rule) for finding in findings}
    laws = (*LAWS, *(DISTILLATION_LAWS if run.recipe == "distill" else ()))
    for rule, words, when in laws:
        if rule in rules:
            yield LawShown("broken", words, f"{rule}, after {steps:,} steps")
        elif steps:
            yield LawShown("holds", words, f"{when}, {steps:,} of them")
        else:
            yield LawShown("not measured", words, "no step was taken")


def tables_of(run: LeftBehind) -> Iterator[FactTable]:
    yield FactTable("Settings", as_facts(run.settings))
    if run.environment is not None:
        versions = (Fact("command", run.environment.command), *run.environment.versions)
        yield FactTable("Command and versions", versions)
    if run.data is not None and run.data.fingerprints:
        yield FactTable("Fingerprints", run.data.fingerprints)
    if run.report is not None:
        yield FactTable("Report", as_facts(run.report), folded=True)


def as_facts(values: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(Fact(name, in_words(value)) for name, value in values.items())


def in_words(value: object) -> str:
    """A value of a JSON file, as a reader would write it."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {in_words(inner)}" for name, inner in value.items()) or "none"
    return str(value)
