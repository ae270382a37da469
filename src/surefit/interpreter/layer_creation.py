"""Layers of `torch.nn`: creating them; widths that heads or groups cannot divide."""

import ast

from surefit.interpreter.contracts.shapes import indivisible_width
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.iteration import iterations_of
from surefit.interpreter.layer_tables import ARGUMENTS, SHAPE_PRESERVING
from surefit.interpreter.value_queries import Arguments
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    DictValue,
    LayerValue,
    Scope,
    SequenceValue,
    TensorValue,
    integer_of,
)

HEADS = (("d_model", "nhead"),)
GROUPS = (("in_channels", "groups"), ("out_channels", "groups"))
LAYER_DIVISIONS = {
    "MultiheadAttention": (("embed_dim", "num_heads"),),
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"), HEADS),
    "GroupNorm": (("num_channels", "num_groups"),),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), GROUPS),
}
BERT_DIVISION = ("hidden_size", "num_attention_heads", 768, 12)
CONFIG_DIVISIONS: dict[str, tuple[str, str, int, int]] = {
    "GPT2Config": ("n_embd", "n_head", 768, 12),
    "BertConfig": BERT_DIVISION,
    "RobertaConfig": BERT_DIVISION,
    "ElectraConfig": ("hidden_size", "num_attention_heads", 256, 4),
    "DistilBertConfig": ("dim", "n_heads", 768, 12),
    "ViTConfig": BERT_DIVISION,
}
"""Configs whose model refuses a width that its heads do not divide, with their defaults."""


def check_config_divides(run: Evaluator, kind: str, arguments: Arguments, node: ast.AST) -> None:
    if kind not in CONFIG_DIVISIONS:
        return
    width_name, count_name, width, count = CONFIG_DIVISIONS[kind]
    if width_name in arguments.named or count_name in arguments.named:
        has = arguments.named.get(width_name, Constant(width, node))
        parts = arguments.named.get(count_name, Constant(count, node))
        check_division(run, node, (width_name, count_name), (has, parts))


def check_own_division(run: Evaluator, test: ast.expr, scope: Scope, node: ast.AST) -> None:
    """`a % b` in a check of the script's own that certainly fails."""
    for part in ast.walk(test):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            values = run.evaluate(part.left, scope), run.evaluate(part.right, scope)
            names = ast.unparse(part.left), ast.unparse(part.right)
            if check_division(run, node, names, values):
                return


def check_division(
    run: Evaluator,
    node: ast.AST,
    names: tuple[str, str],
    values: tuple[AbstractValue | None, AbstractValue | None],
) -> bool:
    width, count = (integer_of(value) for value in values)
    if width is None or not count or width % count == 0 or not isinstance(values[1], Constant):
        return False
    birth = values[1].node or node
    run.report(indivisible_width, node, birth, names, width, count)
    return True


KNOWN_KINDS = {*ARGUMENTS, *SHAPE_PRESERVING}


def create_layer(run: Evaluator, kind: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if kind in ("Sequential", "ModuleList", "ModuleDict"):
        return create_container(run, kind, arguments, node)
    if kind == "Parameter":
        return create_parameter(arguments, node)
    if kind not in KNOWN_KINDS or arguments.open:
        run.escape_all(arguments.values)
        return UNKNOWN
    names = ARGUMENTS.get(kind, ())
    if len(arguments.positional) > len(names):
        return UNKNOWN if names else LayerValue(kind, {}, node)
    settings = {**dict(zip(names, arguments.positional, strict=False)), **arguments.named}
    layer = LayerValue(kind, settings, node, run.dtype, run.default_device)
    for pair in LAYER_DIVISIONS.get(kind, ()):
        check_division(run, node, pair, (settings.get(pair[0]), settings.get(pair[1])))
    if kind == "DataParallel":
        layer.children["module"] = settings.get("module", UNKNOWN)
    if kind == "TransformerEncoder" and not isinstance(settings.get("encoder_layer"), LayerValue):
        return UNKNOWN
    if "dtype" in settings or "device" in settings:
        layer.dtype = layer.device = None
    return layer


def create_container(
    run: Evaluator, kind: str, arguments: Arguments, node: ast.AST
) -> AbstractValue:
    layer = LayerValue(kind, {}, node)
    if arguments.open:
        return UNKNOWN
    children, first = tuple(arguments.positional), arguments.first
    if isinstance(first, DictValue) or (children and kind == "ModuleDict"):
        if not isinstance(first, DictValue) or first.items is None:
            return UNKNOWN
        layer.children.update({str(key): child for key, child in first.items.items()})
        return layer
    if children and kind == "ModuleList":
        iterations = iterations_of(run, first)
        if not iterations.all_known:
            return UNKNOWN
        children = iterations.items
    if any(isinstance(child, SequenceValue) for child in children):
        return UNKNOWN
    layer.children.update({str(at): child for at, child in enumerate(children)})
    return layer


def create_parameter(arguments: Arguments, node: ast.AST) -> AbstractValue:
    inner = arguments.get("data", 0, UNKNOWN)
    learns = arguments.flag("requires_grad", 1, True)
    if not isinstance(inner, TensorValue):
        return UNKNOWN
    result = TensorValue(inner.shape, inner.dtype, graph=learns, leaf=learns is True, node=node)
    result.dtype_at, result.device, result.registered = inner.dtype_at, inner.device, "parameter"
    return result
