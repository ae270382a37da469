"""Tokens that a model embeds against the targets of its loss: shifts, padding, the end of rows.

A cycle begins with the first forward pass after a backward pass. In a few of them the ids that
reach an embedding are copied, a few rows of each, and compared when the loss is computed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_inputs import TokenSite
from surefit.observe.inside import events, finishing, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy import values
from surefit.observe.inside.measuring import scored_targets
from surefit.observe.inside.measuring.known_tokens import KnownTokens, is_causal, known_tokens
from surefit.observe.inside.measuring.scored_targets import EmbeddedIds, TokenCounts
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.unseen import around

OF_CLASSES = ("cross_entropy", "nll_loss")
MOST_ROWS, MOST_WIDTH = 16, 2048
MOST_IDS = 6
MOST_SITES = 16
FEWEST_WIDTH = 3
FIRST = 8
"""Cycles that are looked at, and after them each power of two."""

looks = Budget(share=0.001, opening=0.1)


@dataclass(slots=True)
class Cycle:
    """From the first forward pass after a backward pass to the next backward pass."""

    begun: bool = False
    active: bool = False
    count: int = 0
    compared: bool = False
    """A loss was compared with tokens in it."""
    ids: list[EmbeddedIds] = field(default_factory=list)
    mask: Any = None
    masked: int = 0
    """Pointer of the ids that the mask is about: a decoder has others."""
    widths: set[int] = field(default_factory=set)
    """Of what the models gave back, where that has three axes."""
    model: str = ""
    causal: bool = False
    known: KnownTokens = field(default_factory=KnownTokens)

    def clear(self) -> None:
        self.begun = self.active = self.compared = False
        self.ids.clear()
        self.widths.clear()
        self.mask, self.masked = None, 0


now = Cycle()
woken: list[Callable[[], None]] = []
"""Called when a cycle begins that is looked at, by those who listen to its losses."""
_counts: dict[tuple[str, Place | None], TokenCounts] = {}


@events.on(events.forward_begun)
def begins(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not now.begun:
        if not readable.torch().is_grad_enabled():
            return
        now.begun = True
        now.count += 1
        due = now.count <= FIRST or not now.count & (now.count - 1) or looks.unlimited
        now.active = due and looks.allows() and readable.can_look()
        for wake in woken if now.active else ():
            wake()
    if now.active:
        with looks, readable.looking():
            _note_model(module, args, kwargs)


def _note_model(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    now.model = type(module).__name__
    now.causal = is_causal(module)
    now.known = known_tokens(module)
    inside = (values.mapping(args[0]) if args else None) or {}
    mask = readable.plain(kwargs.get("attention_mask", inside.get("attention_mask")))
    ids = readable.plain(kwargs.get("input_ids", inside.get("input_ids")))
    if mask is not None and mask.dim() == 2 and ids is not None and ids.shape == mask.shape:
        now.mask, now.masked = _sample(mask) != 0, ids.data_ptr()


def _sample(tensor: Any) -> Any:
    """A copy of a few rows, in main memory."""
    return tensor.detach()[:MOST_ROWS, :MOST_WIDTH].clone().cpu()


@after_import("torch.nn.functional")
def embeddings(module: ModuleType) -> None:
    functions: Any = module
    functions.embedding = around(functions.embedding, _embeds)


def _embeds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if not now.active or len(now.ids) >= MOST_IDS or not args or not readable.can_look():
        return False
    with readable.looking():
        ids = readable.plain(args[0])
        if ids is None or ids.dim() != 2 or ids.is_floating_point():
            return False
        rows, width = (int(size) for size in ids.shape)
        if FEWEST_WIDTH <= width <= MOST_WIDTH and not any(_is(ids, known) for known in now.ids):
            pad = args[2] if len(args) > 2 else kwargs.get("padding_idx")
            now.ids.append(EmbeddedIds(rows, width, _sample(ids), pad, ids.data_ptr()))
    return False


def _is(ids: Any, known: EmbeddedIds) -> bool:
    return bool(ids.data_ptr() == known.pointer and tuple(ids.shape) == (known.rows, known.width))


@events.on(events.forward_ended)
def ends(_module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any], result: Any) -> None:
    if not now.active:
        return
    inside = values.mapping(result)
    output: Any = inside.get("logits") if inside is not None else result
    if type(output) is tuple and output:
        output = output[0]
    with readable.looking():
        plain = readable.plain(output)
        if plain is not None and plain.dim() == 3:
            now.widths |= {int(plain.shape[1]), int(plain.shape[2])}


def wanted(name: str) -> bool:
    """Asked at every loss with gradients: whether it is to be compared with tokens."""
    return now.active and bool(now.ids) and name in OF_CLASSES


def look(
    name: str, place: Place | None, predictions: Any, target: Any, given: dict[str, Any]
) -> None:
    """At the call of a loss over classes."""
    if target.is_floating_point() or predictions.dim() != target.dim() + 1:
        return
    reduction = str(given.get("reduction") or "mean")
    if reduction == "none":
        return  # what of it counts, the script decides afterwards
    scored = target != int(given.get("ignore_index", -100))
    weight = readable.plain(given.get("weight"))
    if weight is not None and weight.dim() == 1:
        scored = scored & (weight.detach()[target.clamp(0, weight.numel() - 1)] != 0)
    compare(name, place, target, scored, reduction)


def compare(name: str, place: Place | None, target: Any, scored: Any, reduction: str) -> None:
    """Targets of any shape with the tokens that they fit."""
    fitting = [tokens for tokens in now.ids if _width(tokens, target) and _is_output(tokens)]
    if not fitting or ((name, place) not in _counts and len(_counts) >= MOST_SITES):
        return
    counts = _counts.setdefault((name, place), TokenCounts())
    parts = []
    for tokens in fitting:
        width = _width(tokens, target)
        shape = tokens.rows, width
        few = [side.detach().reshape(shape)[:MOST_ROWS].cpu() for side in (target, scored)]
        parts.append((tokens, scored_targets.matched(tokens.ids, *few), *few))
    tokens, matches, few_targets, few_scored = max(parts, key=lambda part: part[1].rank)
    now.compared = True
    mask = now.mask if now.masked == tokens.pointer else None
    counts.model, counts.causal, counts.reduction = now.model, now.causal, reduction
    counts.add(
        tokens, matches, few_targets, few_scored, mask, _known_here(tokens), len(now.ids) == 1
    )


def _known_here(tokens: EmbeddedIds) -> KnownTokens:
    frame = own_code.own_frame(depth=3)
    return now.known.with_names(frame, tokens.padding_idx)


def _width(tokens: EmbeddedIds, target: Any) -> int:
    """Targets of a row, where there are about as many as tokens; otherwise 0."""
    count = int(target.numel())
    width = count // tokens.rows
    fits = count == width * tokens.rows and tokens.width - 2 <= width <= tokens.width
    shaped = target.dim() == 1 or tuple(target.shape) == (tokens.rows, width)
    return width if fits and shaped and width >= FEWEST_WIDTH - 1 else 0


def _is_output(tokens: EmbeddedIds) -> bool:
    """The model gives back a prediction for each of these tokens, as far as that is known."""
    return not now.widths or tokens.width in now.widths


@events.on(events.backward_begun)
def goes_back(loss: Any) -> None:
    """Log-probabilities that were picked by hand are found in the graph of the loss."""
    if now.active and now.ids and not now.compared and readable.can_look():
        place = own_code.own_place()
        with looks, readable.looking():
            for node, index in scored_targets.gathers(loss):
                _when_passed(node, index, place)


def _when_passed(node: Any, index: Any, place: Place | None) -> None:
    done: list[bool] = []

    def before(gradients: tuple[Any, ...]) -> None:
        if done or not gradients or gradients[0] is None or not now.ids:
            return
        done.append(True)
        try:
            with looks, readable.looking():
                scored = (gradients[0] != 0).reshape(index.shape)
                compare("gather", place, index[..., 0], scored[..., 0], "none")
        except Exception:  # noqa: BLE001 - the user's backward pass goes on
            return

    node.register_prehook(before)


@events.on(events.backward_ended)
def went_back() -> None:
    if now.begun:
        now.clear()
    passed_over = events.before_power_of_two(now.count)
    if now.count >= FIRST and passed_over and not looks.unlimited:
        now.count += passed_over
        events.backward_ended.rest(went_back, passed_over - 1)  # until the last of them
        events.forward_begun.rest(begins)
        events.forward_ended.rest(ends)
        events.backward_begun.rest(goes_back)
    else:
        events.forward_begun.wake(begins)
        events.forward_ended.wake(ends)
        events.backward_begun.wake(goes_back)


def sites() -> Iterator[TokenSite]:
    for (name, place), counts in _counts.items():
        if counts.looked:
            yield counts.told(name, place)


@finishing.after_fork
def forget_parent() -> None:
    now.clear()
    now.count = 0
    _counts.clear()
