"""Methods of models."""

import ast

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.attributes import freeze
from surefit.interpreter.checkpoints import load_into_model
from surefit.interpreter.devices import move_target
from surefit.interpreter.dtypes import CASTS
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.modules import (
    all_layers,
    is_fully_known,
    modules_in,
    move_tensors,
    named_tensors,
    parts_of,
)
from surefit.interpreter.optimizers import zero_gradients
from surefit.interpreter.value_queries import dict_value
from surefit.interpreter.values import (
    CPU,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DeviceValue,
    InstanceValue,
    LayerValue,
    Module,
    ParameterSet,
    StateDictValue,
    TensorValue,
)

MOVES_MODULE = ("to", "cuda", "cpu")
RETURNS_MODULE = (
    "train",
    "eval",
    "share_memory",
    "float",
    "double",
    "half",
    "bfloat16",
    *MOVES_MODULE,
)
READS_MODULE = (
    *("extra_repr", "named_children", "get_submodule", "num_parameters", "__len__"),
    *("named_modules", "modules", "children", "named_buffers", "buffers", "zero_grad"),
)


def module_method(
    run: Evaluator, model: Module, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if name in RETURNS_MODULE:
        if name in MOVES_MODULE or name in CASTS:
            move_module(run, model, name, arguments, node)
        elif name in ("train", "eval"):
            mode = False if name == "eval" else arguments.flag("mode", 0, True)
            for module in modules_in(model):
                if isinstance(module, InstanceValue):
                    run.set(module, "training", mode)
        return model
    if name == "requires_grad_":
        flag = arguments.flag("requires_grad", 0, True)
        freeze(run, all_layers(model), flag, node)
        return model
    if name in ("parameters", "named_parameters"):
        named = name == "named_parameters"
        return ParameterSet(all_layers(model), model if is_fully_known(model) else None, named)
    if name == "state_dict":
        return StateDictValue(named_tensors(model), node)
    if name == "load_state_dict":
        load_into_model(run, model, arguments, node)
        return UNKNOWN
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return register(run, model, name, arguments)
    if (
        name == "append"
        and isinstance(model, LayerValue)
        and model.kind in ("ModuleList", "Sequential")
    ):
        run.set(model.children, str(len(model.children)), arguments.get("module", 0, UNKNOWN))
        return model
    is_dict = isinstance(model, LayerValue) and model.kind == "ModuleDict"
    if is_dict and name in ("keys", "values", "items"):
        return run.call(BoundMethod(dict_value(dict(parts_of(model))), name), arguments, node)
    if name == "zero_grad":
        zero_gradients(run, all_layers(model))
    if name in READS_MODULE:
        return UNKNOWN
    run.escape_all(arguments.values)
    if not name.startswith(("log", "save", "post_init")):
        run.escape(model)
    return UNKNOWN


def move_module(
    run: Evaluator, model: Module, name: str, arguments: Arguments, node: ast.AST
) -> None:
    if name in CASTS:
        move_tensors(run, model, None, CASTS[name], node)
    elif name == "to":
        device, dtype = move_target(arguments)
        move_tensors(run, model, device, dtype, node)
    else:
        move_tensors(run, model, CPU if name == "cpu" else DeviceValue("cuda"), None, node)


def register(run: Evaluator, model: Module, name: str, arguments: Arguments) -> AbstractValue:
    key, value = arguments.get("name", 0, UNKNOWN), arguments.get("tensor", 1, UNKNOWN)
    if name in ("add_module", "register_module"):
        value = arguments.get("module", 1, UNKNOWN)
    elif name == "register_parameter":
        value = arguments.get("param", 1, UNKNOWN)
    if not isinstance(key, Constant) or not isinstance(model, InstanceValue):
        run.escape(model)
        return UNKNOWN
    if isinstance(value, TensorValue) and name == "register_buffer":
        keeps = arguments.flag("persistent", 2, True)
        value.registered = "buffer" if keeps else "not saved"
    run.set(model.attributes, str(key.value), value)
    return UNKNOWN
