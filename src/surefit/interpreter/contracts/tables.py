"""What a table will be asked for, as `surefit.laws.contracts.tables` has it."""

import ast
from collections.abc import Iterator

from surefit.interpreter.values import LayerValue, TensorValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import expression_of, layer_name, operand_of
from surefit.laws.contracts.tables import (
    IdsOutside,
    ItemsOutside,
    MarkerOutside,
    PositionsOutside,
    TypesOutside,
)
from surefit.laws.layers.table_ids import OutsideIds

TOKEN_TYPE_NAMES = ("segment", "token_type", "type_embed")


def outside_table(
    at: Site, layer: LayerValue, tensor: TensorValue, number: int
) -> Iterator[IdsOutside]:
    """A number is looked up that a table has no row for."""
    kind = kind_of_lookup(at.node, tensor, number)
    rows = layer.number("num_embeddings")
    if kind is None or rows is None:
        return
    source, node = at.source, at.node
    ids = node.args[0] if isinstance(node, ast.Call) and node.args else node
    yield kind(
        use=at.use,
        table=layer_name(source, node, layer),
        rows=rows,
        ids=operand_of(source, tensor, ids, at.birth),
        outside=OutsideIds(
            outside=0,
            elements=0,
            distinct=1,
            first=[number],
            least=number if number < 0 else max(0, tensor.low or 0),
            greatest=max(number, 0),
            longest=0,
            at_the_end=kind is MarkerOutside,
            counts_up_from=0 if kind is PositionsOutside else None,
        ),
        width=layer.number("embedding_dim") or 0,
        created=expression_of(source, layer.node),
        size=expression_of(source, at.birth if number >= 0 else layer.node),
    )


def kind_of_lookup(node: ast.AST, tensor: TensorValue, number: int) -> type[IdsOutside] | None:
    if number < 0:
        return MarkerOutside if tensor.padding is not None else None
    if tensor.counts:
        return PositionsOutside
    called = ast.unparse(node).lower() if isinstance(node, ast.Call) else ""
    return TypesOutside if any(word in called for word in TOKEN_TYPE_NAMES) else ItemsOutside
