"""What a table will be asked for, as `surefit.laws.contracts.tables` has it."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.violations import IndexOutsideTable, SourceViolation
from surefit.interpreter.wording import expression_of, layer_name, operand_of
from surefit.laws.case import Case
from surefit.laws.contracts.tables import (
    IdsOutside,
    ItemsOutside,
    MarkerOutside,
    PositionsOutside,
    TypesOutside,
)
from surefit.laws.table_ids import OutsideIds
from surefit.source.reading import Source

TOKEN_TYPE_NAMES = ("segment", "token_type", "type_embed")


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    if not isinstance(violation, IndexOutsideTable):
        return
    kind = kind_of_lookup(violation)
    rows = violation.layer.number("num_embeddings")
    if kind is None or rows is None:
        return
    node, tensor = violation.node, violation.tensor
    ids = node.args[0] if isinstance(node, ast.Call) and node.args else node
    size = violation.birth if violation.id >= 0 else violation.layer.node
    yield kind(
        use=expression_of(source, node),
        table=layer_name(source, node, violation.layer),
        rows=rows,
        ids=operand_of(source, tensor, ids, violation.birth),
        outside=OutsideIds(
            outside=0,
            elements=0,
            distinct=1,
            first=[violation.id],
            least=violation.id if violation.id < 0 else max(0, tensor.low or 0),
            greatest=max(violation.id, 0),
            longest=0,
            at_the_end=kind is MarkerOutside,
            counts_up_from=0 if kind is PositionsOutside else None,
        ),
        width=violation.layer.number("embedding_dim") or 0,
        created=expression_of(source, violation.layer.node),
        size=expression_of(source, size),
    )


def kind_of_lookup(violation: IndexOutsideTable) -> type[IdsOutside] | None:
    if violation.id < 0:
        return MarkerOutside if violation.tensor.padding is not None else None
    if violation.tensor.counts:
        return PositionsOutside
    called = ast.unparse(violation.node).lower() if isinstance(violation.node, ast.Call) else ""
    return TypesOutside if any(word in called for word in TOKEN_TYPE_NAMES) else ItemsOutside
