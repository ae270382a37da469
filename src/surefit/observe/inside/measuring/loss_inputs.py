"""What losses are given in training: what predictions come out of, and which targets count."""

import inspect
import math
from collections import deque
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_inputs import LossMeasure, LossSite
from surefit.observe.inside import events, finishing, spool
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.measuring import products, token_targets
from surefit.observe.inside.training import losses, periodic, readable
from surefit.observe.inside.training.budget import Budget

OF_CLASSES = ("cross_entropy", "nll_loss")
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
NAMES = frozenset((*OF_CLASSES, *BINARY, *OF_NUMBERS))
SHAPES = (
    *("View", "UnsafeView", "Reshape", "Slice", "Select", "Index", "ToCopy", "Clone", "Transpose"),
    *("Permute", "Squeeze", "Unsqueeze", "Alias", "MaskedSelect", "TBackward"),
)
"""Functions of a graph that only pick values or move them."""
OPERATIONS = {
    "SoftmaxBackward": "softmax",
    "LogSoftmaxBackward": "log_softmax",
    "SigmoidBackward": "sigmoid",
    "LogSigmoidBackward": "logsigmoid",
    "TanhBackward": "tanh",
    "ReluBackward": "relu",
}
REACH = {
    "softmax": (0.0, 1.0),
    "sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "relu": (0.0, math.inf),
}
"""Values that an operation can give."""
MARGIN = 0.05
MOST_NODES = 12
MOST_SITES = 64
MOST_LOADED = 32
MOST_ELEMENTS = 1 << 18
MOST_CLASSES = 64
FIRST = 8
"""Calls from one line that are looked at, and after them each power of two."""
EVERY, REST = 64, 16
"""Calls from one line that are all heard of, and then those that are not after each that is; an odd
number in all, so that the losses of a step take turns."""

looks = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class MeasuredLoss:
    """Of one function from one line."""

    name: str
    place: Place | None
    due: int = 0
    """The number of the call that is looked at next."""
    looked: int = 0
    said: dict[str, Any] = field(default_factory=dict)
    produced_by: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    class_rows: list[int] = field(default_factory=list)
    ranges: dict[str, float] = field(default_factory=dict)

    def count(self, name: str, number: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + int(number)

    def count_classes(self, rows: list[int]) -> None:
        known = self.class_rows or [0] * len(rows)
        self.class_rows = [sum(pair) for pair in zip(known, rows, strict=False)]

    def widen(self, name: str, least: float, greatest: float) -> None:
        if math.isfinite(least) and math.isfinite(greatest):
            low, high = f"{name}least", f"{name}greatest"
            self.ranges[low] = min(least, self.ranges.get(low, least))
            self.ranges[high] = max(greatest, self.ranges.get(high, greatest))


_sites: dict[tuple[str, Place | None], MeasuredLoss] = {}
_last: list[MeasuredLoss] = []
"""Of the call before: looking a line up takes longer."""


_loaded: deque[int] = deque(maxlen=MOST_LOADED)
"""Addresses of tensors that loaders gave last."""


@events.on(events.batch_came)
def loaded(_iterator: Any, batch: Any) -> None:
    """Numbers alone are kept; a tensor that was copied since is not known again."""
    inside = values.mapping(batch)
    parts = inside.values() if inside is not None else batch
    if type(parts) is list or inside is not None or type(parts) is tuple:
        with readable.looking() as torch:
            _loaded.extend(part.data_ptr() for part in parts if type(part) is torch.Tensor)


@events.on(events.loss_ended)
def computed(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    place: Place | None,
    grad: bool,
) -> None:
    if not grad or name not in NAMES or result is None:
        return
    site = _last[0] if _last else None
    if site is None or site.place is not place or site.name != name:
        site = _sites.get((name, place))
        _last[:] = [site] if site is not None else []
    if site is None:
        if len(_sites) >= MOST_SITES:
            return
        site = _sites[name, place] = MeasuredLoss(name, place)
    count = losses.count_of(name, place)
    wide = token_targets.now.active and token_targets.wanted(name)
    due = count >= site.due or looks.unlimited
    if due:
        site.due = count + 1 + (events.before_power_of_two(count) if count >= FIRST else 0)
    if count >= EVERY and not (token_targets.now.active or looks.unlimited):
        events.loss_ended.rest(computed, REST)
    if not (due or wide) or not looks.allows() or not readable.can_look():
        return
    with looks, readable.looking():
        given = arguments_of(name, args, kwargs)
        predictions, target = given.get("input"), given.get("target")
        if readable.plain(predictions) is None or readable.plain(target) is None:
            return
        if due:
            _look(site, predictions, target, given)
        if wide:
            plain, targets = readable.plain(predictions), readable.plain(target)
            token_targets.look(name, place, plain, targets, given)


token_targets.woken.append(lambda: events.loss_ended.wake(computed))


@cache
def parameters_of(name: str) -> tuple[str, ...]:
    function = getattr(readable.torch().nn.functional, name)
    return tuple(inspect.signature(function).parameters)


def arguments_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(parameters_of(name), args, strict=False)) | kwargs


def _look(site: MeasuredLoss, predictions: Any, target: Any, given: dict[str, Any]) -> None:
    site.looked += 1
    plain, targets = readable.plain(predictions).detach(), readable.plain(target).detach()
    produced, axis = produced_by(predictions, plain.dim())
    site.produced_by.add(produced)
    classes = site.name in OF_CLASSES
    site.said.update(
        reduction=str(given.get("reduction") or "mean"),
        shape=tuple(int(size) for size in plain.shape),
        target_shape=tuple(int(size) for size in targets.shape),
        target_dtype=str(targets.dtype)[6:],
        classes=int(plain.shape[1 if plain.dim() > 1 else 0]) if classes else 0,
        axis=axis,
        smoothing=float(given.get("label_smoothing") or 0.0),
        ignore_index=int(given.get("ignore_index", -100)),
    )
    site.count("loaded", targets.data_ptr() in _loaded)
    if classes and plain.dim() == 2 and plain.shape[0] == plain.shape[1] > 1:
        site.count("square_products", products.is_product(predictions))
        site.count("over_rows", products.is_normalised_over_rows(predictions))
    if target.requires_grad and not predictions.requires_grad:
        site.count("swapped", 1)
    if 0 < plain.numel() <= MOST_ELEMENTS:
        _read_range(site, "", plain)
    if classes and not targets.is_floating_point():
        _look_at_indices(site, targets, given)
    elif 0 < targets.numel() <= MOST_ELEMENTS:
        _read_range(site, "target_", targets)
        _look_for_reach(site, targets, produced, given)
    _look_at_weights(site, targets, given)


def _read_range(site: MeasuredLoss, name: str, values: Any) -> None:
    least, greatest = readable.torch().aminmax(values)
    both = readable.torch().stack([least.double(), greatest.double()])
    readable.read(both, lambda pair: site.widen(name, *pair))


def produced_by(predictions: Any, dims: int) -> tuple[str, int | None]:
    """The operation that a tensor of so many axes came out of, views aside, and its axis if it has
    one."""
    node, straight = predictions.grad_fn, True
    for _ in range(MOST_NODES):
        if node is None:
            break
        name = node.name()
        for prefix, operation in OPERATIONS.items():
            if name.startswith(prefix):
                axis = getattr(node, "_saved_dim", None) if straight else None
                fits = axis is not None and -dims <= axis - (1 << 64 if axis > dims else 0) < dims
                wrapped = axis - (1 << 64) if axis is not None and axis > dims else axis
                return operation, wrapped % dims if fits and wrapped is not None else None
        if not name.startswith(SHAPES):
            break
        straight = False
        before = [inner for inner, _ in node.next_functions if inner is not None]
        node = before[0] if len(before) == 1 else None
    return "", None


def _look_at_indices(site: MeasuredLoss, target: Any, given: dict[str, Any]) -> None:
    count = int(target.numel())
    ignored = (target == int(given.get("ignore_index", -100))).sum()

    def add(number: int) -> None:
        site.count("labels", count)
        site.count("ignored", number)
        site.count("empty", count > 0 and number == count)

    readable.read(ignored, add)
    kept = target[target != int(given.get("ignore_index", -100))]
    if 0 < kept.numel() <= MOST_ELEMENTS:
        _read_range(site, "target_", kept)


def _look_for_reach(site: MeasuredLoss, target: Any, produced: str, given: dict[str, Any]) -> None:
    """Targets that predictions cannot come near; where the script weighs elements itself, nobody
    knows which of them count."""
    if given.get("reduction") == "none" or given.get("weight") is not None:
        return
    if site.name in BINARY:
        low, high, margin = 0.0, 1.0, 0.0
    elif site.name in OF_NUMBERS and produced in REACH:
        (low, high), margin = REACH[produced], MARGIN
    else:
        return
    site.count("elements", target.numel())
    outside = ((target < low - margin) | (target > high + margin)).sum()
    readable.read(outside, partial(site.count, "beyond"))


def _look_at_weights(site: MeasuredLoss, target: Any, given: dict[str, Any]) -> None:
    weight = readable.plain(given.get("pos_weight"))
    if weight is None and site.name in OF_CLASSES:
        weight = readable.plain(given.get("weight"))
    if weight is None or not 0 < weight.numel() <= MOST_ELEMENTS:
        return
    weight = weight.detach()
    site.said["weights"] = int(weight.numel())
    readable.read((weight == 0).sum(), lambda zero: site.said.update(zero_weights=int(zero)))
    if site.name in OF_CLASSES and not target.is_floating_point() and weight.dim() == 1:
        counted = target[(target >= 0) & (target < weight.numel())]
        if counted.numel():
            nothing = (weight[counted] == 0).all()
            readable.read(nothing, partial(site.count, "nothing_weighs"))
        _look_at_classes(site, weight, counted)
    elif site.name in BINARY and weight.numel() == 1:
        sides = readable.torch().stack([weight.new_ones(()), weight.reshape(())])
        _look_at_classes(site, sides, target[(target == 0) | (target == 1)].long())


def _look_at_classes(site: MeasuredLoss, weight: Any, target: Any) -> None:
    """How often each class is a target, beside what it weighs."""
    classes = int(weight.numel())
    if 1 < classes <= MOST_CLASSES and target.numel():
        rows = readable.torch().bincount(target, minlength=classes)
        readable.read(weight, lambda weights: site.said.update(class_weights=tuple(weights)))
        readable.read(rows, site.count_classes)


def _told(site: MeasuredLoss) -> LossSite:
    always = site.produced_by.copy().pop() if len(site.produced_by) == 1 else ""
    return LossSite(
        name=site.name,
        place=site.place,
        calls=losses.count_of(site.name, site.place),
        looked=site.looked,
        produced_by=always,
        class_rows=tuple(site.class_rows),
        **(site.said | site.counts | site.ranges),
    )


@periodic.every_few_seconds
@finishing.at_end
def write() -> None:
    if _sites or token_targets.sites():
        readable.read_waiting()
        sites = tuple(_told(site) for site in _sites.values() if site.looked)
        spool.saw(
            LossMeasure(process=spool.process(), sites=sites, tokens=tuple(token_targets.sites()))
        )


@finishing.after_fork
def forget_parent() -> None:
    _sites.clear()
    _last.clear()
    _loaded.clear()
