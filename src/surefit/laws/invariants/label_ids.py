"""A label has the same id in training and in evaluation."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.label_ids import LabelIds
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.rows.label_maps import MapsPerSplit, maps_per_split

LAW = Law("label_ids", "a label has the same id in training and in evaluation")

FEWEST_ROWS = 30
FEWEST_CLASSES = 3
LEARNED = 0.8
"""Share of training rows that are predicted right."""
WRONG = 0.3
"""Share of evaluated rows that are, at most."""
MAPPED = 0.8
"""Share of them that are, once each label is renamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsRenamed(BrokenLaw):
    """What the model predicts is right, under other ids than the evaluation has."""

    names: tuple[tuple[int, int], ...]
    """Label in the evaluation -> the id that the model has learned for it."""
    rows: int
    hits: int
    mapped: int
    maps: MapsPerSplit | None = None


def watched(recording: Recording) -> MeasuredOn:
    measured = [known for known in recording.all(LabelIds) if known.pairs]
    if not measured:
        return MeasuredOn(why_not="no class labels of an evaluation were seen")
    if not any(known.training_hits >= LEARNED * known.training_rows for known in measured):
        return MeasuredOn(why_not="the model had not learned its training labels")
    rows = sum(pair.rows for known in measured for pair in known.pairs)
    return MeasuredOn(on=f"{counted(rows, 'evaluated row')}")


def violations_of(case: Case) -> Iterator[LabelsRenamed]:
    for known in case.recording.all(LabelIds):
        rows = sum(pair.rows for pair in known.pairs)
        hits = sum(pair.rows for pair in known.pairs if pair.label == pair.prediction)
        if rows < FEWEST_ROWS or known.training_hits < LEARNED * known.training_rows:
            continue
        names = best_names(known)
        mapped = sum(pair.rows for pair in known.pairs if names.get(pair.label) == pair.prediction)
        injective = len(set(names.values())) == len(names) >= FEWEST_CLASSES
        if hits <= WRONG * rows and mapped >= MAPPED * rows and injective:
            yield renamed(case, known, names, (rows, hits, mapped))
            return


def best_names(known: LabelIds) -> dict[int, int]:
    """The prediction that most rows of a label got."""
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    for pair in known.pairs:
        counts[pair.label][pair.prediction] = pair.rows
    return {label: max(rows, key=lambda at: rows[at]) for label, rows in counts.items()}


def renamed(
    case: Case, known: LabelIds, names: dict[int, int], counts: tuple[int, int, int]
) -> LabelsRenamed:
    rows, hits, mapped = counts
    maps = next(
        (found for source in case.recording.sources() if (found := maps_per_split(source))), None
    )
    changed = [(label, name) for label, name in names.items() if label != name]
    shown = ", ".join(f"{label} is {name}" for label, name in changed[:4])
    place = known.place or Place("the script")
    if maps is not None:
        place = Place(maps.held_out.source.file, maps.held_out.node.lineno)
    return LabelsRenamed(
        use=Expression(place),
        said=f"The same class has different ids in training and in evaluation: {hits:,} of"
        f" {counted(rows, 'evaluated row')} are predicted right, and {mapped:,} once each label is"
        f" renamed ({shown}).",
        facts=(
            Fact("training rows right", f"{known.training_hits:,} of {known.training_rows:,}"),
            Fact("evaluated rows right", f"{hits:,} of {rows:,}"),
            Fact("with labels renamed", f"{mapped:,} of {rows:,}"),
            Fact("label -> id learned", shown),
        ),
        steps=known.step,
        fault=f"{LAW.name}: ids",
        names=tuple(names.items()),
        rows=rows,
        hits=hits,
        mapped=mapped,
        maps=maps,
    )
