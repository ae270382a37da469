"""What a table will be asked for, as `surefit.laws.contracts.tables` has it."""

import ast
from collections.abc import Iterator

from surefit.doctor.violations import Violation
from surefit.interpreter.operands import expression_of, operand_of
from surefit.interpreter.violation_kinds import kind_of_lookup
from surefit.interpreter.violations import IndexOutsideTable, SourceViolation
from surefit.interpreter.wording import layer_name
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

KINDS: dict[str, type[IdsOutside]] = {
    "padding": MarkerOutside,
    "positions": PositionsOutside,
    "types": TypesOutside,
    "ids": ItemsOutside,
}


def violations_of(violation: SourceViolation, case: Case, source: Source) -> Iterator[Violation]:  # noqa: ARG001
    if not isinstance(violation, IndexOutsideTable):
        return
    name = kind_of_lookup(violation)
    rows = violation.layer.number("num_embeddings")
    if name not in KINDS or rows is None:
        return
    node, tensor = violation.node, violation.tensor
    ids = node.args[0] if isinstance(node, ast.Call) and node.args else node
    size = violation.birth if violation.id >= 0 else violation.layer.node
    yield KINDS[name](
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
            at_the_end=name == "padding",
            counts_up_from=0 if name == "positions" else None,
        ),
        width=violation.layer.number("embedding_dim") or 0,
        created=expression_of(source, violation.layer.node),
        size=expression_of(source, size),
    )
