"""How rows are shuffled and read in a memory budget: decided before training, and said."""

from dataclasses import dataclass
from math import ceil

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .order import LEAST_READ, Shuffle

BUDGET_TOO_SMALL = refusal(
    "SF050",
    "memory-budget-too-small",
    "The loader holds a few batches at least: those that are read, and those that were given.",
)

LENT = 2
"""Batches that a user holds at most in the loader's own memory: one is trained on while the next
is asked for. Of more the user is given copies."""

AIM = 1.5
"""The design effect that a window is made large enough for, where the budget allows."""

BAD = 5.0
"""A design effect above which there is a warning."""

BLOCK_BYTES = 1 << 20
"""What is read at once at most: a disk gains nothing from more."""

TOGETHER_BYTES = 12_000_000
"""Rows of a global shuffle that are read together: less would be spent on planning them."""

SMALL_BYTES = 16_000_000
"""Data of which all rows are held at once, which makes any shuffle a global one."""

MOST_ROWS = 16_384
"""Of a block: what is known of each of its rows takes memory, too."""

LEAST_BLOCK_BYTES = 16 << 10
"""What is read at once at least, even if the shuffle suffers: a disk would do little but seek."""

CACHED = 0.7
"""Data that take up to this share of the free memory are expected to stay in the page cache."""

PLANNING_BYTES = 250
"""For each row of a part: its number, its place, its address and what is needed to find them."""

FIXED_BYTES = 12_000_000
"""Threads' stacks, open files, what Python and the allocator round up."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is to be loaded."""

    rows: int
    """To train on."""

    batch_size: int
    stored_row: int
    """Bytes of a row as it is read."""

    given_row: int
    """Bytes of a row that is made of it, or 0 if rows are given as they are read."""

    decoded: int = 0
    """Bytes that must be decoded together, at most; 0 where rows are read in place."""

    decoded_rows: int = 0

    @property
    def steps(self) -> int:
        return ceil(self.rows / self.batch_size)

    @property
    def batch(self) -> int:
        return self.batch_size * self.stored_row

    @property
    def given_batch(self) -> int:
        return self.batch_size * self.given_row

    @property
    def data(self) -> int:
        return self.rows * self.stored_row


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows are shuffled, and what memory that takes."""

    sizes: Sizes
    budget: int
    shuffle: Shuffle
    block: int
    window: int
    """Steps."""

    why: str
    """Why it is this shuffle."""

    @property
    def design_effect(self) -> float:
        """How much more the mean of a batch varies than with a global shuffle, where rows of a
        block are alike: 1 + K x batch bytes / window bytes."""
        if self.shuffle is not Shuffle.BLOCKS or self._windows == 1:
            return 1.0
        return 1 + self.block / self.window

    @property
    def bytes(self) -> int:
        """What the loaders hold at most, threads included."""
        return needed(self.sizes, self.window)

    @property
    def warning(self) -> str:
        if self.design_effect <= BAD:
            return ""
        rows = self.sizes.batch_size / self.design_effect
        return (
            f"warning: a batch mixes badly: where neighbours on disk are alike, its"
            f" {self.sizes.batch_size} rows say as much as {rows:.0f} would."
            f" Give more memory, or a smaller batch, or shuffle the files' rows once."
        )

    @property
    def _windows(self) -> int:
        return ceil(self.sizes.steps / self.window)

    def __str__(self) -> str:
        words = [f"shuffle: {self._how()}; {self.why}", self._quality(), self._memory()]
        if self.shuffle is Shuffle.NONE:
            words = words[::2]
        return "\n".join([*words, self.warning] if self.warning else words)

    def _how(self) -> str:
        if self.shuffle is Shuffle.NONE:
            return "none, rows in the order of the files"
        if self.shuffle is Shuffle.GLOBAL:
            return f"global, any row of {self.sizes.rows:,} in any batch"
        if self._windows == 1:
            return f"global, all {self.sizes.rows:,} rows are mixed at once"
        window = self.window * self.sizes.batch
        return (
            f"blocks of {self.block:,} rows ({size(self.block * self.sizes.stored_row)}), mixed in"
            f" windows of {self.window:,} batches ({size(window)})"
        )

    def _quality(self) -> str:
        effect = self.design_effect
        if effect == 1:
            return "design effect 1.00: batches are as good as chance makes them"
        batch, window = size(self.sizes.batch), size(self.window * self.sizes.batch)
        return (
            f"design effect {effect:.2f} = 1 + {self.block:,} x {batch} / {window}: the mean of a"
            f" batch varies {effect:.2f} times as much as with a global shuffle, at most"
        )

    def _memory(self) -> str:
        return f"memory: {size(self.bytes)} at most, of {size(self.budget)} allowed"


def make_plan(sizes: Sizes, budget: int, room: int | None, shuffle: Shuffle | None = None) -> Plan:
    """The best shuffle that the budget allows.

    `room` is memory that the page cache can have, None where it must not decide; `shuffle` is the
    user's own choice. Neither threads nor processes play a part, so that they change no order.
    """
    least = needed(sizes, 1)
    if budget < least:
        raise BadInput(too_small(sizes, budget, least))
    most = _largest_window(sizes, budget)
    chosen, why = (shuffle, "as you asked") if shuffle else _shuffle(sizes, room)
    if shuffle is None and most >= sizes.steps and sizes.data <= SMALL_BYTES:
        return Plan(sizes, budget, Shuffle.BLOCKS, _useful(sizes), sizes.steps, "they are few")
    if chosen is Shuffle.GLOBAL:
        together = min(TOGETHER_BYTES // sizes.batch, LEAST_READ // sizes.batch_size)
        return Plan(sizes, budget, chosen, 1, min(most, max(1, together)), why)
    block, window = _block(sizes, most)
    return Plan(sizes, budget, Shuffle.BLOCKS, block, window, why)


def needed(sizes: Sizes, window: int) -> int:
    """Bytes with windows of so many steps: one that is given out and one that is read."""
    return sum(count for _, count in _parts(sizes, window))


def too_small(sizes: Sizes, budget: int, least: int, window: int = 1) -> Finding:
    batch = f"{sizes.batch_size:,} rows x {sizes.stored_row:,} bytes = {size(sizes.batch)}"
    sums = " + ".join(f"{what} {size(count)}" for what, count in _parts(sizes, window) if count)
    fitting = _fitting_batch(sizes, budget)
    fixes = [Fix(f"Allow as much:  max_memory_gb={ceil(least / 1e7) / 100:.2f}")]
    if fitting:
        fixes.append(Fix(f"Take smaller batches:  batch_size={fitting}"))
    if sizes.decoded:
        fixes.append(Fix("Convert the rows to .npy files, which are read in place."))
    return BUDGET_TOO_SMALL.finding(
        Place("max_memory_gb"),
        f"`max_memory_gb={budget / 1e9:g}` is {size(budget)}; the least that works is"
        f" {size(least)}.",
        facts=(Fact("a batch", batch), Fact("the least", f"{sums} = {size(least)}")),
        fixes=fixes,
    )


def size(count: float) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _parts(sizes: Sizes, window: int) -> list[tuple[str, int]]:
    """What memory is for, and how much; for training and for held-out rows together."""
    held = 0 if sizes.given_row else LENT
    slots = 2 * window + held + 2 + held
    given = 2 * (LENT + 1) * sizes.given_batch
    rows = max(sizes.batch_size, LEAST_READ + _useful(sizes))
    return [
        (f"{slots} batches as they are read", slots * sizes.batch),
        (f"{2 * (LENT + 1)} batches as they are given", given),
        ("what is decoded together, three times", 3 * sizes.decoded),
        ("planning and threads", FIXED_BYTES + 2 * rows * PLANNING_BYTES),
    ]


def _shuffle(sizes: Sizes, room: int | None) -> tuple[Shuffle, str]:
    if sizes.decoded:
        return Shuffle.BLOCKS, "these files are decoded in parts, or whole"
    if room is None:
        return Shuffle.BLOCKS, "several processes must agree without asking each other"
    data, free = size(sizes.data), size(room)
    if sizes.data <= CACHED * room:
        return Shuffle.GLOBAL, f"{data} of data stay in memory that is free now ({free})"
    return Shuffle.BLOCKS, f"{data} of data do not stay in memory that is free now ({free})"


def _largest_window(sizes: Sizes, budget: int) -> int:
    """As many steps as the budget has room for; it grows evenly with the window."""
    return max(1, min(sizes.steps, 1 + (budget - needed(sizes, 1)) // (2 * sizes.batch)))


def _block(sizes: Sizes, most: int) -> tuple[int, int]:
    """Rows of a block, and steps of a window: the largest block that a disk gains from and that
    mixes well, then the smallest window that mixes it so."""
    useful = _useful(sizes)
    least = max(1, min(useful, ceil(LEAST_BLOCK_BYTES / sizes.stored_row)), sizes.decoded_rows)
    largest = _evened(sizes.steps, ceil(sizes.steps / most))
    block = max(least, min(useful, int((AIM - 1) * largest)))
    windows = sizes.steps // ceil(block / (AIM - 1))
    smallest = _evened(sizes.steps, windows) if windows else largest
    return block, min(smallest, largest)


def _evened(steps: int, windows: int) -> int:
    """Steps of a window where all windows have as many, or one less."""
    return ceil(steps / windows)


def _useful(sizes: Sizes) -> int:
    """Rows of the largest block that a disk, or a decoder, gains from."""
    return max(1, min(MOST_ROWS, BLOCK_BYTES // sizes.stored_row), sizes.decoded_rows)


def _fitting_batch(sizes: Sizes, budget: int) -> int:
    """The largest batch, a power of two, that the budget has room for; 0 if none."""
    batch = 1 << max(0, sizes.batch_size - 1).bit_length()
    while batch:
        smaller = Sizes(
            sizes.rows, batch, sizes.stored_row, sizes.given_row, sizes.decoded, sizes.decoded_rows
        )
        if batch < sizes.batch_size and needed(smaller, 1) <= budget:
            return batch
        batch //= 2
    return 0
