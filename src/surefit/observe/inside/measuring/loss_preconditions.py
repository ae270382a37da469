"""Arguments of losses against what torch's documentation demands and no code of it checks."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_preconditions import (
    CTC,
    SIGNS,
    TRIPLETS,
    LossPreconditions,
    PreconditionSite,
)
from surefit.observe.inside import finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.unseen import around

REORDERED = ("RollBackward", "IndexBackward", "IndexSelectBackward", "FlipBackward")
"""Functions of a graph that put rows in another order."""
FIRST = 4
"""Calls from one line that are looked at, and after them each power of two."""
MOST_SITES = 32
MOST_ELEMENTS = 1 << 18

looks = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class CheckedLoss:
    """Of one function from one line."""

    name: str
    place: Place | None
    calls: int = 0
    looked: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, number: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + int(number)


_sites: dict[tuple[str, Place | None], CheckedLoss] = {}


@after_import("torch.nn.functional")
def functions(module: ModuleType) -> None:
    for name in (CTC, *TRIPLETS, *SIGNS):
        plain = getattr(module, name, None)
        if plain is not None:
            setattr(module, name, around(plain, begin_of(name, plain)))


def begin_of(
    name: str, plain: Callable[..., Any]
) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
    parameters = tuple(inspect.signature(plain).parameters)
    look = LOOKS[name]

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if not readable.torch().is_grad_enabled() or not looks.allows():
            return False
        place = own_code.own_place()
        site = _sites.get((name, place))
        if site is None:
            if len(_sites) >= MOST_SITES:
                return False
            site = _sites[name, place] = CheckedLoss(name, place)
        site.calls = count = site.calls + 1
        if (count <= FIRST or not count & (count - 1)) and readable.can_look():
            with looks, readable.looking():
                look(site, dict(zip(parameters, args, strict=False)) | kwargs)
        return False

    return begin


def _signs(site: CheckedLoss, given: dict[str, Any]) -> None:
    target = readable.plain(given.get("target"))
    if target is None or not 0 < target.numel() <= MOST_ELEMENTS:
        return
    target = target.detach()
    site.looked += 1
    site.count("elements", target.numel())
    readable.read((target == 0).sum(), partial(site.count, "zeros"))
    readable.read((target < 0).sum(), partial(site.count, "negatives"))


def _blanks(site: CheckedLoss, given: dict[str, Any]) -> None:
    predictions, targets = readable.plain(given.get("log_probs")), given.get("targets")
    targets = readable.plain(targets)
    if predictions is None or targets is None or not 0 < targets.numel() <= MOST_ELEMENTS:
        return
    real = within_lengths(targets, given.get("target_lengths"))
    if real is None:
        return
    blank, classes = int(given.get("blank") or 0), int(predictions.shape[-1])
    site.looked += 1
    site.counts.update(blank=blank, classes=classes)
    site.count("elements", real.numel())
    readable.read((real == blank).sum(), partial(site.count, "blanks"))
    readable.read((real == classes - 1).sum(), partial(site.count, "lasts"))


def within_lengths(targets: Any, lengths: Any) -> Any:
    """Padded rows less their padding; rows end to end have none."""
    if targets.dim() < 2:
        return targets
    library = readable.torch()
    lengths = library.as_tensor(lengths, device=targets.device)
    if lengths.dim() != 1 or len(lengths) != targets.shape[0]:
        return None
    columns = library.arange(targets.shape[1], device=targets.device)
    return targets[columns[None] < lengths[:, None]]


def _triplet(site: CheckedLoss, given: dict[str, Any]) -> None:
    positive: Any = given.get("positive")
    negative: Any = given.get("negative")
    node, other = getattr(positive, "grad_fn", None), getattr(negative, "grad_fn", None)
    site.looked += 1
    if node is None or other is None or positive.shape != negative.shape:
        return
    before = [inner for inner, _ in node.next_functions if inner is not None]
    site.count("swapped", node.name().startswith(REORDERED) and before == [other])


LOOKS: dict[str, Callable[[CheckedLoss, dict[str, Any]], None]] = {
    CTC: _blanks,
    **dict.fromkeys(TRIPLETS, _triplet),
    **dict.fromkeys(SIGNS, _signs),
}


@periodic.every_few_seconds
@finishing.at_end
def write() -> None:
    looked = [site for site in _sites.values() if site.looked]
    if looked:
        readable.read_waiting()
        sites = tuple(
            PreconditionSite(
                name=site.name,
                place=site.place,
                calls=site.calls,
                looked=site.looked,
                **site.counts,
            )
            for site in looked
        )
        spool.saw(LossPreconditions(process=spool.process(), sites=sites))


@finishing.after_fork
def forget_parent() -> None:
    _sites.clear()
