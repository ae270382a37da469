"""Ways in which rows are not used as planned."""

from dataclasses import dataclass

from surefit.doctor.measures.row_use import ClassWeight, LabelOrder, LoaderUse, SeedSite
from surefit.laws.law import BrokenLaw


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
class RanksShareRows(BrokenLaw):
    """Processes that average their gradients train on the same rows."""

    loader: LoaderUse
    ranks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SameBatchEveryStep(BrokenLaw):
    """A new iterator at every step, which begins with the same batch."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class IteratorUsedUp(BrokenLaw):
    """A loop over an iterator that came to its end in the first epoch."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsOfOtherLength(BrokenLaw):
    """A sampler with fewer weights than the dataset has rows."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentClassesFavoured(BrokenLaw):
    """A sampler gives the more weight to a row, the more rows its class has."""

    loader: LoaderUse
    frequent: ClassWeight
    rare: ClassWeight


@dataclass(frozen=True, slots=True, kw_only=True)
class SameOrderEveryEpoch(BrokenLaw):
    """Rows are shuffled, in the same way in every epoch."""

    loader: LoaderUse
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
class RowsNeverUsed(BrokenLaw):
    """Later epochs bring no row that an earlier one did not, and rows are left."""

    loader: LoaderUse
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerOfOtherRows(BrokenLaw):
    """A sampler draws the numbers of another dataset, which has fewer rows."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOncePerWorker(BrokenLaw):
    """Each worker reads the whole stream: every row comes as often as there are workers."""

    loader: LoaderUse


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRowForMany(BrokenLaw):
    """A dataset gives the row that it stores under one number for other numbers, too."""

    loader: LoaderUse
