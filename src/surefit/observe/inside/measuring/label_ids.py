"""Labels beside what a model predicts: of the latest training rows, and of the last evaluation."""

import weakref
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.label_ids import Confused, LabelIds
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_tensor
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.label_order import classes, labels_in
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST_CLASSES = 64
MOST_DATASETS = 16
LATEST = 512
"""Training rows that are remembered at most."""
REST = 14
"""Losses that are passed over where there is no time for one."""
LOSSES = ("cross_entropy", "nll_loss")

training_budget = Budget(share=0.0005, opening=0.02)
evaluation_budget = Budget(share=0.0005, opening=0.1)


class LabelState:
    """Of this process."""

    def __init__(self) -> None:
        self.datasets: dict[int, Any] = {}
        """Address of the first tensor of a dataset -> the dataset, weakly."""
        self.labels: list[int] | None = None
        """Of the latest batch."""
        self.rows = self.hits = 0
        self.step = -1
        self.place: Place | None = None
        self.pairs: dict[tuple[int, int], int] = {}
        self.changed = False


state = LabelState()


@after_import("torch.utils.data.dataset")
def datasets(module: ModuleType) -> None:
    kind = module.TensorDataset
    kind.__init__ = around(kind.__init__, lambda _args, _kwargs: True, _was_made)


def _was_made(args: tuple[Any, ...], _result: Any) -> None:
    tensors = attributes(args[0]).get("tensors")
    if type(tensors) is not tuple or len(tensors) < 2 or not is_tensor(tensors[0]):
        return
    with readable.looking():
        first = readable.plain(tensors[0])
        if first is not None and first.is_cpu and len(state.datasets) < MOST_DATASETS:
            state.datasets[first.data_ptr()] = weakref.ref(args[0])


@events.on(events.batch_came)
def came(_iterator: Any, batch: Any) -> None:
    """Looked at where an evaluation can come: gradients are off."""
    state.labels = None
    if batch is None or readable.torch().is_grad_enabled() or not evaluation_budget.allows():
        return
    with evaluation_budget, readable.looking():
        state.labels = labels_in(batch)


@events.on(events.idle_ended)
def called(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    if readable.torch().is_grad_enabled() or not (state.labels or state.datasets):
        return
    if not evaluation_budget.allows() or not readable.can_look():
        return
    with evaluation_budget, readable.looking():
        labels = state.labels or _labels_of(args, kwargs)
        logits = result if is_tensor(result) else getattr(result, "logits", None)
        if labels:
            _evaluated(logits, labels)


def _labels_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int] | None:
    """Of rows that are the whole of a dataset of tensors."""
    for value in (*args, *kwargs.values()):
        tensor = readable.plain(value) if is_tensor(value) else None
        known = state.datasets.get(tensor.data_ptr()) if tensor is not None else None
        dataset = known() if known is not None else None
        tensors = attributes(dataset).get("tensors", ())
        if dataset is not None and tensor is not None and tensors[0].shape == tensor.shape:
            return classes(tensors[-1])
    return None


@events.on(events.loss_ended)
def lost(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    _result: Any,
    _place: Place | None,
    grad: bool,
) -> None:
    if name not in LOSSES or not grad:
        return
    if not training_budget.allows():
        events.loss_ended.rest(lost, REST)
        return
    if not readable.can_look():
        return
    with training_budget, readable.looking():
        labels = classes(args[1] if len(args) > 1 else kwargs.get("target"))
        predictions = _predictions(args[0] if args else kwargs.get("input"), labels)
        if labels and predictions:
            if state.rows > LATEST:
                state.rows, state.hits = state.rows // 2, state.hits // 2
            state.rows += len(labels)
            state.hits += sum(map(int.__eq__, labels, predictions))


def _evaluated(logits: Any, labels: list[int]) -> None:
    predictions = _predictions(logits, labels)
    if not predictions:
        return
    if state.step != noted.steps:
        state.step, state.pairs = noted.steps, {}
        state.place = own_code.own_place()
        state.changed = True
    for pair in zip(labels, predictions, strict=True):
        state.pairs[pair] = state.pairs.get(pair, 0) + 1


def _predictions(logits: Any, labels: list[int] | None) -> list[int] | None:
    plain = readable.plain(logits) if is_tensor(logits) else None
    if plain is None or not labels or not plain.is_cpu or plain.dim() != 2:
        return None
    if plain.shape[0] != len(labels) or not 2 <= plain.shape[1] <= MOST_CLASSES:
        return None
    return list(plain.argmax(1).tolist())


@finishing.at_end
@periodic.every_few_seconds
@guarded("labels and predictions")
def write() -> None:
    if not state.changed or not state.rows:
        return
    state.changed = False
    spool.saw(
        LabelIds(
            process=spool.process(),
            step=state.step,
            training_rows=state.rows,
            training_hits=state.hits,
            place=state.place,
            pairs=tuple(
                Confused(label=label, prediction=prediction, rows=rows)
                for (label, prediction), rows in sorted(state.pairs.items())
            ),
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
