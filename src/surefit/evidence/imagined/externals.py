"""What a script has imported, as far as it is followed: torch, the builtins, some others."""

import ast
import math
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import arrays, checkpoints, creation, libraries
from surefit.evidence.imagined.classes import lineage
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.items import rounds_of
from surefit.evidence.imagined.layers import made_layer
from surefit.evidence.imagined.operations import device_named, operate
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Class,
    Device,
    Each,
    External,
    Function,
    Instance,
    Known,
    Layer,
    Listed,
    Loader,
    Made,
    Mapped,
    Optimizer,
    Parameters,
    Tensor,
    Whole,
    listed,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

BUILTINS = {
    *("len", "range", "enumerate", "zip", "list", "tuple", "dict", "int", "float", "str", "sum"),
    *("max", "min", "abs", "isinstance", "print", "sorted", "reversed", "bool", "getattr"),
    *("setattr", "hasattr", "exit", "quit", "object", "property", "staticmethod", "open", "round"),
    *("next", "iter", "type", "repr", "id", "super", "any", "all", "set", "Exception", "input"),
    *("ValueError", "RuntimeError", "AssertionError", "NotImplementedError", "TypeError"),
    *("classmethod", "callable", "divmod", "pow", "map", "filter", "slice", "vars", "format"),
}
LEAVES_ALONE = (
    *("torch.", "numpy.", "math.", "time.", "logging.", "os.", "json.", "random.", "tqdm."),
    *("matplotlib.", "wandb.", "sys.", "pathlib.", "collections.", "transformers.set_seed"),
    *("print", "len", "str", "repr", "id", "type", "format", "hasattr", "callable", "round"),
)
"""Functions that change nothing in the models and lists that they are given."""
ENDS = ("exit", "quit", "sys.exit", "os._exit", "os.abort")
CONTEXTS = (
    *("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled"),
    *("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"),
    *("torch.autograd.set_detect_anomaly", "torch.autograd.no_grad", "torch.device"),
)


def called(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    if name in ENDS:
        from surefit.evidence.imagined.running import Ended

        raise Ended
    found = BUILT_IN.get(name)
    if found is not None:
        return found(run, given, node)
    if name.startswith("math."):
        return of_math(name, given, node)
    if name.startswith("torch."):
        return of_torch(run, name, given, node)
    if name.startswith("numpy."):
        return arrays.called(run, name, given, node) or UNKNOWN
    known = libraries.called(run, name, given, node)
    if known is not None:
        return known
    if not name.startswith(LEAVES_ALONE):
        for one in given.all:
            run.escape(one)
    return UNKNOWN


def of_torch(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    last = name.rpartition(".")[2]
    if name in CONTEXTS:
        return context(run, name, given, node)
    if name.startswith("torch.set_default_"):
        run.dtype = run.home = None
        return UNKNOWN
    if name == "torch.save":
        checkpoints.saved(run, given, node)
        return UNKNOWN
    if name == "torch.load":
        return checkpoints.loaded(run, given, node)
    if name.startswith("torch.optim.lr_scheduler.") or last == "GradScaler":
        return Made(name, dict(given.named), node)
    if name.startswith("torch.optim."):
        return made_optimizer(run, last, given, node)
    if name.startswith("torch.utils.data."):
        return of_data(run, name, given, node)
    if last == "pad_sequence":
        return creation.padded(run, given, node)
    if name in ("torch.utils.checkpoint.checkpoint",):
        return creation.checkpointed(run, given, node)
    if name == "torch.compile":
        return given.get("model", 0, UNKNOWN)
    if name.startswith("torch.nn.functional.") or name.startswith("torch.special."):
        return operate(run, last, given, node)
    if name.startswith("torch.nn.init.") or name.startswith("torch.nn.utils."):
        return UNKNOWN
    if name.startswith("torch.nn."):
        return made_layer(run, last, given, node) if last[:1].isupper() else UNKNOWN
    if name.count(".") > 1 and not name.startswith("torch.Tensor."):
        return UNKNOWN
    made = creation.created(run, last, given, node)
    return operate(run, last, given, node) if made is None else made


def context(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    if name == "torch.device":
        return device_of(given)
    mode = given.get("mode", 0, None)
    if name == "torch.set_grad_enabled" and is_statement(run, node):
        run.graphs.enter(name, mode, node)
    return Made(name, {"mode": mode}, node)


def is_statement(run: "Run", node: ast.AST) -> bool:
    """A call that stands alone holds until it is taken back."""
    return isinstance(run.source.parents.get(node), ast.Expr)


def device_of(given: Given) -> Any:
    value = given.get("device", 0, UNKNOWN)
    if isinstance(value, Device):
        return value
    if isinstance(value, Known) and isinstance(value.value, str):
        return device_named(value.value)
    return UNKNOWN


def one_device(first: Any, second: Any) -> Any:
    """`"cuda" if torch.cuda.is_available() else "cpu"`: another device on machines that have it."""
    names = [
        one.value
        for one in (first, second)
        if isinstance(one, Known) and isinstance(one.value, str)
    ]
    gpu = [one for one in names if one.split(":")[0] in ("cuda", "mps", "xpu")]
    if len(names) == 2 and len(gpu) >= 1:
        return Device(gpu[0])
    devices = [one for one in (first, second) if isinstance(one, Device)]
    return (
        devices[0] if devices and len(devices) + (second == "cpu") + (first == "cpu") == 2 else None
    )


def made_optimizer(run: "Run", kind: str, given: Given, node: ast.AST) -> Any:
    params = given.get("params", 0, UNKNOWN)
    groups: tuple[Any, ...] | None = None
    if isinstance(params, Parameters):
        groups = (params,)
    elif isinstance(params, Listed) and params.items is not None:
        several = [
            one.items.get("params") if isinstance(one, Mapped) and one.items is not None else None
            for one in params.items
        ]
        if several and all(isinstance(one, Parameters) for one in several):
            groups = tuple(several)
    made = Optimizer(kind, node, groups, {"lr": given.get("lr", 1, UNKNOWN)})
    run.optimizers.append(made)
    libraries.look_for_rounding(run, made, node)
    return made


def of_data(_run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    last = name.rpartition(".")[2]
    if last == "DataLoader":
        collate = given.get("collate_fn", 6, None)
        if isinstance(collate, Known) and collate.value is None:
            collate = None
        sizes = given.get("batch_size", 1, Known(1))
        if isinstance(sizes, Known) and sizes.value is None:
            return UNKNOWN
        return Loader(given.get("dataset", 0, UNKNOWN), collate, node)
    if last == "TensorDataset":
        return UNKNOWN if given.open else Made(name, {"of": list(given.plain)}, node)
    if last == "Subset":
        return Made(name, {"of": list(given.all)}, node)
    if last == "random_split":
        part = Made("torch.utils.data.Subset", {"of": [given.get("dataset", 0, UNKNOWN)]}, node)
        sizes = given.get("lengths", 1, UNKNOWN)
        count = len(sizes.items) if isinstance(sizes, Listed) and sizes.items is not None else 0
        return listed("list", [part] * count) if count else UNKNOWN
    return UNKNOWN


def of_math(name: str, given: Given, _node: ast.AST) -> Any:
    numbers = [one.value for one in given.plain if isinstance(one, Known)]
    function = getattr(math, name.rpartition(".")[2], None)
    if len(numbers) != len(given.plain) or given.named or given.open:
        return UNKNOWN
    if isinstance(function, float):
        return UNKNOWN
    try:
        got = function(*numbers) if callable(function) else None
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
    return Known(got) if isinstance(got, int | float) else UNKNOWN


def super_called(_run: "Run", node: ast.Call) -> str | None:
    """`forward` for `super().forward(...)`."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            return name
    return None


# builtins


def length(run: "Run", given: Given, node: ast.AST) -> Any:
    from surefit.evidence.imagined.items import as_value

    value = given.plain[0] if given.plain else UNKNOWN
    if isinstance(value, Tensor):
        return as_value(value.shape.size(0))
    if isinstance(value, Listed | Mapped):
        return Whole() if value.items is None else Known(len(value.items))
    if isinstance(value, Known) and isinstance(value.value, str):
        return Known(len(value.value))
    if isinstance(value, Layer) and value.kind in ("Sequential", "ModuleList"):
        return Known(len(value.children))
    if isinstance(value, Instance):
        return run.call(attribute(run, value, "__len__", node), Given(), node)
    return Whole()


def attribute(run: "Run", value: Any, name: str, node: ast.AST) -> Any:
    from surefit.evidence.imagined.modules import attribute_of

    found = attribute_of(run, value, name, node)
    return found if getattr(found, "function", None) else UNKNOWN


def ranged(_run: "Run", given: Given, node: ast.AST) -> Any:
    return Made("range", {"of": list(given.plain)}, node)


def enumerated(_run: "Run", given: Given, node: ast.AST) -> Any:
    start = given.get("start", 1, Known(0))
    of = given.plain[0] if given.plain else UNKNOWN
    return Made("enumerate", {"of": of, "start": start}, node)


def zipped(_run: "Run", given: Given, node: ast.AST) -> Any:
    return UNKNOWN if given.open else Made("zip", {"of": list(given.plain)}, node)


def shown(_run: "Run", given: Given, _node: ast.AST) -> Any:
    """`tqdm(loader)` goes over what it was given."""
    return given.plain[0] if given.plain else UNKNOWN


def as_list(kind: str) -> Any:
    def made(run: "Run", given: Given, node: ast.AST) -> Any:
        if not given.plain:
            return listed(kind, ())
        value = given.plain[0]
        if isinstance(value, Parameters):
            return value
        rounds = rounds_of(run, value)
        return listed(kind, rounds.items if rounds.all_known else None, node)

    return made


def backwards(run: "Run", given: Given, _node: ast.AST) -> Any:
    rounds = rounds_of(run, given.plain[0]) if given.plain else None
    known = rounds is not None and rounds.all_known
    return listed("list", rounds.items[::-1] if known and rounds else None)


def as_dict(_run: "Run", given: Given, node: ast.AST) -> Any:
    if given.open or len(given.plain) > 1:
        return UNKNOWN
    first = given.plain[0] if given.plain else Mapped({"items": {}})
    if not isinstance(first, Mapped) or first.items is None:
        return UNKNOWN
    return Mapped({"items": {**first.items, **given.named}}, node)


def number(kind: type) -> Any:
    def made(_run: "Run", given: Given, node: ast.AST) -> Any:
        value = given.plain[0] if len(given.plain) == 1 else None
        if isinstance(value, Known) and not isinstance(value.value, tuple):
            try:
                return Known(kind(value.value), node if isinstance(node, ast.expr) else None)
            except (TypeError, ValueError):
                return UNKNOWN
        if isinstance(value, Tensor):
            return UNKNOWN
        return value if kind is int and isinstance(value, Whole) else UNKNOWN

    return made


def total(run: "Run", given: Given, node: ast.AST) -> Any:
    from surefit.evidence.imagined.operators import binary

    items = given.plain[0].items if given.plain and isinstance(given.plain[0], Listed) else None
    if items is None:
        return UNKNOWN
    result: Any = given.get("start", 1, Known(0))
    for one in items:
        result = binary(run, result, ast.Add(), one, (node, node), node)
    return result


def extreme(function: Any) -> Any:
    def made(_run: "Run", given: Given, _node: ast.AST) -> Any:
        values = list(given.plain)
        if len(values) == 1 and isinstance(values[0], Listed) and values[0].items:
            values = list(values[0].items)
        numbers = [one.value for one in values if isinstance(one, Known)]
        if not numbers or len(numbers) != len(values) or given.named:
            return UNKNOWN
        try:
            return Known(function(numbers))
        except TypeError:
            return UNKNOWN

    return made


def is_instance(_run: "Run", given: Given, _node: ast.AST) -> Any:
    if len(given.plain) != 2:
        return UNKNOWN
    value, kinds = given.plain
    several = kinds.items if isinstance(kinds, Listed) and kinds.items else (kinds,)
    results = [one_instance(value, one) for one in several]
    if True in results:
        return Known(True)
    return UNKNOWN if None in results else Known(False)


TYPES = {"list": "list", "tuple": "tuple"}


def one_instance(value: Any, kind: Any) -> bool | None:
    name = kind.name if isinstance(kind, External) else ""
    if isinstance(value, Tensor):
        if name in ("torch.Tensor", "torch.FloatTensor"):
            return True if name == "torch.Tensor" else None
        return False if name in ("list", "tuple", "dict", "str", "int") else None
    if isinstance(value, Listed):
        if name in TYPES:
            return value.kind == name
        return False if name in ("torch.Tensor", "dict", "str", "int", "float") else None
    if isinstance(value, Mapped):
        return {"dict": True, "list": False, "tuple": False, "torch.Tensor": False}.get(name)
    if isinstance(value, Known) and name in ("int", "float", "str", "bool", "list", "tuple"):
        return isinstance(
            value.value,
            {"int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple}[
                name
            ],
        )
    if isinstance(value, Whole):
        return {"int": True, "str": False, "list": False, "tuple": False}.get(name)
    if isinstance(value, Layer):
        if name.startswith("torch.nn."):
            last = name.rpartition(".")[2]
            return last in (value.kind, "Module")
        return False if isinstance(kind, Class) else None
    if isinstance(value, Instance) and isinstance(kind, Class):
        return kind in lineage(value.of)
    return None


def get_attribute(run: "Run", given: Given, node: ast.AST) -> Any:
    from surefit.evidence.imagined.modules import attribute_of

    if len(given.plain) == 2 and isinstance(given.plain[1], Known):
        return attribute_of(run, given.plain[0], str(given.plain[1].value), node)
    return UNKNOWN


def set_attribute(run: "Run", given: Given, _node: ast.AST) -> Any:
    from surefit.evidence.imagined.modules import set_attribute as set_

    if len(given.plain) == 3 and isinstance(given.plain[1], Known):
        place = ast.Attribute(ast.Name("x"), str(given.plain[1].value))
        set_(run, given.plain[0], str(given.plain[1].value), given.plain[2], place)
    elif given.plain:
        run.escape(given.plain[0])
    return UNKNOWN


def taken_next(run: "Run", given: Given, _node: ast.AST) -> Any:
    value = given.plain[0] if given.plain else UNKNOWN
    if isinstance(value, Loader):
        return rounds_of(run, value).item(0)
    if isinstance(value, Parameters):
        return Each(value) if value.of else UNKNOWN
    return UNKNOWN


def given_back(_run: "Run", given: Given, _node: ast.AST) -> Any:
    value = given.plain[0] if given.plain else UNKNOWN
    return value if isinstance(value, Loader) else UNKNOWN


def filtered(_run: "Run", given: Given, _node: ast.AST) -> Any:
    """`filter(lambda p: p.requires_grad, model.parameters())`."""
    if len(given.plain) == 2 and isinstance(given.plain[1], Parameters):
        function, over = given.plain
        if isinstance(function, Function) and isinstance(function.node, ast.Lambda):
            body = ast.unparse(function.node.body)
            if body == f"{function.node.args.args[0].arg}.requires_grad" and over.of is not None:
                states = [one.state["trainable"] for one in over.of if isinstance(one, Layer)]
                if None not in states and len(states) == len(over.of):
                    kept = tuple(one for one in over.of if one.state["trainable"])
                    return Parameters(kept, over.model)
    return UNKNOWN


def in_memory(_run: "Run", given: Given, node: ast.AST) -> Any:
    """A file in memory; one that is made from what another held is the same file."""
    if given.plain and isinstance(given.plain[0], Made):
        return given.plain[0]
    return Made("io.BytesIO", {}, node)


def copied(_run: "Run", _given: Given, _node: ast.AST) -> Any:
    return UNKNOWN


BUILT_IN: dict[str, Any] = {
    "len": length,
    "range": ranged,
    "enumerate": enumerated,
    "zip": zipped,
    "tqdm.tqdm": shown,
    "tqdm.auto.tqdm": shown,
    "tqdm.trange": ranged,
    "list": as_list("list"),
    "tuple": as_list("tuple"),
    "reversed": backwards,
    "dict": as_dict,
    "int": number(int),
    "float": number(float),
    "str": number(str),
    "sum": total,
    "max": extreme(max),
    "min": extreme(min),
    "isinstance": is_instance,
    "getattr": get_attribute,
    "setattr": set_attribute,
    "next": taken_next,
    "iter": given_back,
    "filter": filtered,
    "copy.deepcopy": copied,
    "io.BytesIO": in_memory,
}
