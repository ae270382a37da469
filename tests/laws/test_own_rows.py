"""Laws of collated rows, of scaling and of class maps, on measures that are written by hand."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.class_maps import ClassMaps, ResampledMaps
from surefit.doctor.measures.collated_rows import CollatedRows, JoinedIndex
from surefit.doctor.measures.experiments import Experimented, TriedChange
from surefit.doctor.measures.fitted_rows import FittedRows, ScaledColumns
from surefit.doctor.observations import CallSite, Process
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import class_maps, collated_rows, fitted_rows

PLACE = Place("train.py", 3)
TRIED = CollatedRows(
    process=Process(),
    model="Net",
    place=PLACE,
    collate="join",
    defined_at=PLACE,
    step=2,
    samples=5,
    company=0.4,
    output=(3, 2),
)
INDEX = JoinedIndex(index="1", rows="0", axis=1, mends=True)


@pytest.mark.parametrize(
    ("tried", "apart", "kind"),
    [
        (replace(TRIED, index=INDEX), False, "IndexNotMoved"),
        (replace(TRIED, altered="0"), True, "RowAlteredByItsBatch"),
        (replace(TRIED, altered="0"), False, None),
        (replace(TRIED, flattened="0"), False, "RowDependsOnItsBatch"),
        (TRIED, True, None),
        (replace(TRIED, company=0.0, altered="0"), True, None),
    ],
)
def test_collated_rows(tried: CollatedRows, apart: bool, kind: str | None) -> None:
    experiment = Experimented(
        process=Process(),
        model="Net",
        place=PLACE,
        training=True,
        step=2,
        rows=TriedChange(judged=1, changed=0.0 if apart else 0.3),
    )
    recording = Recording([tried, experiment])
    found = [type(broken).__name__ for broken in collated_rows.violations_of(Case(recording))]
    assert found == ([] if kind is None else [kind])
    mixes = tried.company > 0 and kind is None
    assert bool(collated_rows.watched(recording).why_not) is mixes


SCALED = ScaledColumns(
    way="mean and deviation",
    arrays=("x",),
    trained="train",
    rows=100,
    trained_rows=80,
    columns=4,
    exact=4,
    exact_in_training=0,
    mean=0.02,
    spread=1.01,
    least=-2.0,
    greatest=2.0,
)


@pytest.mark.parametrize(
    ("scaled", "broken"),
    [
        (SCALED, True),
        (replace(SCALED, exact_in_training=4), False),
        (replace(SCALED, exact=1), False),
        (replace(SCALED, way="range"), True),
        (replace(SCALED, way="range", columns=1, exact=1), False),
    ],
)
def test_scaling(scaled: ScaledColumns, broken: bool) -> None:
    measure = FittedRows(process=Process(), step=5, place=PLACE, rows=80, scaled=(scaled,))
    assert bool(list(fitted_rows.violations_of(Case(Recording([measure]))))) is broken


@pytest.mark.parametrize(("targets", "broken"), [((1, 2, 9), True), ((1, 9), False), ((), False)])
def test_class_maps(targets: tuple[int, ...], broken: bool) -> None:
    maps = ResampledMaps(
        function="resize",
        call=CallSite(PLACE, 4, 20),
        calls=3,
        classes=(0, 3),
        others=(1, 2),
        share=0.1,
        prints=(1, 2, 3),
    )
    worker = ClassMaps(process=Process(role="worker", worker=0), resampled=(maps,))
    main = ClassMaps(process=Process(), targets=targets, looked=8)
    recording = Recording([worker, main])
    assert bool(list(class_maps.violations_of(Case(recording)))) is broken
