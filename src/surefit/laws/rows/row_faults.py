"""Ways in which rows are not used as planned."""

from dataclasses import dataclass

from surefit.doctor.measures.row_use import ClassWeight, LabelOrder, LoaderUse, SeedSite
from surefit.laws.law import BrokenLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class OfLoader(BrokenLaw):
    """What is wrong with the rows of one loader."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedByClass(BrokenLaw):
    """Batches of one class only, because rows come in the order of their classes."""

    order: LabelOrder
    loader: LoaderUse | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededEveryStep(BrokenLaw):
    """Every step draws the same random numbers."""

    site: SeedSite


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksShareRows(OfLoader):
    """Processes that average their gradients train on the same rows."""

    ranks: int


class SameBatchEveryStep(OfLoader):
    """A new iterator at every step, which begins with the same batch."""


class IteratorUsedUp(OfLoader):
    """A loop over an iterator that came to its end in the first epoch."""


class WeightsOfOtherLength(OfLoader):
    """A sampler with fewer weights than the dataset has rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentClassesFavoured(OfLoader):
    """A sampler gives the more weight to a row, the more rows its class has."""

    frequent: ClassWeight
    rare: ClassWeight


@dataclass(frozen=True, slots=True, kw_only=True)
class SameOrderEveryEpoch(OfLoader):
    """Rows are shuffled, in the same way in every epoch."""

    site: SeedSite | None = None
    """What seeds the random numbers at each epoch."""
    replayed: bool = False
    """Batches are kept and given again, and the loader is not asked for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersDrawAlike(BrokenLaw):
    """Random numbers repeat in the workers of a loader."""

    loader: LoaderUse | None = None
    site: SeedSite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsNeverUsed(OfLoader):
    """Later epochs bring no row that an earlier one did not, and rows are left."""

    used: int


class SamplerOfOtherRows(OfLoader):
    """A sampler draws the numbers of another dataset, which has fewer rows."""


class RowsOncePerWorker(OfLoader):
    """Each worker reads the whole stream: every row comes as often as there are workers."""


class OneRowForMany(OfLoader):
    """A dataset gives the row that it stores under one number for other numbers, too."""
