"""Widths that heads or groups cannot divide."""

import ast
from typing import TYPE_CHECKING

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.value_queries import integer_of
from surefit.interpreter.values import AbstractValue, Constant, LayerValue, Scope
from surefit.interpreter.violations import NotDivisible

if TYPE_CHECKING:
    from surefit.interpreter.evaluator import Evaluator


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


def check_layer_divides(run: "Evaluator", layer: LayerValue, node: ast.AST) -> None:
    for names in LAYER_DIVISIONS.get(layer.kind, ()):
        values = layer.arguments.get(names[0]), layer.arguments.get(names[1])
        check_division(run, node, layer.kind, names, values)


def check_config_divides(run: "Evaluator", kind: str, arguments: Arguments, node: ast.AST) -> None:
    if kind not in CONFIG_DIVISIONS:
        return
    width_name, count_name, width, count = CONFIG_DIVISIONS[kind]
    if width_name in arguments.named or count_name in arguments.named:
        defaults = Constant(width, node), Constant(count, node)
        values = (
            arguments.named.get(width_name, defaults[0]),
            arguments.named.get(count_name, defaults[1]),
        )
        check_division(run, node, kind, (width_name, count_name), values)


def check_own_division(run: "Evaluator", test: ast.expr, scope: Scope, node: ast.AST) -> None:
    """`a % b` in a check of the script's own that certainly fails."""
    for part in ast.walk(test):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            values = run.evaluate(part.left, scope), run.evaluate(part.right, scope)
            names = ast.unparse(part.left), ast.unparse(part.right)
            if check_division(run, node, "", names, values):
                return


def check_division(
    run: "Evaluator",
    node: ast.AST,
    maker: str,
    names: tuple[str, str],
    values: tuple[AbstractValue | None, AbstractValue | None],
) -> bool:
    width, count = (integer_of(value) for value in values)
    if width is None or not count or width % count == 0 or not isinstance(values[1], Constant):
        return False
    run.report(NotDivisible(node, maker, names[0], width, names[1], count, values[1]))
    return True
