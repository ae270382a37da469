"""A folder of feature arrays as a training loader and a test loader, in a memory budget."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from surefit.data.free_memory import free_memory
from surefit.errors import WrongCall
from surefit.launch_notes import number
from surefit.settings import Bound, at_least, between, check, out_of_range

from .decode import decoded_together
from .folder import SAMPLE_BYTES, Shards, check_sample, read_shards
from .given import Given, given_of
from .held_out import Split, split_rows
from .layout import Kind, Layout
from .layout_file import declare
from .loader import FeatureLoader, Origin
from .order import Order, Share, Shuffle
from .plan import CACHED, Plan, Sizes, make_plan
from .reading import Rows
from .shards import Form

MOST_SAMPLED = 16_384
"""Rows of all shards together whose values are looked at before training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSettings:
    """What `loaders` takes besides the folder and its layout."""

    batch_size: int = 256
    """Rows of a step over all processes: of `world` processes each is given its share."""

    max_memory_gb: float = 12.0
    """What both loaders add to private and shared memory at most, in GB of 10^9 bytes."""

    held_out: float = 0.1
    """The share of rows that are given by the test loader and never trained on."""

    seed: int = 0
    workers: int = 1
    """Threads that read ahead; 0 reads when a batch is asked for."""

    rank: int | None = None
    """This process among those of a launch; None: as the launcher says."""

    world: int | None = None
    ids: bool | None = False
    """Give one-hot rows as `input_ids`; None: if that is what the rows are."""

    shuffle: Literal["global", "blocks"] | None = None
    """`global` or `blocks`; None: global where the data stay in free memory."""

    pin_memory: bool = False
    """Page-locked batches, for copies to a GPU that need not be waited for."""

    def __post_init__(self) -> None:
        check(
            self,
            batch_size=at_least(1),
            max_memory_gb=at_least(0.0, itself=False),
            held_out=between(0.0, 0.5),
            workers=at_least(0),
            rank=at_least(0),
            world=at_least(1),
        )
        share = self.share
        below = Bound(lambda rank: rank < share.world, f"below `world`, which is {share.world},")
        refused = tuple(out_of_range("rank", share.rank, below))
        if refused:
            raise WrongCall(*refused)

    @property
    def share(self) -> Share:
        rank = self.rank if self.rank is not None else number("RANK")
        world = self.world if self.world is not None else number("WORLD_SIZE")
        return Share(rank or 0, world or 1)


@dataclass(frozen=True, slots=True)
class FeatureData:
    """What both loaders read; its text says what was decided."""

    shards: Shards
    kind: Kind
    """As declared or, where nothing is declared, as the rows that were looked at are."""

    split: Split
    train: FeatureLoader
    test: FeatureLoader

    @property
    def layout(self) -> Layout:
        return self.shards.layout

    @property
    def plan(self) -> Plan:
        return self.train.plan

    def close(self) -> None:
        """Ends what is running; batches that were given stay valid."""
        self.train.close()
        self.test.close()

    def __str__(self) -> str:
        files = f"{len(self.shards.shards):,} files" if len(self.shards.shards) > 1 else "1 file"
        rows = f"{self.split.trained:,} rows to train on, {self.split.held_out:,} held out"
        shape = replace(self.layout, kind=None)
        return f"data: {shape}, {self.kind} rows in {files}; {rows}\n{self.plan}"


def loaders(
    data_path: str | Path,
    batch_size: int = 256,
    max_memory_gb: float = 12.0,
    *,
    steps: int | None = None,
    features: int | None = None,
    dtype: str | None = None,
    kind: str | None = None,
    held_out: float = 0.1,
    seed: int = 0,
    workers: int = 1,
    rank: int | None = None,
    world: int | None = None,
    ids: bool | None = False,
    shuffle: Literal["global", "blocks"] | None = None,
    pin_memory: bool = False,
) -> tuple[FeatureLoader, FeatureLoader, FeatureData]:
    """Returns the training loader, the test loader, and a description of the data.

    Every header is first compared with the layout, and a sample of rows with the kind of features.
    Both loaders together stay within `max_memory_gb`.
    """
    settings = LoaderSettings(
        batch_size=batch_size,
        max_memory_gb=max_memory_gb,
        held_out=held_out,
        seed=seed,
        workers=workers,
        rank=rank,
        world=world,
        ids=ids,
        shuffle=shuffle,
        pin_memory=pin_memory,
    )
    folder = Path(data_path)
    shards = read_shards(folder, declare(folder, steps, features, dtype, kind))
    found = _kind(shards)
    split = split_rows(shards.rows, held_out, seed, str(data_path))
    as_ids = found is Kind.ONE_HOT if ids is None else ids
    given = given_of(shards.shards[0], found, as_ids)
    plan = _plan(shards, split, given, settings)
    return _made(shards, found, split, given, plan, settings)


def rows_in_order(
    folder: Path,
    batch_size: int,
    *,
    max_memory_gb: float = 12.0,
    steps: int | None = None,
    features: int | None = None,
    dtype: str | None = None,
    kind: str | None = None,
) -> tuple[FeatureLoader, Shards, Kind]:
    """All rows of a folder, once, in the order of its files."""
    settings = LoaderSettings(batch_size=batch_size, max_memory_gb=max_memory_gb, ids=None)
    shards = read_shards(folder, declare(folder, steps, features, dtype, kind))
    found = _kind(shards)
    split = split_rows(shards.rows, 0.0, 0, str(folder))
    given = given_of(shards.shards[0], found, found is Kind.ONE_HOT)
    plan = _plan(shards, split, given, settings)
    in_order = Order(shards.rows, plan.sizes.batch_size, 0, Shuffle.NONE)
    plan = replace(plan, shuffle=Shuffle.NONE, block=1, window=1, why="rows to score")
    origin = _origin(shards, split, given, plan, settings)
    return FeatureLoader(origin, plan, in_order), shards, found


def _made(
    shards: Shards, kind: Kind, split: Split, given: Given, plan: Plan, settings: LoaderSettings
) -> tuple[FeatureLoader, FeatureLoader, FeatureData]:
    origin = _origin(shards, split, given, plan, settings)
    batch = plan.sizes.batch_size
    order = Order(split.trained, batch, settings.seed, plan.shuffle, plan.block, plan.window)
    train = FeatureLoader(origin, plan, order)
    in_order = Order(split.held_out, batch, settings.seed, Shuffle.NONE)
    test = FeatureLoader(
        replace(origin, chosen=split.held_out_rows),
        replace(plan, shuffle=Shuffle.NONE, block=1, window=1, why="held-out rows"),
        in_order,
    )
    return train, test, FeatureData(shards, kind, split, train, test)


def _origin(
    shards: Shards, split: Split, given: Given, plan: Plan, settings: LoaderSettings
) -> Origin:
    """Training rows, in batches as `given` has them."""
    return Origin(
        Rows(shards.shards, cold=plan.sizes.data > CACHED * free_memory()),
        split.train_rows,
        given,
        settings.share,
        settings.workers,
        settings.pin_memory,
    )


def _plan(shards: Shards, split: Split, given: Given, settings: LoaderSettings) -> Plan:
    first = shards.shards[0]
    groups = [
        end - begin
        for shard in shards.shards
        if shard.form is Form.DECODED
        for begin, end in decoded_together(shard)
    ]
    sizes = Sizes(
        rows=split.trained,
        batch_size=min(settings.batch_size, split.trained),
        stored_row=first.stored_row_bytes,
        given_row=0 if given.as_stored else given.row_bytes,
        decoded=max(groups, default=0) * first.row_bytes,
        decoded_rows=max(groups, default=0),
    )
    room = free_memory() if settings.share.world == 1 else None
    asked = Shuffle(settings.shuffle) if settings.shuffle else None
    return make_plan(sizes, int(settings.max_memory_gb * 1e9), room, asked)


def _kind(shards: Shards) -> Kind:
    """As declared, or the kind that all rows of a sample are; few rows are all looked at."""
    most = max(4, min(256, MOST_SAMPLED // len(shards.shards)))
    if shards.rows * shards.layout.row_bytes <= SAMPLE_BYTES:
        most = shards.rows
    order = list(Kind)
    found = max((probe.kind for probe in check_sample(shards, most)), key=order.index)
    return shards.layout.kind or found
