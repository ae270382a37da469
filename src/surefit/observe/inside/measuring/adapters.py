"""Adapters of PEFT: the layers that they were asked for, those that they are on, and whether they
are frozen. Read from PEFT's own attributes when optimizers step; no code of it is run."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from surefit.doctor.measures.weights_learn import Adapters, AdapterSeen
from surefit.observe.inside import events, finishing, origins, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.measuring.adapter_heads import new_heads
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import hanging, optimizers, periodic, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

PEFT = "peft.tuners.tuners_utils"
PEFT_MODELS = "peft.peft_model"
ADAPTABLE = ("Linear", "Conv1D")
MOST_LAYERS = 4096
MOST = 8

_known: dict[int, AdapterSeen] = {}
_changed = False


@after_import(PEFT)
def peft(_module: ModuleType) -> None:
    events.step_ended.wake(stepped)


@after_import(PEFT_MODELS)
def peft_models(module: ModuleType) -> None:
    kind = module.PeftModel
    kind.save_pretrained = around(kind.save_pretrained, _saves)


def _saves(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """An adapter is saved: trainable heads that are none of its own are not."""
    global _changed
    tuner = vars(args[0]).get("_modules", {}).get("base_model") if args else None
    known = _known.get(origins.number(tuner)) if tuner is not None else None
    if known is None or not known.heads or not readable.can_look():
        return False
    place = own_code.own_place()
    heads = tuple(
        replace(head, saved_at=place, saved_step=noted.steps) if head.trainable else head
        for head in known.heads
    )
    _known[origins.number(tuner)] = replace(known, heads=heads)
    _changed = True
    return False


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    if PEFT not in sys.modules:
        events.step_ended.rest(stepped)
        return
    if optimizers.of(optimizer).steps != 1:
        return
    with readable.looking():
        for tuner in origins.alive(sys.modules[PEFT].BaseTuner):
            if len(_known) < MOST:
                _note(tuner)


def _note(tuner: Any) -> None:
    global _changed
    _changed = True
    held = vars(tuner)
    configurations = held.get("peft_config")
    model = held.get("_modules", {}).get("model")
    if model is None or not hasattr(configurations, "values"):
        return
    layers, adapted = _layers(model)
    for configuration in list(configurations.values())[:1]:
        about = vars(configuration)
        asked = about.get("target_modules")
        plain = asked if isinstance(asked, list | set | tuple) else ()
        kind = _model_type(model)
        _known[origins.number(tuner)] = AdapterSeen(
            kind=str(getattr(about.get("peft_type"), "value", about.get("peft_type"))),
            made_at=origins.made_at(tuner),
            model=type(model).__name__,
            type=kind,
            frozen=about.get("inference_mode") is True,
            asked=tuple(sorted(name for name in plain if type(name) is str)),
            layers=layers,
            adapted=adapted,
            usual=_usual(kind),
            step=noted.steps,
            heads=tuple(new_heads(model)),
        )


def _layers(model: Any) -> tuple[dict[str, int], dict[str, int]]:
    layers: dict[str, int] = {}
    adapted: dict[str, int] = {}
    for name, module, has_adapter in _walk(model):
        last = name.rpartition(".")[2]
        if has_adapter:
            adapted[last] = adapted.get(last, 0) + 1
        if has_adapter or type(module).__name__ in ADAPTABLE:
            layers[last] = layers.get(last, 0) + 1
    return layers, adapted


def _walk(model: Any) -> Iterator[tuple[str, Any, bool]]:
    waiting, count = [("", model)], 0
    while waiting and count < MOST_LAYERS:
        name, module = waiting.pop()
        count += 1
        inside = vars(module).get("_modules") or {}
        has_adapter = "base_layer" in inside
        yield name, module, has_adapter
        if not has_adapter:
            waiting += [(key, child) for key, child in inside.items() if child is not None]


def _model_type(model: Any) -> str:
    configuration = vars(hanging.unwrapped(model)).get("config")
    kind = getattr(type(configuration), "model_type", "")
    return kind if type(kind) is str else ""


def _usual(kind: str) -> tuple[str, ...]:
    constants = sys.modules.get("peft.utils.constants")
    table = getattr(constants, "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING", {})
    names = table.get(kind, ()) if isinstance(table, dict) else ()
    return tuple(names) if isinstance(names, list | tuple) else ()


@finishing.at_end
@periodic.every_few_seconds
@guarded("adapters")
def write() -> None:
    global _changed
    if _changed:
        _changed = False
        spool.saw(Adapters(process=spool.process(), adapters=tuple(_known.values())))


@finishing.after_fork
def forget_parent() -> None:
    global _changed
    _known.clear()
    _changed = False
