"""Tables of embeddings that were resized for new tokens: does an optimizer hold the new rows."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import ref

from surefit.doctor.findings import Place
from surefit.doctor.measures.weights_learn import GrownTable, GrownTables
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import beside, optimizers, periodic, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 4
MOST_INPUTS = 32
"""Calls of models whose ids are read."""
NEW_ROWS_ALONE = "trainable_tokens"
"""In the names of parameters that PEFT makes for single rows."""


@dataclass(slots=True)
class Grown:
    """What is known of one table; the table itself is not kept."""

    alive: Callable[[], Any]
    place: Place | None
    name: str
    before: int
    after: int
    held: bool = False
    used: bool = False
    step: int = 0


_before: list[int] = []
_grown: list[Grown] = []
_read = 0
_changed = False


@after_import("transformers.modeling_utils")
def resizing(module: ModuleType) -> None:
    kind = module.PreTrainedModel
    kind.resize_token_embeddings = around(kind.resize_token_embeddings, _begin, _end)


def _begin(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    table = _largest(args[0])
    _before.append(int(table[1].shape[0]) if table else 0)
    return True


def _end(args: tuple[Any, ...], _result: Any) -> None:
    before, table = _before.pop(), _largest(args[0])
    if table is not None and 0 < before < int(table[1].shape[0]) and len(_grown) < MOST:
        name, weight = table
        at = own_code.own_place()
        _grown.append(Grown(ref(weight), at, name, before, int(weight.shape[0])))
        events.forward_begun.wake(called)
        events.step_ended.wake(stepped)


def _largest(model: Any) -> tuple[str, Any] | None:
    """The table with most rows, and what its module is called."""
    with readable.looking():
        found = [
            (name, child._parameters["weight"])
            for part in beside.parts(model)
            for name, child in (vars(part).get("_modules") or {}).items()
            if type(child).__name__ == "Embedding"
        ]
    return max(found, key=lambda pair: int(pair[1].shape[0]), default=None)


@events.on(events.forward_begun)
def called(_module: Any, _args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    global _read
    if not _grown or _read >= MOST_INPUTS:
        events.forward_begun.rest(called)
        return
    if "input_ids" not in kwargs:
        return
    _read += 1
    if readable.torch().is_grad_enabled() and readable.can_look():
        with readable.looking():
            ids = readable.plain(kwargs["input_ids"])
            if ids is not None and ids.numel() and ids.is_cpu:
                highest = int(ids.max())
                for grown in _grown:
                    grown.used |= grown.before <= highest


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    global _changed
    if not _grown:
        events.step_ended.rest(stepped)
        return
    known = optimizers.of(optimizer)
    if known.steps not in (1, 4):
        return
    _changed = True
    with readable.looking():
        tensors = [tensor for tensor, _ in optimizers.tensors(optimizer) if tensor.requires_grad]
        alone = any(NEW_ROWS_ALONE in parameter.name for parameter in known.parameters)
        for grown in _grown:
            rows = [tensor.dim() > 1 and int(tensor.shape[0]) == grown.after for tensor in tensors]
            grown.held = grown.held or alone or any(rows)
            grown.step = noted.steps


@finishing.at_end
@periodic.every_few_seconds
@guarded("tables for new tokens")
def write() -> None:
    global _changed
    if _changed:
        _changed = False
        spool.saw(GrownTables(process=spool.process(), tables=tuple(map(_told, _grown))))


def _told(grown: Grown) -> GrownTable:
    return GrownTable(
        resized_at=grown.place,
        name=grown.name,
        rows=grown.after,
        added=grown.after - grown.before,
        step=grown.step,
        held=grown.held,
        used=grown.used,
    )


@finishing.after_fork
def forget_parent() -> None:
    global _read, _changed
    _before.clear()
    _grown.clear()
    _read, _changed = 0, False
