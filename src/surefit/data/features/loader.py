"""Batches of feature sequences, epoch after epoch; a pass can be gone on with at any step."""

import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .buffers import Buffers, Values
from .given import Given
from .order import Order, Share, Shuffle
from .passes import Pass, Source
from .permutation import Indices
from .plan import LENT, Plan, needed, size, too_small
from .reading import Rows
from .row_checks import not_finite_rows

STATE_OF_OTHER_DATA = refusal(
    "SF052",
    "state-of-other-data",
    "A position in the data is only valid for the same data and batch size.",
)
NO_MEMORY = refusal(
    "SF054", "memory-not-to-be-had", "The memory limit is larger than the memory of this machine."
)

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a loader reads, and for whom."""

    rows: Rows
    chosen: Callable[[Indices], Indices]
    """Numbers of this loader's rows -> of all rows."""

    given: Given
    share: Share
    threads: int
    pinned: bool = False


class FeatureLoader:
    """Gives dicts with `inputs_embeds` (or `input_ids`) and `attention_mask`.

    A batch is yours: its memory is used again only when neither it nor anything made of it is
    held. One pass at a time: a new one ends that before. `state_dict` is the epoch and how many of
    its steps were given; with it, a pass goes on at that step, in any number of processes.
    """

    def __init__(self, origin: Origin, plan: Plan, order: Order) -> None:
        self.plan = plan
        self._origin = origin
        self._order = order
        self._source = _source(origin, order)
        self._epoch = 0
        self._step = 0
        self._goes_on = False
        self._process = os.getpid()
        self._pass: weakref.ref[Pass] | None = None

    def __len__(self) -> int:
        """Steps of an epoch; the last has fewer rows if they do not come out even."""
        return self._order.steps

    def __iter__(self) -> Iterator[Batch]:
        self.close()
        if self._process != os.getpid():  # forked in the middle of a pass: its buffers are in use
            self._source, self._process = _source(self._origin, self._order), os.getpid()
        self._step = self._step if self._goes_on else 0
        self._goes_on = False
        running = Pass(self._source, self._epoch, self._step)
        self._pass = weakref.ref(running)
        return _Batches(self, running)

    def set_epoch(self, epoch: int) -> None:
        """Another epoch begins at its first step; the same goes on where it is."""
        if epoch != self._epoch:
            self.close()
            self._epoch, self._step, self._goes_on = epoch, 0, False

    def state_dict(self) -> dict[str, int | str]:
        """Where it is, and all that decides the order."""
        order = self._order
        return {
            "seed": order.seed,
            "epoch": self._epoch,
            "step": self._step,
            "rows": order.rows,
            "batch_size": order.batch_size,
            "shuffle": str(order.shuffle),
            "block": order.block,
            "window": order.window,
        }

    def load_state_dict(self, state: Mapping[str, int | str]) -> None:
        """Goes on from there with the next pass, in the order of that run."""
        order = Order(
            rows=int(state["rows"]),
            batch_size=int(state["batch_size"]),
            seed=int(state["seed"]),
            shuffle=Shuffle(str(state["shuffle"])),
            block=int(state["block"]),
            window=int(state["window"]),
        )
        self._refuse_other(order)
        self.close()
        if order != self._order:
            self.plan = _with_order(self.plan, order)
            self._order, self._source = order, _source(self._origin, order)
        epoch, step = int(state["epoch"]), int(state["step"])
        self._epoch, self._step = (epoch + 1, 0) if step >= order.steps else (epoch, step)
        self._goes_on = True

    def not_finite_in(self, batch: Batch, epoch: int, step: int) -> Iterator[Finding]:
        """The rows of a batch that hold NaN or an infinite number, by file and row."""
        if "inputs_embeds" not in batch:
            return
        values = batch["inputs_embeds"]
        finite = values.isfinite().flatten(1).all(1)
        found: dict[str, list[tuple[int, int]]] = {}
        for place in (~finite).nonzero().flatten().tolist():
            shard, row = self._source.origin_of(epoch, step, place)
            found.setdefault(shard.name, []).append((row, place))
        for name, rows in found.items():
            at = [place for _, place in sorted(rows)]
            places = [row for row, _ in sorted(rows)]
            yield not_finite_rows(name, places, values[at].numpy(), len(at))

    def close(self) -> None:
        """Ends the pass that is running, if there is one, and its threads."""
        running = self._pass and self._pass()
        if running:
            running.close()

    def _gave(self, running: Pass) -> None:
        if self._pass is not None and self._pass() is running:
            self._step = running.step

    def _ended(self, running: Pass) -> None:
        if self._pass is not None and self._pass() is running:
            self._epoch, self._step, self._pass = running.epoch + 1, 0, None

    def _batch(self, values: Values) -> Batch:
        given = torch.from_numpy(values)
        mask = torch.ones(values.shape[:2], dtype=torch.int64)
        name = "input_ids" if self._origin.given.ids else "inputs_embeds"
        return {name: given, "attention_mask": mask}

    def _refuse_other(self, order: Order) -> None:
        then = {"rows": order.rows, "batch size": order.batch_size}
        now = {"rows": self._order.rows, "batch size": self._order.batch_size}
        if then == now and (order.shuffle is Shuffle.NONE) == (self._order.shuffle is Shuffle.NONE):
            return
        raise BadInput(
            STATE_OF_OTHER_DATA.finding(
                Place("state"),
                "This state was saved by a loader of other rows or of other batches.",
                facts=(Fact("then", _shown(then, order)), Fact("now", _shown(now, self._order))),
                fixes=(Fix("Give the same folder, `held_out` and `batch_size` as then."),),
            )
        )


class _Batches:
    """A pass as dicts; its loader knows how far it has come."""

    def __init__(self, loader: FeatureLoader, running: Pass) -> None:
        self._loader, self._pass = loader, running

    def __iter__(self) -> "_Batches":
        return self

    def __next__(self) -> Batch:
        try:
            values = next(self._pass)
        except StopIteration:
            self._loader._ended(self._pass)
            raise
        self._loader._gave(self._pass)
        return self._loader._batch(values)


def _source(origin: Origin, order: Order) -> Source:
    """With buffers for as many steps as a pass has on its way, and for those that are lent."""
    rows, given = origin.share.of(order.batch_size), origin.given
    windows = 2 if origin.threads else 1
    steps = min(order.steps, order.window) * windows
    try:
        if given.as_stored:
            count = steps + LENT
            buffers = Buffers(count, rows, origin.rows.row_bytes, pinned=origin.pinned)
            made = None
        else:
            buffers = Buffers(steps, rows, origin.rows.row_bytes)
            made = Buffers(LENT + 1, rows, given.row_bytes, pinned=origin.pinned)
    except MemoryError as error:
        raise BadInput(_no_memory(order, origin)) from error
    return Source(
        origin.rows, origin.chosen, given, order, origin.share, buffers, made, origin.threads
    )


def _no_memory(order: Order, origin: Origin) -> Finding:
    batch = origin.share.of(order.batch_size) * origin.rows.row_bytes
    return NO_MEMORY.finding(
        Place("max_memory_gb"),
        f"The system has no memory for the {order.window:,} batches of a window.",
        facts=(Fact("a batch", size(batch)),),
        fixes=(Fix("Lower the limit, so that windows are smaller:  max_memory_gb=..."),),
    )


def _with_order(plan: Plan, order: Order) -> Plan:
    """The plan of another run's order, if this budget has room for it."""
    least = needed(plan.sizes, order.window)
    if least > plan.budget:
        raise BadInput(too_small(plan.sizes, plan.budget, least, order.window))
    why = "as in the run that is gone on with"
    return replace(plan, shuffle=order.shuffle, block=order.block, window=order.window, why=why)


def _shown(sizes: Mapping[str, int], order: Order) -> str:
    told = ", ".join(f"{name} {count:,}" for name, count in sizes.items())
    return f"{told}, {'held-out' if order.shuffle is Shuffle.NONE else 'training'} rows"
