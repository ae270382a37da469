"""What methods of tensors and functions of torch make of sizes and kinds."""

import ast
from dataclasses import replace

from surefit.evidence.known_tensors import (
    Sizes,
    Tensor,
    Value,
    cast,
    flattened,
    shaped,
    squeezed,
    swapped,
    unsqueezed,
    without_axis,
)
from surefit.source.constants import truth, whole
from surefit.source.reading import Source

KINDS = {
    "float": "float",
    "float32": "float",
    "double": "double",
    "float64": "double",
    "half": "half",
    "float16": "half",
    "bfloat16": "bfloat16",
    "long": "long",
    "int64": "long",
    "int": "int",
    "int32": "int",
    "bool": "bool",
}
CASTS = ("float", "double", "half", "bfloat16", "long", "int", "bool")
SAME = (
    *("clone", "detach", "cpu", "cuda", "contiguous", "requires_grad_", "clamp", "abs", "neg"),
    *("relu", "masked_fill", "pin_memory", "fill_", "zero_", "clip", "flip", "roll"),
)
SAME_AND_FLOAT = (
    *("softmax", "log_softmax", "sigmoid", "tanh", "exp", "log", "sqrt", "gelu", "dropout"),
    *("normalize", "silu", "leaky_relu", "logsigmoid", "softplus"),
)
REDUCES = {"mean": "", "sum": "", "std": "", "argmax": "long", "argmin": "long", "all": "bool"}
MADE = ("randn", "rand", "zeros", "ones", "empty", "full", "randint")


def kind_of_argument(source: Source, node: ast.expr | None) -> str:
    """`long` for `torch.long`; empty for everything else."""
    package, _, last = source.imported(node).rpartition(".") if node is not None else ("", "", "")
    return KINDS.get(last, "") if package == "torch" else ""


def changed(source: Source, name: str, tensor: Tensor, call: ast.Call, skip: int) -> Value:
    """What a method, or the function of the same name, makes of a tensor; `skip` arguments of the
    call are the tensor itself. None for what is not known."""
    args = call.args[skip:]
    if any(isinstance(one, ast.Starred) for one in args) or has_stars(call):
        return None
    first, second = (whole(source, args[at]) if at < len(args) else None for at in (0, 1))
    if name in CASTS:
        return cast(tensor, KINDS[name])
    if name in ("to", "type"):
        return converted(source, tensor, call, args)
    if name in SAME:
        return tensor
    if name in SAME_AND_FLOAT:
        return replace(tensor, kind="" if tensor.kind != "float" else "float", is_one_hot=False)
    if name in REDUCES:
        return reduced(source, name, tensor, call, args)
    if name in ("view", "reshape"):
        sizes = wanted_sizes(source, args)
        return shaped(tensor, sizes, flattened=len(sizes or ()) in range(1, tensor.axes or 0))
    if name == "flatten" and len(args) + len(call.keywords) == len(args):
        begin = 0 if not args else first
        end = -1 if len(args) < 2 else second
        known = begin is not None and end is not None
        if begin == 0 and end == -1:
            return shaped(tensor, (None,), flattened=True)
        return shaped(tensor, flattened(tensor, begin, end), flattened=True) if known else None  # type: ignore[arg-type]
    if name == "squeeze" and not call.keywords:
        known = not args or first is not None
        return shaped(tensor, squeezed(tensor, first) if known else None)
    if name == "unsqueeze":
        at = first if args else whole(source, source.argument(call, "dim"))
        return shaped(tensor, unsqueezed(tensor, at) if at is not None else None)
    if name in ("transpose", "swapaxes"):
        known = first is not None and second is not None
        return shaped(tensor, swapped(tensor, first, second) if known else None)  # type: ignore[arg-type]
    if name == "permute":
        return shaped(tensor, permuted(source, tensor, args))
    return None


def has_stars(call: ast.Call) -> bool:
    return any(one.arg is None for one in call.keywords)


def converted(source: Source, tensor: Tensor, call: ast.Call, args: list[ast.expr]) -> Value:
    """`.to(device)` keeps the kind; `.to(other)` of an unknown name can be either."""
    given = [*args, *(one.value for one in call.keywords if one.arg == "dtype")]
    kinds = [kind for one in given if (kind := kind_of_argument(source, one))]
    if kinds:
        return cast(tensor, kinds[0])
    plain = all(is_device(one) for one in args) and len(given) == len(args)
    return tensor if plain else cast(tensor, "")


def is_device(node: ast.expr) -> bool:
    written = ast.unparse(node).lower()
    return isinstance(node, ast.Constant) or "device" in written or "cuda" in written


def reduced(
    source: Source, name: str, tensor: Tensor, call: ast.Call, args: list[ast.expr]
) -> Value:
    given = args[0] if args else source.argument(call, "dim") or source.argument(call, "axis")
    axis = whole(source, given) if given is not None else None
    kind = REDUCES[name] or (tensor.kind if tensor.kind in ("float", "double") else "")
    if given is not None and axis is None:
        return Tensor(None, kind)
    keeps = source.argument(call, "keepdim") or (args[1] if len(args) > 1 else None)
    keep = truth(source, keeps) if keeps is not None else False
    if keep is None:
        return Tensor(None, kind)
    return Tensor(without_axis(tensor, axis, keep=keep), kind)


def wanted_sizes(source: Source, args: list[ast.expr]) -> Sizes | None:
    """Of `view(rows, -1)`; a single name can be a shape."""
    if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List):
        args = args[0].elts
    elif len(args) == 1 and whole(source, args[0]) is None:
        return None
    if not args or any(isinstance(one, ast.Starred) for one in args):
        return None
    found = [whole(source, one) for one in args]
    return tuple(None if one == -1 else one for one in found)


def permuted(source: Source, tensor: Tensor, args: list[ast.expr]) -> Sizes | None:
    order = [whole(source, one) for one in args]
    if tensor.sizes is None or sorted(one if one is not None else -1 for one in order) != list(
        range(len(tensor.sizes))
    ):
        return None
    return tuple(tensor.sizes[one] for one in order if one is not None)


def made(source: Source, name: str, call: ast.Call) -> Tensor | None:
    """A tensor that a function of torch makes of sizes: `torch.randn(8, 3)`."""
    if has_stars(call) or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    given = source.argument(call, "dtype")
    kind = kind_of_argument(source, given) if given is not None else ""
    if name == "arange":
        count = whole(source, call.args[0]) if len(call.args) == 1 else None
        whole_ones = all(whole(source, one) is not None for one in call.args)
        return Tensor((count,), kind or ("long" if whole_ones and given is None else ""))
    if name not in MADE:
        return None
    default = "long" if name == "randint" else "float"
    if name == "full":
        default = ""
    return Tensor(sizes_made(source, name, call), kind if given is not None else default)


def sizes_made(source: Source, name: str, call: ast.Call) -> Sizes | None:
    if name in ("randint", "full"):
        at = 0 if name == "full" else 2
        size = source.argument(call, "size", at)
        if size is None and name == "randint" and len(call.args) == 2:
            size = call.args[1]
        return wanted_sizes(source, [size]) if isinstance(size, ast.Tuple | ast.List) else None
    return wanted_sizes(source, call.args)
