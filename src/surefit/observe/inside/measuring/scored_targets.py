"""Counts over targets that a loss depends on, against the tokens that the model was given."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_inputs import SHIFTS, TokenSite
from surefit.observe.inside.measuring.known_tokens import KnownTokens
from surefit.observe.inside.training import readable

MOST_NODES = 200
NEXT = SHIFTS.index(1)


@dataclass(frozen=True, slots=True)
class EmbeddedIds:
    """Ids that reached an embedding."""

    rows: int
    width: int
    ids: Any
    """A few rows."""
    padding_idx: Any
    pointer: int


@dataclass(frozen=True, slots=True)
class Matches:
    """Scored targets that equal the token so many positions on, for each of `SHIFTS`."""

    equal: tuple[int, ...]
    compared: tuple[int, ...]

    @property
    def is_next(self) -> bool:
        return self.is_all(NEXT)

    def is_all(self, shift: int) -> bool:
        return 0 < self.compared[shift] == self.equal[shift]

    @property
    def rank(self) -> tuple[bool, int]:
        """Tokens that are followed by the targets come first, then those with most in common."""
        return self.is_next, max(self.equal)


def matched(ids: Any, targets: Any, scored: Any) -> Matches:
    equal, compared = [], []
    tokens, width = int(ids.shape[1]), int(targets.shape[1])
    for shift in SHIFTS:
        first, last = max(0, -shift), min(width, tokens - shift)
        here = scored[:, first:last]
        same = (targets[:, first:last] == ids[:, first + shift : last + shift]) & here
        equal.append(int(same.sum()))
        compared.append(int(here.sum()))
    return Matches(tuple(equal), tuple(compared))


@dataclass(slots=True)
class TokenCounts:
    """Of one line, over the calls looked at."""

    looked: int = 0
    model: str = ""
    causal: bool = False
    reduction: str = "mean"
    matches: list[int] = field(default_factory=lambda: [0] * len(SHIFTS))
    compared: list[int] = field(default_factory=lambda: [0] * len(SHIFTS))
    last: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    kinds: set[int] = field(default_factory=set)
    first_scored: tuple[int, int] | None = None
    begins_alike: bool = True
    beginnings: set[int] = field(default_factory=set)
    at_padding: set[int] = field(default_factory=set)
    elsewhere: bool = False
    """A target at padding is also one somewhere else."""

    def count(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self.counts[name] = self.counts.get(name, 0) + int(number)

    def add(
        self,
        tokens: EmbeddedIds,
        matches: Matches,
        targets: Any,
        scored: Any,
        mask: Any,
        known: KnownTokens,
        alone: bool,
    ) -> None:
        self.looked += 1
        self.matches = [sum(pair) for pair in zip(self.matches, matches.equal, strict=True)]
        self.compared = [sum(pair) for pair in zip(self.compared, matches.compared, strict=True)]
        self.last = {
            "rows": tokens.rows,
            "width": tokens.width,
            "targets": int(targets.shape[1]),
            "pad": known.pad,
            "end": known.end,
            "end_is_pad": known.pad is not None and known.pad == known.end,
            "lengths": known.lengths,
        }
        total = int(scored.sum())
        self.count(scored=total, unscored=int(scored.numel()) - total)
        self._note_kinds(tokens.ids, targets, scored)
        real = _real(tokens.ids, mask, known)
        if matches.is_next:
            self._note_next(tokens.ids, scored, real, known)
            width = min(int(targets.shape[1]), tokens.width - 1)
            self._note_padding(targets[:, :width], scored[:, :width], real[:, 1 : width + 1])
        elif alone and int(targets.shape[1]) == tokens.width:
            self._note_padding(targets, scored, real)

    def _note_padding(self, targets: Any, scored: Any, real: Any) -> None:
        there = targets[~real & scored]
        self.count(padded=int((~real).sum()), padded_scored=int(there.numel()))
        if there.numel() and len(self.at_padding) < 2:
            self.at_padding |= {int(there.min()), int(there.max())}
        if len(self.at_padding) == 1:
            (target,) = self.at_padding
            self.elsewhere |= bool((targets[real & scored] == target).any())

    def _note_kinds(self, ids: Any, targets: Any, scored: Any) -> None:
        picked = targets[scored]
        if picked.numel() and len(self.kinds) < 2:
            self.kinds |= {int(picked.min()), int(picked.max())}
        if len(self.beginnings) < 2:
            self.beginnings |= {int(ids[:, 0].min()), int(ids[:, 0].max())}

    def _note_next(self, ids: Any, scored: Any, real: Any, known: KnownTokens) -> None:
        """The target of a position is the token after it."""
        width = min(int(scored.shape[1]), int(ids.shape[1]) - 1)
        scored, following, real_next = (
            scored[:, :width],
            ids[:, 1 : width + 1],
            real[:, 1 : width + 1],
        )
        left = following[~scored & real_next]
        if len(self.kinds) == 1 and left.numel():
            (kind,) = self.kinds
            self.count(others=int((left != kind).sum()))
        any_scored = scored.any(-1)
        if bool(any_scored.any()):
            first = scored.int().argmax(-1)[any_scored] + 1
            least, greatest = int(first.min()), int(first.max())
            known_first = self.first_scored or (least, greatest)
            self.first_scored = min(least, known_first[0]), max(greatest, known_first[1])
        self.count(rows_looked=int(any_scored.numel()), beginnings=_beginnings(scored, real_next))
        if known.end is not None:
            self._note_ends(following, scored, real_next, known.end)

    def _note_ends(self, following: Any, scored: Any, real: Any, end: int) -> None:
        """Rows whose last real token is the end token, and of which the token before is scored."""
        positions = readable.torch().arange(int(following.shape[1]))
        last = (real * (positions + 1)).amax(-1) - 1
        for row, at in enumerate(last.tolist()):
            if at > 0 and int(following[row, at]) == end and bool(scored[row, at - 1]):
                self.count(ends=1, ends_scored=int(scored[row, at]))

    def _padded_target(self) -> int | None:
        known = len(self.at_padding) == 1 and not self.elsewhere
        return next(iter(self.at_padding)) if known else None

    def told(self, name: str, place: Place | None) -> TokenSite:
        return TokenSite(
            name=name,
            place=place,
            model=self.model,
            looked=self.looked,
            reduction=self.reduction,
            matches=tuple(self.matches),
            compared=tuple(self.compared),
            constant=next(iter(self.kinds)) if len(self.kinds) == 1 else None,
            first_scored=self.first_scored,
            begins_alike=len(self.beginnings) < 2,
            padded_target=self._padded_target(),
            causal=self.causal,
            **(self.last | self.counts),
        )


def _beginnings(scored: Any, real: Any) -> int:
    """Rows whose scored tokens are the first ones, with two real ones left after them."""
    positions = readable.torch().arange(int(scored.shape[1]))
    last = (scored * (positions + 1)).amax(-1)
    contiguous = scored[:, 0] & (scored.sum(-1) == last)
    left = (real & (positions >= last[:, None])).sum(-1) >= 2
    return int((contiguous & left).sum())


def _real(ids: Any, mask: Any, known: KnownTokens) -> Any:
    """Positions that are no padding: by the mask; without one, what is left of runs of the padding
    token at both ends, one of which is the end token where the two are the same."""
    torch = readable.torch()
    if mask is not None:
        return mask
    if known.pad is None:
        return torch.ones_like(ids, dtype=torch.bool)
    padding = ids == known.pad
    after = padding.flip(-1).int().cumprod(-1).flip(-1).bool()
    before = padding.int().cumprod(-1).bool()
    if known.pad == known.end:
        after = after & torch.nn.functional.pad(after, (1, 0))[:, :-1]
    return ~(after | before)


def gathers(loss: Any) -> Iterator[tuple[Any, Any]]:
    """Functions near the end of a graph that pick one class for each position of each row, with
    the classes picked."""
    waiting, met = [getattr(loss, "grad_fn", None)], set[Any]()
    for node in waiting:
        if node is None or node in met or len(met) >= MOST_NODES:
            continue
        met.add(node)
        if node.name().startswith("GatherBackward"):
            index = readable.plain(node._saved_index)
            if index is not None and index.dim() == 3 and index.shape[-1] == 1:
                yield node, index
            continue
        waiting += [before for before, _ in node.next_functions]
