"""Methods of what a script holds: tensors, models, lists, optimizers."""

import ast
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import arrays, checkpoints
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.graphs import backward, look_for_idle, stepped, touched
from surefit.evidence.imagined.items import rounds_of
from surefit.evidence.imagined.mishaps import Discarded
from surefit.evidence.imagined.modules import (
    all_layers,
    freeze,
    is_known_whole,
    is_module,
    moved,
    named_tensors,
)
from surefit.evidence.imagined.operations import CASTS, operate, where_to, written
from surefit.evidence.imagined.operators import look_for_no_gradient
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Device,
    Each,
    Instance,
    Known,
    Layer,
    Listed,
    Made,
    Mapped,
    Optimizer,
    Parameters,
    Scope,
    StateDict,
    Tensor,
    listed,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

IN_PLACE = (
    *("add_", "sub_", "mul_", "div_", "fill_", "zero_", "clamp_", "clip_", "copy_", "normal_"),
    *("uniform_", "masked_fill_", "relu_", "exp_", "sigmoid_", "tanh_", "softmax_", "pow_"),
    *("random_", "index_fill_", "scatter_", "addcmul_", "addcdiv_", "neg_", "sqrt_", "lerp_"),
)
MOVES = ("to", "cuda", "cpu")
KEEPS = ("train", "eval", "share_memory", "float", "double", "half", "bfloat16", *MOVES)
READS = (
    *("extra_repr", "named_children", "get_submodule", "num_parameters", "__len__"),
    *("named_modules", "modules", "children", "named_buffers", "buffers", "zero_grad"),
)


def called(run: "Run", to: Any, name: str, given: Given, node: ast.AST) -> Any:
    if isinstance(to, Tensor):
        return tensor_method(run, to, name, given, node)
    if is_module(to):
        return module_method(run, to, name, given, node)
    if isinstance(to, Optimizer):
        return optimizer_method(run, to, name, given, node)
    if isinstance(to, Listed):
        return list_method(run, to, name, given)
    if isinstance(to, Mapped):
        return dict_method(run, to, name, given)
    if isinstance(to, Known):
        return text_method(to, name, given)
    if isinstance(to, Each):
        return each_method(run, to, name, given, node)
    if isinstance(to, Made):
        return made_method(run, to, name, given, node)
    for one in given.all:
        run.escape(one)
    if isinstance(to, Instance):
        run.escape(to)
    return UNKNOWN


def with_tensor(tensor: Tensor, given: Given, node: ast.AST) -> Given:
    """A method's arguments as those of the function of the same name."""
    nodes: dict[int | str, ast.AST] = {
        key + 1 if isinstance(key, int) else key: one for key, one in given.nodes.items()
    }
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        nodes[0] = node.func.value
    return Given([tensor, *given.plain], given.named, nodes, given.open)


def tensor_method(run: "Run", tensor: Tensor, name: str, given: Given, node: ast.AST) -> Any:
    if tensor.state.get("array"):
        return arrays.method(tensor, name, given, node)
    if name == "backward" and isinstance(node, ast.Call):
        backward(run, tensor, given, node)
        return Known(None)
    if name in IN_PLACE:
        target = (
            node.func.value
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            else node
        )
        written(run, tensor, node, target)
        if any(not isinstance(one, Known) for one in given.all):
            touched(run, tensor)
        return tensor
    if name in ("tolist", "numpy"):
        return UNKNOWN
    if name in ("add", "sub", "mul", "div", "matmul"):
        return arithmetic(run, tensor, name, given, node)
    return operate(run, name, with_tensor(tensor, given, node), node)


def arithmetic(run: "Run", tensor: Tensor, name: str, given: Given, node: ast.AST) -> Any:
    from surefit.evidence.imagined.operators import binary

    signs: dict[str, ast.operator] = {
        "add": ast.Add(),
        "sub": ast.Sub(),
        "mul": ast.Mult(),
        "div": ast.Div(),
        "matmul": ast.MatMult(),
    }
    if len(given.plain) != 1 or given.named:
        return UNKNOWN
    return binary(run, tensor, signs[name], given.plain[0], (node, node), node)


def module_method(run: "Run", to: Any, name: str, given: Given, node: ast.AST) -> Any:
    if name in KEEPS:
        if name in MOVES or name in CASTS:
            move(run, to, name, given, node)
        return to
    if name == "requires_grad_":
        flag = given.flag("requires_grad", 0, True)
        freeze(run, all_layers(to), flag, node)
        return to
    if name in ("parameters", "named_parameters"):
        whole_model = is_known_whole(to)
        found = all_layers(to)
        return Parameters(found, to if whole_model else None, name == "named_parameters")
    if name == "state_dict":
        return StateDict(named_tensors(to), to, node)
    if name == "load_state_dict":
        checkpoints.loaded_into(run, to, given, node)
        return UNKNOWN
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return registered(run, to, name, given)
    if name == "append" and isinstance(to, Layer) and to.kind in ("ModuleList", "Sequential"):
        run.set(to.children, str(len(to.children)), given.get("module", 0, UNKNOWN))
        return to
    if name == "keys" and isinstance(to, Layer) and to.kind == "ModuleDict":
        return listed("list", [Known(key) for key in to.children])
    if name == "values" and isinstance(to, Layer) and to.kind == "ModuleDict":
        return listed("list", to.children.values())
    if name == "items" and isinstance(to, Layer) and to.kind == "ModuleDict":
        pairs = [listed("tuple", (Known(key), one)) for key, one in to.children.items()]
        return listed("list", pairs)
    if name == "zero_grad":
        zero_gradients(run, all_layers(to))
    if name in READS:
        return UNKNOWN
    for one in given.all:
        run.escape(one)
    if not name.startswith(("log", "save", "post_init")):
        run.escape(to)
    return UNKNOWN


def move(run: "Run", to: Any, name: str, given: Given, node: ast.AST) -> None:
    if name in CASTS:
        moved(run, to, None, CASTS[name], node)
    elif name == "to":
        device, dtype = where_to(given)
        moved(run, to, device, dtype or None, node)
        if dtype == "":
            for one in all_layers(to):
                run.set(one.state, "dtype", None)
    else:
        moved(run, to, "cpu" if name == "cpu" else Device("cuda"), None, node)


def registered(run: "Run", to: Any, name: str, given: Given) -> Any:
    key, value = given.get("name", 0, UNKNOWN), given.get("tensor", 1, UNKNOWN)
    if name in ("add_module", "register_module"):
        value = given.get("module", 1, UNKNOWN)
    elif name == "register_parameter":
        value = given.get("param", 1, UNKNOWN)
    if not isinstance(key, Known) or not isinstance(to, Instance):
        run.escape(to)
        return UNKNOWN
    if isinstance(value, Tensor) and name == "register_buffer":
        keeps = given.flag("persistent", 2, True)
        value.state["registered"] = "buffer" if keeps else "passing"
    run.set(to.state, str(key.value), value)
    return UNKNOWN


def zero_gradients(run: "Run", holders: Any) -> None:
    for one in holders:
        if isinstance(one, Layer):
            run.set(one.state, "gradient", False)


def held(optimizer: Optimizer) -> list[Any]:
    return [
        one
        for group in optimizer.groups or ()
        if isinstance(group, Parameters)
        for one in group.of or ()
    ]


def optimizer_method(run: "Run", to: Optimizer, name: str, given: Given, node: ast.AST) -> Any:
    if name == "step" and not given.plain and not given.named:
        look_for_idle(run, to, held(to), node)
        stepped(run, held(to), node)
    elif name == "zero_grad":
        zero_gradients(run, held(to))
    elif name == "state_dict":
        return checkpoints.optimizer_state(to, node)
    elif name == "load_state_dict":
        checkpoints.optimizer_loaded(run, to, given, node)
    elif name == "add_param_group":
        to.groups = None
    return UNKNOWN


def list_method(run: "Run", to: Listed, name: str, given: Given) -> Any:
    items = to.items
    if items is None or to.kind != "list":
        return UNKNOWN
    if name == "append" and len(given.plain) == 1:
        run.set(to.state, "items", (*items, given.plain[0]))
        return Known(None)
    if name == "extend" and len(given.plain) == 1:
        more = rounds_of(run, given.plain[0])
        run.set(to.state, "items", (*items, *more.items) if more.all_known else None)
        return Known(None)
    if name == "pop":
        at = given.number("index", 0, -1)
        if at is None or not -len(items) <= at < len(items):
            run.set(to.state, "items", None)
            return UNKNOWN
        left = list(items)
        taken = left.pop(at)
        run.set(to.state, "items", tuple(left))
        return taken
    if name == "insert" and len(given.plain) == 2 and whole(given.plain[0]) is not None:
        changed = list(items)
        changed.insert(whole(given.plain[0]) or 0, given.plain[1])
        run.set(to.state, "items", tuple(changed))
        return Known(None)
    if name == "clear":
        run.set(to.state, "items", ())
        return Known(None)
    if name not in ("index", "count", "copy"):
        run.set(to.state, "items", None)
    return listed("list", items) if name == "copy" else UNKNOWN


def dict_method(run: "Run", to: Mapped, name: str, given: Given) -> Any:
    items = to.items
    if items is None:
        return UNKNOWN
    key = given.plain[0] if given.plain else None
    if name == "get" and isinstance(key, Known):
        return items.get(key.value, given.get("default", 1, Known(None)))
    if name == "keys":
        return listed("list", [Known(one) for one in items])
    if name == "values":
        return listed("list", items.values())
    if name == "items":
        return listed("list", [listed("tuple", (Known(one), got)) for one, got in items.items()])
    if name == "copy":
        return Mapped({"items": dict(items)}, to.node, to.loaded)
    run.set(to.state, "items", None)
    return UNKNOWN


def text_method(to: Known, name: str, given: Given) -> Any:
    plain = [one.value for one in given.plain if isinstance(one, Known)]
    if not isinstance(to.value, str) or len(plain) != len(given.plain) or given.named:
        return UNKNOWN
    if name in ("endswith", "startswith", "lower", "upper", "strip", "replace"):
        try:
            return Known(getattr(to.value, name)(*plain))
        except TypeError:
            return UNKNOWN
    return UNKNOWN


def each_method(run: "Run", each: Each, name: str, given: Given, node: ast.AST) -> Any:
    if each.grad:
        look_for_no_gradient(run, each, node)
    elif name == "requires_grad_":
        flag = given.flag("requires_grad", 0, True)
        freeze(run, each.of.of or (), flag, node)
    return UNKNOWN


def made_method(run: "Run", to: Made, name: str, given: Given, node: ast.AST) -> Any:
    if to.name.endswith("GradScaler"):
        if name == "scale" and given.plain:
            return given.plain[0]
        return UNKNOWN
    if to.name.startswith("torch.optim.lr_scheduler"):
        return UNKNOWN
    if to.name == arrays.GENERATOR:
        return arrays.drawn(name, given, node) or UNKNOWN
    if to.name == "io.BytesIO":
        return to if name in ("getvalue", "getbuffer") else UNKNOWN
    for one in given.all:
        run.escape(one)
    return UNKNOWN


def look_for_discarded(run: "Run", call: ast.Call, scope: Scope) -> None:
    """`x.to(device)` as a statement of its own: a tensor stays where it is."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return
    if not isinstance(call.func.value, ast.Name):
        return
    tensor = scope.find(call.func.value.id)
    if isinstance(tensor, Tensor):
        run.mishap(Discarded(call, tensor))
