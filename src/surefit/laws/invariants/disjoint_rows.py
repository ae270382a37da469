"""Rows that a model is evaluated on are not rows that it was trained on, nor copies of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.row_sets import EvaluatedRows, FreshRows, RowSets, TrainedRows
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import has_folds, is_held_out
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.rows.copied_rows import CopiedBeforeSplit, copied_before_split
from surefit.laws.rows.unused_rows import UnusedRows, unused_rows

LAW = Law("disjoint_rows", "training and evaluation rows are disjoint")

FEWEST_ROWS = 10
MOST = 0.95
"""Share of rows from which an evaluation is one on training rows as a whole."""
FEW = 0.1
"""Share up to which rows are in both sets by chance: real data have duplicates."""
OTHER = 0.5
"""Share up to which an evaluation counts as one on rows of its own."""
NEAR = 0.5
CERTAIN_NEAR = 0.8
CHANCE = 5
"""Times as many as by chance."""
NARROWEST = 3
"""Elements of a row; with fewer, rows are equal by chance."""
STEPS_MORE = 1
"""After an evaluation, so that a proof comes past it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRows(BrokenLaw):
    """An evaluation on rows that are no new ones."""

    trained: TrainedRows
    evaluated: EvaluatedRows
    copied: CopiedBeforeSplit | None = None
    """What the source does before the split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedOnTrainingRows(SharedRows):
    """Practically every row is a training row."""

    unused: UnusedRows | None = None
    """Rows that the source sets aside and never evaluates on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsInBothSets(SharedRows):
    """Part of the rows are training rows; or all, where rows were copied before the split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesInBothSets(SharedRows):
    """Rows are altered copies of training rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedInEarlierFold(SharedRows):
    """The model goes on from split to split: what it is evaluated on was trained on before."""


def watched(recording: Recording) -> MeasuredOn:
    sets = [measure for measure in recording.all(RowSets) if measure.trained]
    if not sets:
        return MeasuredOn(why_not="no rows of a model's training were seen")
    looked = [(row, known) for row, known, _ in pairs(recording)]
    if not looked:
        return MeasuredOn(why_not="no evaluation of a trained model was seen")
    rows = sum(row.rows for row, _ in looked)
    distinct = sum(known.distinct for known in {id(known): known for _, known in looked}.values())
    return MeasuredOn(on=f"{counted(rows, 'evaluated row')}, {counted(distinct, 'training row')}")


def pairs(recording: Recording) -> Iterator[tuple[EvaluatedRows, TrainedRows, RowSets]]:
    """Every evaluation with what the model had been trained on. Calls between a batch and its
    backward pass, as targets of a loss are computed, are no evaluations."""
    for measure in recording.all(RowSets):
        trained = {known.model: known for known in measure.trained}
        for row in measure.evaluated:
            known = trained.get(row.model)
            often = 4 * row.cycles > measure.steps and row.evaluating < row.calls
            if known is not None and row.rows and not often:
                yield row, known, measure


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    recording = case.recording
    held_out = [pair for pair in pairs(recording) if is_evaluation(pair[0], recording)]
    folds = [broken for row, known, _ in held_out if (broken := earlier_fold(row, known))]
    yield from folds[:1]
    if folds or has_folds(recording):
        return
    others = [row for row, known, _ in held_out if is_apart(row, known)]
    for row, known, measure in held_out:
        if row.rows < FEWEST_ROWS or known.width < NARROWEST or known.different_batches <= 1:
            continue
        shared = violation(case, row, known, bool(others))
        if shared is not None and measure.process.rank in (None, 0):
            yield shared
            return


def earlier_fold(row: EvaluatedRows, known: TrainedRows) -> TrainedInEarlierFold | None:
    """In the first split the evaluated rows are new to the model; in all later ones, whose rows
    were never evaluated before, it was trained on them, and its weights were not set."""
    rounds = [fresh for fresh in row.rounds if fresh.rows >= FEWEST_ROWS]
    if len(rounds) < 2 or known.width < NARROWEST or rounds[0].trained > FEW * rounds[0].rows:
        return None
    later = [fresh for fresh in rounds[1:] if fresh.trained > OTHER * fresh.rows]
    by_chance = CHANCE * chance(known) >= OTHER
    if len(later) < len(rounds) - 1 or by_chance or rounds[-1].renewed != rounds[0].renewed:
        return None
    trained, rows = sum(fresh.trained for fresh in later), sum(fresh.rows for fresh in later)
    return TrainedInEarlierFold(
        use=Expression(place_of(row)),
        said="From the second split on the model is evaluated on rows that it was trained on"
        f" before: {trained:,} of {counted(rows, 'row')}; its weights were not set again.",
        certain=False,  # rows that are split again in each epoch look like this, too
        facts=(
            Fact("evaluation 1", trained_on(rounds[0])),
            *(Fact(f"evaluation {at}", trained_on(fresh)) for at, fresh in enumerate(later, 2)),
        ),
        steps=later[0].step + STEPS_MORE,
        fault=f"{LAW.name}: evaluation",
        trained=known,
        evaluated=row,
    )


def trained_on(fresh: FreshRows) -> str:
    return f"{fresh.trained:,} of {counted(fresh.rows, 'row')} were trained on before"


def is_evaluation(row: EvaluatedRows, recording: Recording) -> bool:
    return bool(row.library) or is_held_out(recording, row.stack)


def is_apart(row: EvaluatedRows, known: TrainedRows) -> bool:
    return row.equal < OTHER * row.rows and row.rows >= FEWEST_ROWS and bool(known.distinct)


def violation(
    case: Case, row: EvaluatedRows, known: TrainedRows, others: bool
) -> SharedRows | None:
    share = row.equal / row.rows
    copied = next(
        (found for source in case.recording.sources() for found in copied_before_split(source)),
        None,
    )
    by_chance = share <= CHANCE * chance(known)
    if share >= MOST and not by_chance and copied is None:
        return None if others else on_training_rows(case, row, known)
    if share > FEW and row.equal >= FEWEST_ROWS and (not by_chance or copied is not None):
        return in_both(row, known, copied)
    return altered_copies(row, known, copied)


def chance(known: TrainedRows) -> float:
    """Share of rows that are equal to a training row where rows are drawn at random, going by how
    often two rows of a training batch are equal."""
    return min(1.0, known.equal_pairs / max(known.pairs, 1) * known.distinct)


def on_training_rows(
    case: Case, row: EvaluatedRows, known: TrainedRows
) -> EvaluatedOnTrainingRows | None:
    """Not where one dataset is all that the script has, which is then used for both on purpose."""
    unused = unused_rows(case.recording, row)
    datasets = {loader.dataset for loader in known.loaders}
    same = row.loader is not None and row.loader.dataset in datasets
    by_name = row.loader is None and not known.loaders and names_tell(case, row)
    if unused is None and (same or (row.loader is None and not by_name)):
        return None
    loader = row.loader.place if row.loader is not None else None
    return EvaluatedOnTrainingRows(
        use=Expression(loader or place_of(row)),
        said=f"The model is evaluated on its training rows: {row.equal:,} of"
        f" {counted(row.rows, 'evaluated row')} were trained on before.",
        facts=facts(row, known),
        steps=row.step + STEPS_MORE,
        fault=f"{LAW.name}: evaluation",
        trained=known,
        evaluated=row,
        unused=unused,
    )


def names_tell(case: Case, row: EvaluatedRows) -> bool:
    """Arrays that are called `x_test` at the call are meant to be others than the training ones."""
    return is_held_out(case.recording, row.stack[:1] + row.stack[1:2])


def in_both(
    row: EvaluatedRows, known: TrainedRows, copied: CopiedBeforeSplit | None
) -> RowsInBothSets:
    return RowsInBothSets(
        use=Expression(split_place(row, copied)),
        said=f"{row.equal:,} of {counted(row.rows, 'evaluated row')} are also training rows.",
        certain=copied is not None,  # a part of the training set is often watched as well
        facts=facts(row, known),
        steps=row.step + STEPS_MORE,
        fault=f"{LAW.name}: evaluation",
        trained=known,
        evaluated=row,
        copied=copied,
    )


def altered_copies(
    row: EvaluatedRows, known: TrainedRows, copied: CopiedBeforeSplit | None
) -> CopiesInBothSets | None:
    rearranged = row.rearranged / row.rows
    near = row.near / max(row.near_looked, 1)
    if known.width < NARROWEST or not known.continuous:
        return None
    if rearranged > NEAR:
        said = (
            f"{row.rearranged:,} of {counted(row.rows, 'evaluated row')} have exactly the numbers"
            " of a training row, in another order."
        )
    elif near > (NEAR if copied is not None else CERTAIN_NEAR) and (
        copied is not None or row.copies * 8 < known.distinct**0.5
    ):
        said = (
            f"{row.near:,} of {counted(row.near_looked, 'evaluated row')} are altered copies of"
            f" training rows: {row.next_distance / row.near_distance:.1f} times nearer to"
            f" {counted(row.copies, 'training row')} than to the next."
        )
    else:
        return None
    return CopiesInBothSets(
        use=Expression(split_place(row, copied)),
        said=said,
        facts=facts(row, known),
        steps=row.step + STEPS_MORE,
        fault=f"{LAW.name}: evaluation",
        trained=known,
        evaluated=row,
        copied=copied,
    )


def split_place(row: EvaluatedRows, copied: CopiedBeforeSplit | None) -> Place:
    if copied is None:
        return place_of(row)
    statement = copied.copying
    return Place(copied.source.file, statement.lineno, statement.end_lineno)


def place_of(row: EvaluatedRows) -> Place:
    """Of the call of the model, or of the function of the user's that calls it."""
    return row.stack[min(1, len(row.stack) - 1)] if row.stack else Place("the script")


def facts(row: EvaluatedRows, known: TrainedRows) -> tuple[Fact, ...]:
    told = [Fact("evaluated", f"{counted(row.rows, 'different row')}, at {place_of(row)}")]
    told.append(Fact("trained on before", f"{row.equal:,} of them, exactly equal"))
    if row.near:
        told.append(Fact("nearly equal", f"{row.near:,} of {row.near_looked:,} looked at"))
    told.append(Fact("training", f"{counted(known.distinct, 'different row')} seen"))
    return tuple(told)
