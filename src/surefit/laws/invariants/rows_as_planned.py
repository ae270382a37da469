"""Rows come in an order that training needs, all of them, and with new random numbers each time."""

import re
from collections import defaultdict
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.row_use import LabelOrder, LoaderUse, RowUse, SeedSite
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import has_folds
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.rows.row_faults import (
    FrequentClassesFavoured,
    IteratorUsedUp,
    OneRowForMany,
    RanksShareRows,
    RowsNeverUsed,
    RowsOncePerWorker,
    SameBatchEveryStep,
    SameOrderEveryEpoch,
    SamplerOfOtherRows,
    SeededEveryStep,
    SortedByClass,
    WeightsOfOtherLength,
    WorkersDrawAlike,
)

LAW = Law("rows_as_planned", "every row is used as planned")

FEWEST_STEPS = 4
FEWEST_BATCHES = 4
FEWEST_REPEATED = 8
FEWEST_EPOCHS = 3
MOST_SINGLE = 0.8
"""Share of batches with one class only."""
RUNS = 1.5
"""Runs of equal labels for each class: data that are sorted have one."""
LONG_RUN = 3
"""Batches of one class in a row, where no loader tells that they are rows of one dataset."""
EVERY = 0.8
"""Share of steps."""
SAME_GROUPS = 3
"""Times that all workers gave the same batch."""
FEWEST_ROWS = 16
MOST_ALIKE = 0.3
"""Share of rows that are stored as others and come as the same."""
LEFT_OUT = 0.2
"""Share of rows."""
IMBALANCE = 1.5
"""Rows of the most frequent class for each of the rarest."""
MOST_CLASSES = 6
"""That are shown."""

ON_PURPOSE = re.compile(
    r"over-?fit|sanity|smoke|debug|one[ _-]batch|single[ _-]batch|few[ _-]?shot|fast_dev_run"
    r"|limit_\w*batches|max_(train_)?(batches|steps|samples)|profil|benchmark|curriculum",
    re.IGNORECASE,
)


def watched(recording: Recording) -> MeasuredOn:
    loaders = [use for measure in recording.all(RowUse) for use in measure.loaders]
    seeds = [site for measure in recording.all(RowUse) for site in measure.seeds]
    if loaders:
        batches = counted(sum(use.trained for use in loaders), "batch")
        return MeasuredOn(on=f"{batches} of {counted(len(loaders), 'loader')}")
    if seeds or any(measure.labels for measure in recording.all(RowUse)):
        return MeasuredOn(on="labels and seeds; no loader was seen")
    return MeasuredOn(why_not="no rows of a loader were trained on")


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    recording = case.recording
    for measure in recording.all(RowUse):
        if measure.process.role != "worker" and measure.process.rank in (None, 0):
            yield from of_seeds(measure)
            yield from of_labels(measure, measure.labels)
            for use in measure.loaders:
                yield from of_loader(use, measure, recording)
    yield from of_ranks(recording)
    yield from of_workers(recording)


def of_loader(use: LoaderUse, measure: RowUse, recording: Recording) -> Iterator[BrokenLaw]:
    if not use.own_sampler and use.sampler == "SequentialSampler" and not use.streams:
        yield from of_labels(measure, use.labels, use)
    for found in (
        same_batch(use, recording),
        used_up(use),
        other_weights(use),
        other_rows(use),
        frequent_favoured(use),
        once_per_worker(use),
        one_for_many(use),
        same_order(use, measure, recording),
        kept_and_given_again(use, recording),
        never_used(use, recording),
    ):
        if found is not None:
            yield found
            return


def at(place: Place | None) -> Expression:
    return Expression(place or Place("the script"))


def of_labels(
    measure: RowUse, order: LabelOrder | None, use: LoaderUse | None = None
) -> Iterator[SortedByClass]:
    """Without a loader, the order must have come again: in a single pass it can be a curriculum."""
    if order is None or order.classes < 2 or order.batches < max(FEWEST_BATCHES, order.classes):
        return
    passes = len(order.runs) / order.classes
    if order.single < MOST_SINGLE * order.batches:
        return
    if use is not None and order.changes + 1 > RUNS * order.classes:
        return
    long = order.batches >= LONG_RUN * (order.changes + 1)
    if use is None and (passes < 2 or not repeats(order) or not long):
        return
    steps = use.iterations[0] if use is not None and use.iterations else measure.steps
    yield SortedByClass(
        use=at(use.place if use is not None else order.place),
        said=f"{order.single:,} of {counted(order.batches, 'batch')} hold rows of one class only:"
        f" the training rows come sorted by their {counted(order.classes, 'class')}.",
        facts=(
            Fact("labels", f"{counted(order.changes, 'change')} in {counted(order.rows, 'row')}"),
            Fact("order of classes", ", ".join(map(str, order.runs[:12]))),
        ),
        steps=min(steps, measure.steps) + 1,
        fault=f"{LAW.name}: order",
        order=order,
        loader=use,
    )


def repeats(order: LabelOrder) -> bool:
    """The runs repeat all classes in one order."""
    first = order.runs[: order.classes]
    whole = [first[number % order.classes] for number in range(len(order.runs))]
    return len(set(first)) == order.classes and list(order.runs) == whole


def of_seeds(measure: RowUse) -> Iterator[SeededEveryStep]:
    for site in measure.seeds:
        steps = measure.steps - site.first_step
        if steps < FEWEST_STEPS or not site.same or site.steps < EVERY * steps:
            continue
        if site.trained < EVERY * steps or site.drawn < EVERY * min(site.calls - 1, 63):
            continue
        yield SeededEveryStep(
            use=at(site.place),
            said=f"`{site.function}({site.value})` is called at {site.steps:,} of"
            f" {counted(steps, 'step')}: every step draws the same random numbers.",
            facts=(
                Fact("called", f"{counted(site.calls, 'time')}, with {site.value} each time"),
                Fact("random numbers", "drawn after it in every step looked at"),
            ),
            steps=site.first_step + FEWEST_STEPS,
            fault=f"{LAW.name}: seed",
            site=site,
        )


def of_ranks(recording: Recording) -> Iterator[RanksShareRows]:
    ranks = {
        measure.process.rank: measure
        for measure in recording.all(RowUse)
        if measure.process.rank is not None and measure.data_parallel and measure.loaders
    }
    first = ranks.get(0)
    if first is None or len(ranks) < 2:
        return
    others = [measure for rank, measure in ranks.items() if rank != 0]
    for number, use in enumerate(first.loaders):
        alike = [
            measure.loaders[number].batches
            for measure in others
            if number < len(measure.loaders) and measure.loaders[number].place == use.place
        ]
        common = min([len(use.batches), *map(len, alike)])
        if common < FEWEST_BATCHES or len(set(use.batches[:common])) < FEWEST_BATCHES or not alike:
            continue
        if all(batches[:common] == use.batches[:common] for batches in alike):
            yield RanksShareRows(
                use=at(use.place),
                said=f"All {len(ranks)} processes train on the same rows: the first"
                f" {counted(common, 'batch')} of every rank are identical.",
                facts=(
                    Fact("sampler", use.sampler),
                    Fact("batches compared", f"{common} of each of {len(ranks)} ranks"),
                ),
                steps=FEWEST_BATCHES + 1,
                fault=f"{LAW.name}: ranks",
                loader=use,
                ranks=len(ranks),
            )


def of_workers(recording: Recording) -> Iterator[WorkersDrawAlike]:
    """The same seed in several workers, or a generator that each of them gets a copy of."""
    seeded: dict[tuple[str, Place, str], set[int]] = defaultdict(set)
    sites: dict[tuple[str, Place, str], SeedSite] = {}
    for measure in recording.all(RowUse):
        if measure.process.role == "worker" and measure.process.worker is not None:
            for site in (site for site in measure.seeds if site.in_worker):
                key = site.function, site.place, site.value
                seeded[key].add(measure.process.worker)
                sites[key] = site
        for use in measure.loaders:
            if use.generator and use.workers and len(use.iterations) + use.workers > 2:
                yield copied_generator(use)
    for key, workers in seeded.items():
        if len(workers) > 1:
            function, place, value = key
            yield WorkersDrawAlike(
                use=at(place),
                said=f"`{function}({value})` is called in each of {len(workers)} workers: all of"
                " them draw the same random numbers.",
                facts=(Fact("seed", f"{value} in {len(workers)} workers"),),
                steps=2,
                fault=f"{LAW.name}: workers",
                site=sites[key],
            )


def copied_generator(use: LoaderUse) -> WorkersDrawAlike:
    return WorkersDrawAlike(
        use=at(use.place),
        said=f"The dataset draws from `self.{use.generator}`, and each of"
        f" {counted(use.workers, 'worker')} gets a copy of it, in every epoch again: the same"
        " random numbers come in all workers and all epochs.",
        facts=(Fact("workers", str(use.workers)), Fact("generator", f"`self.{use.generator}`")),
        steps=2,
        fault=f"{LAW.name}: workers",
        loader=use,
    )


def same_batch(use: LoaderUse, recording: Recording) -> SameBatchEveryStep | None:
    single = [count for count in use.iterations if count == 1]
    if use.repeated < FEWEST_REPEATED or use.repeated < EVERY * (use.trained - 1):
        return None
    if use.rows is None or use.batch_size is None or use.rows < 2 * use.batch_size or not single:
        return None
    if is_on_purpose(recording):
        return None
    return SameBatchEveryStep(
        use=at(use.taken_at or use.place),
        said=f"{counted(use.repeated + 1, 'step')} train on the same"
        f" {counted(use.batch_size, 'row')} of {use.rows:,}: each takes the first batch of a new"
        " iterator.",
        facts=(Fact("rows of the dataset", f"{use.rows:,}"), Fact("shuffled", "no")),
        steps=FEWEST_REPEATED + 2,
        fault=f"{LAW.name}: coverage",
        loader=use,
    )


def used_up(use: LoaderUse) -> IteratorUsedUp | None:
    if not use.asked_after_the_end or len(use.iterations) > 1:
        return None
    later = counted(use.asked_after_the_end, "later epoch")
    return IteratorUsedUp(
        use=at(use.taken_at or use.place),
        said="The iterator over the training rows was used up after"
        f" {counted(use.trained, 'batch')}: {later} had no batch at all.",
        facts=(Fact("trained on", counted(use.trained, "batch")), Fact("empty", later)),
        steps=use.trained + 1,
        fault=f"{LAW.name}: coverage",
        loader=use,
    )


def other_weights(use: LoaderUse) -> WeightsOfOtherLength | None:
    if use.weights is None or use.rows is None or use.weights == use.rows or use.streams:
        return None
    return WeightsOfOtherLength(
        use=at(use.place),
        said=f"The sampler has {counted(use.weights, 'weight')} for {counted(use.rows, 'row')}:"
        f" rows from number {use.weights:,} on are never drawn.",
        facts=(Fact("weights", f"{use.weights:,}"), Fact("rows", f"{use.rows:,}")),
        steps=2,
        fault=f"{LAW.name}: coverage",
        loader=use,
    )


def frequent_favoured(use: LoaderUse) -> FrequentClassesFavoured | None:
    """Of any two classes, rows of the one with more rows have the greater weight."""
    known = sorted(use.class_weights, key=lambda part: (part.rows, part.weight))
    weights = [part.weight for part in known]
    if len(known) < 2 or known[-1].rows < IMBALANCE * known[0].rows or weights != sorted(weights):
        return None
    drawn = sum(part.rows * part.weight for part in known)
    every, frequent, rare = sum(part.rows for part in known), known[-1], known[0]
    if drawn <= 0 or frequent.weight <= rare.weight:
        return None
    return FrequentClassesFavoured(
        use=at(use.place),
        said=f"The sampler draws the frequent class {frequent.label} more often than its share of"
        f" the rows, {frequent.rows * frequent.weight / drawn:.1%} instead of"
        f" {frequent.rows / every:.1%}, and the rare class {rare.label} less often,"
        f" {rare.rows * rare.weight / drawn:.2%} instead of {rare.rows / every:.2%}.",
        facts=tuple(
            Fact(
                f"class {part.label}",
                f"{counted(part.rows, 'row')}, weight {part.weight:.4g}: drawn"
                f" {part.rows * part.weight / drawn:.2%}",
            )
            for part in known[::-1][:MOST_CLASSES]
        ),
        steps=2,
        fault=f"{LAW.name}: weights",
        loader=use,
        frequent=frequent,
        rare=rare,
    )


def same_order(use: LoaderUse, measure: RowUse, recording: Recording) -> SameOrderEveryEpoch | None:
    """In cross validation each fold sets the seed again."""
    epochs = len(use.iterations)
    if not use.shuffles or epochs < FEWEST_EPOCHS or use.alike < epochs - 1:
        return None
    if max(use.iterations, default=0) < 2 or has_folds(recording) or is_on_purpose(recording):
        return None
    site = next(
        (site for site in measure.seeds if site.same and epochs - 1 <= site.calls <= epochs + 1),
        None,
    )
    return SameOrderEveryEpoch(
        use=at(site.place if site is not None else use.place),
        said=f"The loader shuffles, and all {epochs} epochs begin with the same rows in the same"
        " order.",
        facts=(Fact("sampler", use.sampler), Fact("epochs", str(epochs))),
        steps=sum(use.iterations[: FEWEST_EPOCHS - 1]) + 1,
        fault=f"{LAW.name}: order of epochs",
        loader=use,
        site=site,
    )


def never_used(use: LoaderUse, recording: Recording) -> RowsNeverUsed | None:
    """By the numbers that a sampler of torch's drew."""
    coverage = use.coverage
    if coverage is None or len(coverage.fresh) < FEWEST_EPOCHS or coverage.fresh[-1]:
        return None
    brought = [at for at, fresh in enumerate(coverage.fresh) if fresh]
    idle = len(coverage.fresh) - 1 - max(brought, default=0)
    if idle < FEWEST_EPOCHS - 1 or coverage.used >= (1 - LEFT_OUT) * coverage.planned:
        return None
    if is_on_purpose(recording) or has_folds(recording):
        return None
    first = "first " if use.sampler == "SequentialSampler" and not use.own_sampler else ""
    return RowsNeverUsed(
        use=at(use.place if use.finished else use.taken_at),
        said=f"Each of {len(coverage.fresh)} epochs takes the same {first}{coverage.used:,} of"
        f" {coverage.planned:,} rows; the others are never trained on.",
        facts=(
            Fact("batches in an epoch", str(use.iterations[0] if use.iterations else 0)),
            Fact("new rows in the last epoch", "0"),
            Fact("shuffled", "yes" if use.shuffles else "no"),
        ),
        steps=sum(use.iterations[:FEWEST_EPOCHS]) + 1,
        fault=f"{LAW.name}: coverage",
        lasting=False,  # a curriculum can come to them later
        loader=use,
        used=coverage.used,
    )


def other_rows(use: LoaderUse) -> SamplerOfOtherRows | None:
    if use.other_rows is None or use.rows is None or use.other_rows >= use.rows:
        return None
    return SamplerOfOtherRows(
        use=at(use.place),
        said=f"The sampler draws from another dataset, of {counted(use.other_rows, 'row')}: rows"
        f" from number {use.other_rows:,} on of {use.rows:,} are never drawn.",
        facts=(
            Fact("rows of the loader", f"{use.rows:,}"),
            Fact("rows of the sampler", f"{use.other_rows:,}"),
        ),
        steps=2,
        fault=f"{LAW.name}: coverage",
        loader=use,
    )


def once_per_worker(use: LoaderUse) -> RowsOncePerWorker | None:
    """All workers give the same batches, or each row of a whole pass comes once from each."""
    copies = use.copies
    if copies is None or copies.distinct < FEWEST_ROWS:
        return None
    batches = SAME_GROUPS <= copies.groups == copies.equal_groups
    if not batches and copies.each != use.workers:
        return None
    return RowsOncePerWorker(
        use=at(use.read_at or use.place),
        said=f"Each of {use.workers} workers reads the whole stream: every row comes"
        f" {use.workers} times in an epoch.",
        facts=(
            Fact("different rows", f"{copies.distinct:,}"),
            Fact("same batch from all workers", f"{copies.equal_groups} of {copies.groups} times"),
        ),
        steps=SAME_GROUPS * use.workers + 1,
        fault=f"{LAW.name}: workers",
        loader=use,
    )


def one_for_many(use: LoaderUse) -> OneRowForMany | None:
    coverage = use.coverage
    if coverage is None or coverage.looked < FEWEST_ROWS:
        return None
    if coverage.stored_apart < MOST_ALIKE * coverage.looked:
        return None
    return OneRowForMany(
        use=at(use.read_at or use.place),
        said=f"{coverage.stored_apart:,} of {counted(coverage.looked, 'row')} come as the copy of"
        " another one: the dataset stores other values under their number.",
        facts=(
            Fact("rows looked at", f"{coverage.looked:,}"),
            Fact("different ones", f"{coverage.looked - coverage.alike:,}"),
        ),
        steps=max(1, use.iterations[0] if use.iterations else 1),
        fault=f"{LAW.name}: content",
        loader=use,
    )


def kept_and_given_again(use: LoaderUse, recording: Recording) -> SameOrderEveryEpoch | None:
    """After the first pass the loader is not asked again, and its batches come in their order."""
    if not use.shuffles or use.replayed < FEWEST_BATCHES:
        return None
    if len(use.iterations) != 1 or is_on_purpose(recording):
        return None
    return SameOrderEveryEpoch(
        use=at(use.taken_at or use.place),
        said="The loader shuffles once: after its end the same batches come again in the same"
        " order, and it is not asked for others.",
        facts=(
            Fact("batches of the first pass", f"{use.iterations[0]:,}"),
            Fact("given again, in order", f"the first {counted(use.replayed, 'batch')}"),
        ),
        steps=use.iterations[0] + use.replayed + 1,
        fault=f"{LAW.name}: order of epochs",
        loader=use,
        replayed=True,
    )


def is_on_purpose(recording: Recording) -> bool:
    """By its words, comments among them."""
    return any(ON_PURPOSE.search(script.text) for script in recording.all(Script))
