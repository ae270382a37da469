"""Adapters of PEFT: the layers that they were asked for, those that they are on, and whether they
are frozen. Read from PEFT's own attributes when optimizers step; no code of it is run."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from surefit.doctor.measures.weights_learn import Adapters, AdapterSeen
from surefit.observe.inside import events, finishing, origins, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import hanging, optimizers, periodic, readable
from surefit.observe.inside.training.letters import noted

PEFT = "peft.tuners.tuners_utils"
ADAPTABLE = ("Linear", "Conv1D")
MOST_LAYERS = 4096
MOST = 8

_known: dict[int, AdapterSeen] = {}
_written = 0


@after_import(PEFT)
def peft(_module: ModuleType) -> None:
    events.step_ended.wake(stepped)


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
    global _written
    if len(_known) != _written:
        _written = len(_known)
        spool.saw(Adapters(process=spool.process(), adapters=tuple(_known.values())))


@finishing.after_fork
def forget_parent() -> None:
    global _written
    _known.clear()
    _written = 0
