"""The gradients of one optimizer: what each backward pass added, and what its steps used."""

import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.gradients import Lines, StepGradients
from surefit.observe.inside import origins
from surefit.observe.inside.training import optimizers, readable

WITNESSES = 4
"""Parameters of an optimizer that are sampled, from its first to its last."""
ELEMENTS = 256
SAME = 0.01
"""Share of a norm by which two gradients may differ and still be the same."""
PARALLEL = 0.98
"""Cosine from which on a gradient is a multiple of another, as after clipping by its norm."""
SHOWN = 8
"""Steps with older gradients whose figures are kept: the first ones, whatever there is time for."""
LARGEST = 1e15
"""A norm from which on sums of gradients lose what is added to them."""
SCALE_FREE = (
    *("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta", "Adafactor"),
    *("Rprop", "Muon", "SparseAdam", "Lion", "LAMB"),
)
"""Kinds, by the end of their names, that divide by the size of the gradients, or take the sign."""


@dataclass(slots=True, eq=False)
class Witness:
    """A parameter whose gradient is sampled."""

    alive: Callable[[], Any]
    name: str
    before: Any = None
    """A sample of its gradient before the pass that runs."""
    own: Any = None
    """What passes have added since the last step."""
    left: Any = None
    """After the last pass."""
    used: Any = None
    """At the last step."""
    since_step: int = 0
    since_cleared: int = 0

    def sample(self) -> Any:
        """Of its gradient; None where that is absent, zero, or cannot be read."""
        tensor = self.alive()
        gradient = tensor.grad if tensor is not None else None
        plain = readable.plain(gradient) if gradient is not None else None
        if plain is None or not plain.numel() or plain.layout is not readable.torch().strided:
            return None
        flat = plain.reshape(-1)
        step = max(1, flat.numel() // ELEMENTS)
        taken = flat[::step][:ELEMENTS].float().clone()
        return taken if bool(taken.any()) else None

    def look(self) -> Any:
        """A sample; notes whether the gradient was cleared since the last one."""
        taken = self.sample()
        if taken is None:
            self.since_cleared = 0
        return taken


class Ledger:
    """Of one optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self.alive = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        self.serial = origins.number(optimizer)
        self.made_at = origins.made_at(optimizer)
        self.witnesses: list[Witness] = []
        self.ready = False
        """A whole cycle, from step to step, is being followed."""
        self.closure = False
        self.known: optimizers.Optimizer | None = None
        """Once it has stepped."""
        self.counts: Counter[str] = Counter()
        self.groups: Counter[int] = Counter()
        self.lines: set[Place | None] = set()
        """Of the passes since the last step."""
        self.passes = 0
        """Since the last step."""
        self.roots: list[Any] = []
        """Weak references to the losses of these passes."""
        self.doubled = False
        self.changed = False
        """The program has written into gradients since the last step used them."""
        self.any_pass = False
        """A backward pass has run since the last step, whatever it reached."""
        self.batches = self.batches_then = 0
        """That loaders have given, now and at the last step."""
        self.passes_at: Counter[Place] = Counter()
        self.stepped_at: Counter[Place] = Counter()
        self.most_passes = 0
        self.norms = 0.0, 0.0
        self.carried_by: dict[str, None] = {}

    def begin_again(self) -> None:
        """Following begins: nothing is known of what lies in the gradients."""
        self.ready = False

    def choose(self, optimizer: Any) -> None:
        held = [tensor for tensor, _ in optimizers.tensors(optimizer)]
        known = optimizers.of(optimizer).parameters
        at = [i for i, tensor in enumerate(held) if tensor.requires_grad]
        count = min(WITNESSES, len(at))
        chosen = sorted({at[round(i * (len(at) - 1) / max(1, count - 1))] for i in range(count)})
        self.witnesses = [
            Witness(
                weakref.ref(held[i]),
                known[i].name if i < len(known) else f"params[{i}]",
            )
            for i in chosen
        ]

    def before_pass(self) -> None:
        for witness in self.witnesses if self.ready else ():
            witness.before = witness.look()
            first = not witness.since_step and witness.used is not None
            if first and witness.before is not None and not _same(witness.before, witness.used):
                self.changed = True

    def after_pass(self, place: Place | None, root: Any, divided: bool | None) -> None:
        reached, self.any_pass = False, True
        for witness in self.witnesses if self.ready else ():
            after, before, witness.before = witness.sample(), witness.before, None
            if after is None:
                continue
            if before is not None and before.shape != after.shape:
                before = None
            added = after if before is None else after - before
            if not bool(added.any()):
                continue
            reached = True
            witness.own = added if witness.own is None else witness.own + added
            witness.left = after
            witness.since_step += 1
            witness.since_cleared += 1
        if reached:
            self._count_pass(place, root, divided)

    def _count_pass(self, place: Place | None, root: Any, divided: bool | None) -> None:
        self.passes += 1
        self.lines.add(place)
        if place is not None:
            self.passes_at[place] += 1
        if divided is not None:
            self.counts["divided" if divided else "undivided"] += 1
        loss = root() if root is not None else None
        if loss is not None:
            self.doubled = self.doubled or any(known() is loss for known in self.roots)
            self.roots.append(root)

    def before_step(self, closure: bool, batches: int) -> None:
        self.closure, self.batches = closure, batches
        if not closure and self.ready:
            self.judge()

    def after_step(self, optimizer: Any, place: Place | None) -> None:
        if place is not None:
            self.stepped_at[place] += 1
        if not self.witnesses:
            self.choose(optimizer)
        if self.closure and self.ready:
            self.judge()
        for witness in self.witnesses:
            witness.used = witness.sample()
            witness.own = witness.left = witness.before = None
            witness.since_step = 0
            if not self.ready:
                witness.since_cleared = 1 if witness.used is not None else 0
        self.passes = 0
        self.doubled = self.any_pass = self.changed = False
        self.batches_then = self.batches
        self.lines.clear()
        self.roots.clear()
        self.ready = True

    def judge(self) -> None:
        """Notes what the gradient of this step holds; the worst of the samples counts."""
        kinds = {self._of(witness) for witness in self.witnesses}
        if "not finite" in kinds:
            return  # nothing can be told from sums of these
        self.counts["looked"] += 1
        for kind in ("carried", "emptied", "by_hand", "cut", "again", "own"):
            if kind in kinds:
                self.counts[kind] += 1
                break
        if self.doubled and "own" in kinds:
            self.counts["doubled"] += 1
        if self.passes and len(self.lines) == 1 and not self.closure:
            self.groups[self.passes] += 1
            self.counts["fed"] += self.batches - self.batches_then >= self.passes

    def _of(self, witness: Witness) -> str:
        now = witness.look()
        if any(known is not None and not _finite(known) for known in (now, witness.left)):
            return "not finite"
        if not witness.since_step:
            same = now is not None and witness.used is not None and _same(now, witness.used)
            return "again" if same and not self.closure and not self.any_pass else ""
        if now is None:
            return "emptied" if witness.left is not None else ""
        if not self.closure and witness.left is not None and not _parallel(now, witness.left):
            return "by_hand"
        if witness.since_cleared > witness.since_step:
            return "by_hand" if self.changed else self._carried(witness)
        one_line = len(self.lines) == 1 and not self.closure
        return "cut" if witness.since_cleared < witness.since_step and one_line else "own"

    def _carried(self, witness: Witness) -> str:
        if witness.own is None or witness.left is None or _same(witness.own, witness.left):
            return "own"
        self.carried_by[witness.name] = None
        if self.counts["carried"] >= SHOWN:
            return "carried"
        self.most_passes = max(self.most_passes, witness.since_cleared)
        own, used = float(witness.own.norm()), float(witness.left.norm())
        if used * self.norms[0] >= own * self.norms[1]:  # the step that stands out most
            self.norms = own, used
        return "carried"

    def as_seen(self, cleared_at: Lines) -> StepGradients:
        counts = self.counts
        return StepGradients(
            kind=self.kind,
            serial=self.serial,
            made_at=self.made_at,
            scale_free=self.kind.endswith(SCALE_FREE),
            steps=self.known.steps if self.known is not None else 0,
            looked=counts["looked"],
            own=counts["own"],
            carried=counts["carried"],
            most_passes=self.most_passes,
            norm_own=self.norms[0],
            norm_used=self.norms[1],
            carried_by=tuple(self.carried_by),
            sampled=tuple(witness.name for witness in self.witnesses),
            emptied=counts["emptied"],
            cut=counts["cut"],
            again=counts["again"],
            doubled=counts["doubled"],
            by_hand=counts["by_hand"],
            groups=tuple(self.groups.most_common(8)),
            fed=counts["fed"],
            undivided=counts["undivided"],
            divided=counts["divided"],
            passes_at=tuple(self.passes_at.most_common(4)),
            stepped_at=tuple(self.stepped_at.most_common(4)),
            cleared_at=cleared_at,
        )


def ledger_of(optimizer: Any) -> Ledger:
    return Ledger(optimizer)


def _finite(sample: Any) -> bool:
    return float(sample.norm()) < LARGEST


def _same(first: Any, other: Any) -> bool:
    if first.shape != other.shape:
        return False
    return float((first - other).norm()) <= SAME * float(other.norm())


def _parallel(now: Any, left: Any) -> bool:
    if now.shape != left.shape:
        return False
    product = float(now.norm()) * float(left.norm())
    return product > 0 and float(now @ left) >= PARALLEL * product


def numbers_of(settings: Any, name: str) -> int:
    value = getattr(settings, "__dict__", {}).get(name)
    return value if type(value) is int else 0
