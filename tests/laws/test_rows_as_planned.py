"""How rows are used, from hand-made measures."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Place
from surefit.doctor.measures.label_ids import Confused, LabelIds
from surefit.doctor.measures.row_use import (
    ClassWeight,
    LabelOrder,
    LoaderUse,
    RowCoverage,
    RowUse,
    SeedSite,
    StreamCopies,
)
from surefit.doctor.observations import Process, Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.invariants import label_ids
from surefit.laws.invariants.rows_as_planned import violations_of

HERE = Place("train.py", 3)
LOADER = LoaderUse(
    place=HERE,
    stack=(HERE,),
    taken_at=HERE,
    rows=320,
    batch_size=32,
    sampler="SequentialSampler",
    own_sampler=False,
    shuffles=False,
    drops=False,
    streams=False,
    workers=0,
    trained=40,
    iterations=(10, 10, 10, 10),
    finished=4,
    alike=3,
    repeated=0,
    asked_after_the_end=0,
    batches=tuple(range(1, 11)),
)
PART = RowCoverage(planned=320, used=160, fresh=(160, 0, 0))
ALL = RowCoverage(planned=320, used=320, fresh=(320, 0, 0, 0), looked=320)
COPIES = StreamCopies(groups=5, equal_groups=5, distinct=160, each=2)
SORTED = LabelOrder(
    place=None, rows=320, batches=10, single=9, classes=4, runs=(0, 1, 2, 3), changes=3
)
SEED = SeedSite(
    function="torch.manual_seed",
    place=HERE,
    calls=40,
    steps=40,
    first_step=0,
    same=True,
    value="0",
    drawn=39,
    trained=40,
)


def broken_in(*measures: RowUse, text: str = "") -> list[str]:
    recording = Recording([Script("train.py", text, main=True), *measures])
    return [type(broken).__name__ for broken in violations_of(Case(recording))]


def measure(
    *loaders: LoaderUse, seeds: tuple[SeedSite, ...] = (), labels: LabelOrder | None = None
) -> RowUse:
    return RowUse(process=Process(), steps=40, loaders=loaders, seeds=seeds, labels=labels)


def test_a_healthy_loader() -> None:
    assert broken_in(measure(LOADER)) == []


@pytest.mark.parametrize(
    ("use", "broken"),
    [
        (replace(LOADER, labels=SORTED), "SortedByClass"),
        (
            replace(LOADER, iterations=(1,) * 32, repeated=39, alike=31, finished=0),
            "SameBatchEveryStep",
        ),
        (replace(LOADER, iterations=(40,), asked_after_the_end=3, alike=0), "IteratorUsedUp"),
        (
            replace(LOADER, sampler="WeightedRandomSampler", shuffles=True, weights=4, alike=0),
            "WeightsOfOtherLength",
        ),
        (replace(LOADER, sampler="RandomSampler", shuffles=True), "SameOrderEveryEpoch"),
        (replace(LOADER, iterations=(5,) * 4, finished=0, coverage=PART), "RowsNeverUsed"),
        (replace(LOADER, sampler="RandomSampler", other_rows=40), "SamplerOfOtherRows"),
        (replace(LOADER, streams=True, workers=2, copies=COPIES), "RowsOncePerWorker"),
        (replace(LOADER, coverage=replace(ALL, alike=300, stored_apart=300)), "OneRowForMany"),
        (replace(LOADER, shuffles=True, iterations=(10,), replayed=8), "SameOrderEveryEpoch"),
        (replace(LOADER, workers=2, generator="rng"), "WorkersDrawAlike"),
    ],
)
def test_each_way_to_break_it(use: LoaderUse, broken: str) -> None:
    assert broken_in(measure(use)) == [broken]


@pytest.mark.parametrize(
    "use",
    [
        replace(LOADER, labels=SORTED, own_sampler=True),
        replace(LOADER, labels=replace(SORTED, changes=40)),
        replace(LOADER, labels=replace(SORTED, single=2)),
        replace(LOADER, labels=replace(SORTED, classes=1, runs=(0,), changes=0)),
        replace(LOADER, sampler="RandomSampler", shuffles=True, alike=1),
        replace(LOADER, coverage=ALL),
        replace(LOADER, coverage=replace(PART, fresh=(160, 0, 20))),
        replace(LOADER, coverage=replace(PART, fresh=(160, 0))),
        replace(LOADER, coverage=replace(ALL, alike=300)),
        replace(LOADER, other_rows=320),
        replace(LOADER, streams=True, workers=2, copies=replace(COPIES, equal_groups=4, each=0)),
        replace(LOADER, iterations=(10,), replayed=8),
    ],
)
def test_look_alikes(use: LoaderUse) -> None:
    assert broken_in(measure(use)) == []


def test_few_batches_on_purpose() -> None:
    use = replace(LOADER, iterations=(1,) * 32, repeated=39, alike=31, finished=0)
    assert broken_in(measure(use), text="# overfit one batch\n") == []


def test_without_a_loader_one_pass_through_classes_can_be_meant() -> None:
    assert broken_in(measure(labels=SORTED)) == []
    again = replace(SORTED, runs=(0, 1, 2, 3) * 3, changes=11, batches=48, single=48)
    assert broken_in(measure(labels=again)) == ["SortedByClass"]
    assert broken_in(measure(labels=replace(again, batches=12, single=12))) == []


@pytest.mark.parametrize(
    ("site", "broken"),
    [
        (SEED, ["SeededEveryStep"]),
        (replace(SEED, same=False), []),
        (replace(SEED, steps=4, calls=4, drawn=3, trained=4), []),
        (replace(SEED, drawn=0), []),
    ],
)
def test_seeds(site: SeedSite, broken: list[str]) -> None:
    assert broken_in(measure(seeds=(site,))) == broken


def test_ranks() -> None:
    ranks = [
        RowUse(
            process=Process(pid=rank, role="rank", rank=rank, world=2),
            steps=10,
            loaders=(replace(LOADER, sampler="RandomSampler", alike=0),),
            seeds=(),
            data_parallel=True,
        )
        for rank in range(2)
    ]
    assert broken_in(*ranks) == ["RanksShareRows"]
    other = replace(LOADER, sampler="RandomSampler", alike=0, batches=tuple(range(20, 30)))
    assert broken_in(ranks[0], replace(ranks[1], loaders=(other,))) == []
    assert broken_in(*(replace(rank, data_parallel=False) for rank in ranks)) == []


def test_the_same_seed_in_workers() -> None:
    workers = [
        RowUse(
            process=Process(pid=number, role="worker", worker=number),
            steps=0,
            loaders=(),
            seeds=(replace(SEED, value=value, in_worker=True),),
        )
        for number, value in enumerate(("5", "5"))
    ]
    assert broken_in(*workers) == ["WorkersDrawAlike"]
    differing = replace(workers[1], seeds=(replace(SEED, value="6", in_worker=True),))
    assert broken_in(workers[0], differing) == []
    imported = [replace(worker, seeds=(replace(SEED, value="5"),)) for worker in workers]
    assert broken_in(*imported) == []


def confused(*pairs: tuple[int, int, int], hits: int = 95) -> Case:
    every = tuple(Confused(label=a, prediction=b, rows=n) for a, b, n in pairs)
    known = LabelIds(
        process=Process(), step=40, training_rows=100, training_hits=hits, place=HERE, pairs=every
    )
    return Case(Recording([Script("train.py", "", main=True), known]))


def test_labels_that_are_renamed() -> None:
    shifted = (0, 1, 30), (1, 2, 30), (2, 3, 28), (2, 0, 2)
    (broken,) = label_ids.violations_of(confused(*shifted))
    assert (broken.hits, broken.mapped, broken.rows) == (0, 88, 90)
    assert list(label_ids.violations_of(confused(*shifted, hits=40))) == []
    assert list(label_ids.violations_of(confused((0, 0, 30), (1, 1, 30), (2, 1, 30)))) == []
    assert list(label_ids.violations_of(confused((0, 2, 30), (1, 2, 30), (2, 2, 1)))) == []


@pytest.mark.parametrize(
    ("weights", "broken"),
    [
        ((0.9, 0.07, 0.03), True),
        ((1.0, 0.5, 0.5), True),
        ((1.1, 14.0, 33.0), False),
        ((1.0, 1.0, 1.0), False),
        ((1.0, 0.2, 0.6), False),
    ],
)
def test_weights_that_grow_with_the_rows_of_a_class(
    weights: tuple[float, ...], broken: bool
) -> None:
    known = tuple(
        ClassWeight(label=label, rows=rows, weight=weight)
        for label, (rows, weight) in enumerate(zip((290, 20, 10), weights, strict=True))
    )
    use = replace(
        LOADER, weights=320, class_weights=known, sampler="WeightedRandomSampler", shuffles=True
    )
    assert broken_in(measure(replace(use, alike=0))) == ["FrequentClassesFavoured"] * broken
