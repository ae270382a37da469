"""Outputs of one model that another judges, and the constant targets of the losses on that."""

from collections import deque
from dataclasses import dataclass
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.judged_samples import JudgedLoss, JudgedSamples
from surefit.observe.inside import events, finishing, spool
from surefit.observe.inside.measuring import loss_terms
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget

NAMES = frozenset(("binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss"))
MARK = "surefit.judged"
"""Under this name a node of the graph says which loss it is of."""
MOST_OUTPUTS = 8
MOST_LOSSES = 64
MOST_ELEMENTS = 1 << 16
MOST_LOOKS = 96
"""Outermost forward passes that are followed; then all rest."""
MOST_ALONE = 16
"""The same where no second model was run."""

looks = Budget(share=0.001, opening=0.1)


@dataclass(frozen=True, slots=True)
class Output:
    """What a model gave back: the memory it lies in, weakly, so that no other takes its number."""

    memory: Any
    model: int
    maker: int = 0
    attached: bool = False


Key = tuple[str, Place | None, int, int, bool, float]

_outputs: deque[Output] = deque(maxlen=MOST_OUTPUTS)
_models: dict[int, int] = {}
_counts: dict[Key, int] = {}
_passes = [0]


@events.on(events.forward_ended)
def forward(module: Any, args: tuple[Any, ...], _kwargs: dict[str, Any], result: Any) -> None:
    _passes[0] += 1
    if _passes[0] > (MOST_LOOKS if len(_models) > 1 else MOST_ALONE):
        _rest()
        return
    if not looks.allows():
        return
    tensor = readable.torch().Tensor
    if type(result) is not tensor or not readable.can_look():
        return
    with looks, readable.looking():
        number = _models.setdefault(id(module), len(_models) + 1)
        given = args[0] if args and type(args[0]) is tensor else None
        before = _known(given) if given is not None else None
        maker = before.model if before is not None and before.model != number else 0
        attached = bool(maker and given is not None and given.requires_grad)
        _outputs.append(Output(_memory(result), number, maker, attached))


def _rest() -> None:
    events.forward_ended.rest(forward)
    events.loss_ended.rest(loss)
    events.backward_begun.rest(backward)


def _memory(tensor: Any) -> Any:
    return readable.torch().multiprocessing.reductions.StorageWeakRef(tensor.untyped_storage())


def _known(tensor: Any) -> Output | None:
    """Of the same memory: a view of it, also one without its graph."""
    address = tensor.untyped_storage()._cdata
    for output in reversed(_outputs):
        if output.memory.cdata == address and not output.memory.expired():
            return output
    return None


@events.on(events.loss_ended)
def loss(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    place: Place | None,
    grad: bool,
) -> None:
    if not grad or name not in NAMES or len(_models) < 2 or len(args) < 2:
        return
    if kwargs.get("weight") is not None:
        return
    predictions, target = args[0], readable.plain(args[1])
    if target is None or type(predictions) is not type(args[1]) or not looks.allows():
        return
    if not readable.can_look() or not 0 < target.numel() <= MOST_ELEMENTS or not target.is_cpu:
        return
    with looks, readable.looking():
        judged = _known(predictions)
        if judged is None or not bool((target == target.flatten()[0]).all()):
            return
        number = float(target.flatten()[0])
        key = name, place, judged.model, judged.maker, judged.attached, number
        if judged.attached:
            node = getattr(result, "grad_fn", None)
            if node is not None:
                node.metadata[MARK] = key
        else:
            _count(key)


@events.on(events.backward_begun)
def backward(loss: Any) -> None:
    """A loss that is turned round, `-criterion(...)`, is maximised: that is not counted."""
    node = getattr(loss, "grad_fn", None)
    if node is None or len(_models) < 2 or not looks.allows() or not readable.can_look():
        return
    with looks, readable.looking():
        for term in loss_terms.terms_of(node):
            key = term.node.metadata.get(MARK)
            if key is not None and term.sign * term.factor > 0:
                _count(key)


def _count(key: Key) -> None:
    if key in _counts or len(_counts) < MOST_LOSSES:
        _counts[key] = _counts.get(key, 0) + 1


@periodic.every_few_seconds
@finishing.at_end
def write() -> None:
    if _counts:
        losses = tuple(
            JudgedLoss(
                name=name,
                place=place,
                judge=judge,
                maker=maker,
                attached=attached,
                target=target,
                looked=looked,
            )
            for (name, place, judge, maker, attached, target), looked in list(_counts.items())
        )
        spool.saw(JudgedSamples(process=spool.process(), losses=losses))


@finishing.after_fork
def forget_parent() -> None:
    _outputs.clear()
    _models.clear()
    _counts.clear()
    _passes[0] = 0
