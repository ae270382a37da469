"""Methods, by what they are called on."""

import ast

from surefit.interpreter.attributes import freeze
from surefit.interpreter.backward import run_backward, write_in_place
from surefit.interpreter.checkpoints import load_into_model
from surefit.interpreter.contracts.mixed_operands import move_dropped
from surefit.interpreter.devices import move_target
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.modules import (
    all_layers,
    is_fully_known,
    is_module,
    modules_in,
    move_tensors,
    named_tensors,
    parts_of,
)
from surefit.interpreter.operations import operate
from surefit.interpreter.operators import binary
from surefit.interpreter.optimizers import check_gradients, optimizer_method, zero_gradients
from surefit.interpreter.tensor_creation import GENERATOR, array_method, draw_array
from surefit.interpreter.value_queries import Arguments, apply, dict_value, receiver_node, sequence
from surefit.interpreter.values import (
    CPU,
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DeviceValue,
    DictValue,
    EachParameter,
    InstanceValue,
    LayerValue,
    LibraryObject,
    Module,
    OptimizerValue,
    ParameterSet,
    Scope,
    SequenceValue,
    StateDictValue,
    TensorValue,
)
from surefit.laws.operations.dtypes import CAST_BY

IN_PLACE = (
    *("add_", "sub_", "mul_", "div_", "fill_", "zero_", "clamp_", "clip_", "copy_", "normal_"),
    *("uniform_", "masked_fill_", "relu_", "exp_", "sigmoid_", "tanh_", "softmax_", "pow_"),
    *("random_", "index_fill_", "scatter_", "addcmul_", "addcdiv_", "neg_", "sqrt_", "lerp_"),
)
TEXT_METHODS = ("endswith", "startswith", "lower", "upper", "strip", "replace")
OPERATORS: dict[str, ast.operator] = {
    "add": ast.Add(),
    "sub": ast.Sub(),
    "mul": ast.Mult(),
    "div": ast.Div(),
    "matmul": ast.MatMult(),
}


def call_method(
    run: Evaluator, receiver: AbstractValue, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if is_module(receiver):
        return module_method(run, receiver, name, arguments, node)
    match receiver:
        case TensorValue():
            return tensor_method(run, receiver, name, arguments, node)
        case OptimizerValue():
            return optimizer_method(run, receiver, name, arguments, node)
        case SequenceValue():
            return list_method(run, receiver, name, arguments)
        case DictValue():
            return dict_method(run, receiver, name, arguments)
        case Constant():
            return text_method(receiver, name, arguments)
        case EachParameter(of=parameters, grad=grad):
            if grad:
                check_gradients(run, receiver, node)
            elif name == "requires_grad_":
                freeze(run, parameters.of or (), arguments.flag("requires_grad", 0, True), node)
            return UNKNOWN
        case LibraryObject():
            return library_object_method(run, receiver, name, arguments, node)
    run.escape_all(arguments.values)
    if isinstance(receiver, InstanceValue):
        run.escape(receiver)
    return UNKNOWN


def as_function_arguments(tensor: TensorValue, arguments: Arguments, node: ast.AST) -> Arguments:
    """A method's arguments as those of the function of the same name."""
    nodes: dict[int | str, ast.AST] = {
        key + 1 if isinstance(key, int) else key: item for key, item in arguments.nodes.items()
    }
    receiver = receiver_node(node)
    if receiver is not None:
        nodes[0] = receiver
    return Arguments([tensor, *arguments.positional], arguments.named, nodes, arguments.open)


def tensor_method(
    run: Evaluator, tensor: TensorValue, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if tensor.is_array:
        return array_method(tensor, name, arguments, node)
    if name == "backward" and isinstance(node, ast.Call):
        run_backward(run, tensor, arguments, node)
        return Constant(None)
    if name in IN_PLACE:
        write_in_place(run, tensor, node, receiver_node(node) or node)
        if any(not isinstance(value, Constant) for value in arguments.values):
            run.mark_modified(tensor)
        return tensor
    if name in ("tolist", "numpy"):
        return UNKNOWN
    if name in OPERATORS:
        if len(arguments.positional) != 1 or arguments.named:
            return UNKNOWN
        return binary(run, tensor, OPERATORS[name], arguments.first, (node, node), node)
    return operate(run, name, as_function_arguments(tensor, arguments, node), node)


def text_method(text: Constant, name: str, arguments: Arguments) -> AbstractValue:
    if not isinstance(text.value, str) or name not in TEXT_METHODS or arguments.named:
        return UNKNOWN
    return apply(getattr(text.value, name), arguments.positional)


def library_object_method(
    run: Evaluator, receiver: LibraryObject, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    if receiver.name.endswith("GradScaler"):
        return arguments.first if name == "scale" else UNKNOWN
    if receiver.name.startswith("torch.optim.lr_scheduler"):
        return UNKNOWN
    if receiver.name == GENERATOR:
        return draw_array(name, arguments, node)
    if receiver.name == "io.BytesIO":
        return receiver if name in ("getvalue", "getbuffer") else UNKNOWN
    run.escape_all(arguments.values)
    return UNKNOWN


def check_discarded_move(run: Evaluator, call: ast.Call, scope: Scope) -> None:
    """`x.to(device)` as a statement of its own: a tensor stays where it is."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="to" | "cuda"):
            tensor = scope.find(name)
            if isinstance(tensor, TensorValue):
                run.report(move_dropped, call, call)


def list_method(
    run: Evaluator, values: SequenceValue, name: str, arguments: Arguments
) -> AbstractValue:
    items = values.items
    if items is None or values.kind != "list":
        return UNKNOWN
    left: tuple[AbstractValue, ...] | None = None
    result: AbstractValue = Constant(None)
    match name, arguments.positional:
        case "append", [item]:
            left = (*items, item)
        case "extend", [several]:
            more = iterations_of(run, several)
            left = (*items, *more.items) if more.all_known else None
        case "insert", [Constant(value=int(at)), item]:
            left = (*items[:at], item, *items[at:])
        case "clear", _:
            left = ()
        case "copy", _:
            return sequence("list", items)
        case (("index" | "count"), _):
            return UNKNOWN
        case "pop", _:
            last = arguments.number("index", 0, -1)
            result = UNKNOWN
            if last is not None and -len(items) <= last < len(items):
                result = items[last]
                left = (*items[:last], *items[last:][1:])
        case _:
            result = UNKNOWN
    run.set(values, "items", left)
    return result


def dict_method(
    run: Evaluator, entries: DictValue, name: str, arguments: Arguments
) -> AbstractValue:
    items = entries.items
    if items is None:
        return UNKNOWN
    key = arguments.first
    if name == "get" and isinstance(key, Constant):
        return items.get(key.value, arguments.get("default", 1, Constant(None)))
    if name == "keys":
        return sequence("list", [Constant(item) for item in items])
    if name == "values":
        return sequence("list", items.values())
    if name == "items":
        pairs = [sequence("tuple", (Constant(name), value)) for name, value in items.items()]
        return sequence("list", pairs)
    if name == "copy":
        return DictValue(dict(items), entries.node, entries.loaded)
    run.set(entries, "items", None)
    return UNKNOWN


MOVES_MODULE = ("to", "cuda", "cpu")
RETURNS_MODULE = (
    *("train", "eval", "share_memory", "float", "double", "half", "bfloat16"),
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
        if name in MOVES_MODULE or name in CAST_BY:
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
    kind = model.kind if isinstance(model, LayerValue) else ""
    if isinstance(model, LayerValue) and name == "append" and kind in ("ModuleList", "Sequential"):
        run.set(model.children, str(len(model.children)), arguments.get("module", 0, UNKNOWN))
        return model
    if kind == "ModuleDict" and name in ("keys", "values", "items"):
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
    if name in CAST_BY:
        move_tensors(run, model, None, CAST_BY[name], node)
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
