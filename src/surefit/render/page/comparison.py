"""Several runs on one page: what was set differently, and what came of it."""

from collections.abc import Iterator, Sequence

from .answers import beside_each_other
from .charts import over_each_other
from .conclusions import conclude, figures_of
from .contents import ComparisonPage, DifferingSetting, RunSummary
from .left_behind import LeftBehind
from .of_run import in_words

ASIDE = frozenset(("out", "resume"))
"""Settings that say where a run lies, not what it does."""
NOT_SET = "not a setting"


def page_of_runs(runs: Sequence[LeftBehind]) -> ComparisonPage:
    names = names_of(runs)
    settings = list(differing_settings(runs))
    every = {name for run in runs for name in run.settings} - ASIDE
    return ComparisonPage(
        title=" / ".join(names) if len(names) <= 3 else f"{len(names)} runs",
        runs=tuple(
            RunSummary(
                name=name,
                folder=str(run.path),
                conclusion=conclude(run),
                figures=figures_of(run),
            )
            for name, run in zip(names, runs, strict=True)
        ),
        differing=tuple(settings),
        same_settings=len(every) - len(settings),
        charts=over_each_other(
            [(name, run.records) for name, run in zip(names, runs, strict=True)]
        ),
        answers=beside_each_other(runs, names),
        notes=tuple(notes_of(runs, names)),
        is_live=any(run.is_running for run in runs),
    )


def names_of(runs: Sequence[LeftBehind]) -> list[str]:
    """Of their folders; of the same name, with the folder above."""
    short = [run.name for run in runs]
    return [
        name if short.count(name) == 1 else f"{run.path.resolve().parent.name}/{name}"
        for name, run in zip(short, runs, strict=True)
    ]


def differing_settings(runs: Sequence[LeftBehind]) -> Iterator[DifferingSetting]:
    """In the order of the first run that has each."""
    for name in dict.fromkeys(name for run in runs for name in run.settings):
        values = tuple(
            in_words(run.settings[name]) if name in run.settings else NOT_SET for run in runs
        )
        if name not in ASIDE and len(set(values)) > 1:
            yield DifferingSetting(name, values)


def notes_of(runs: Sequence[LeftBehind], names: Sequence[str]) -> Iterator[str]:
    """Why scores of these runs are not of the same rows."""
    rows = {}
    for name, run in zip(names, runs, strict=True):
        if run.data is not None:
            for fact in run.data.fingerprints:
                if fact.name == "rows":
                    rows[name] = fact.value
    if len(set(rows.values())) > 1:
        yield (
            "The rows of these runs are not the same, or not split in the same way: their scores"
            " are means over different rows."
        )
