"""The call that made a table, its number of rows as written, and outputs that are as many."""

import ast
from dataclasses import dataclass

from surefit.doctor.recording import Recording
from surefit.evidence.table_lookups import Lookup
from surefit.source.edits import argument_added, replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

TABLES = ("Embedding", "EmbeddingBag")


@dataclass(frozen=True, slots=True)
class Maker:
    """`nn.Embedding(n_items, dim)` in the user's own source."""

    source: Source
    call: ast.Call
    rows: ast.expr
    """`n_items`."""

    @property
    def written(self) -> str:
        return " ".join(self.source.segment(self.rows).split())


def maker_of(lookup: Lookup, seen: Recording) -> Maker | None:
    """The one call of its kind at the line that made the table."""
    made_at = lookup.layer.made_at if lookup.layer else None
    source = seen.source(made_at)
    if source is None or made_at is None or made_at.line is None or lookup.layer is None:
        return None
    statement = source.statement_at(made_at.line)
    inside = ast.walk(statement) if statement is not None else ()
    calls = [one for one in inside if isinstance(one, ast.Call) and is_table(source, one)]
    rows = source.argument(calls[0], "num_embeddings", 0) if len(calls) == 1 else None
    return Maker(source, calls[0], rows) if rows is not None else None


def is_table(source: Source, call: ast.Call) -> bool:
    return called(call) in TABLES and source.imported(call.func).startswith("torch.nn")


def rows_become(maker: Maker, text: str) -> Edit:
    return replaced(maker.source, maker.rows, text)


def more(written: ast.expr, text: str, count: int) -> str:
    """`n + 1`; of a plain number the sum."""
    if isinstance(written, ast.Constant) and type(written.value) is int:
        return str(written.value + count)
    if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Add):
        last = written.right
        if isinstance(last, ast.Constant) and type(last.value) is int:
            return f"{text[: text.rindex(str(last.value))]}{last.value + count}"
    simple = isinstance(written, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp)
    return f"{text} + {count}" if simple else f"({text}) + {count}"


def with_filler(maker: Maker, row: str) -> Edit:
    """One row more, kept for padding: always zero, never trained."""
    larger = rows_become(maker, more(maker.rows, maker.written, 1))
    return both(larger, argument_added(maker.source, maker.call, "padding_idx", row))


def shares_its_rows(maker: Maker) -> bool:
    """The table's weights are used elsewhere (`head.weight = self.embed.weight`), or there are
    outputs for as many: more rows alone would not do."""
    target = maker.source.statement_of(maker.call)
    names = [one for one in getattr(target, "targets", ()) if isinstance(one, ast.Attribute)]
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "weight"
        and isinstance(node.value, ast.Attribute)
        and any(node.value.attr == one.attr for one in names)
        for node in maker.source.every(ast.Attribute)
    )


def outputs_like(maker: Maker) -> list[ast.expr]:
    """In the same class, numbers of outputs that are written as the number of rows is: `n` of
    `nn.Linear(dim, n)` beside `nn.Embedding(n, dim)`."""
    owner = next(
        (one for one in maker.source.up(maker.call) if isinstance(one, ast.ClassDef)), None
    )
    calls = [one for one in ast.walk(owner) if isinstance(one, ast.Call)] if owner else []
    found = [
        maker.source.argument(one, "out_features", 1) for one in calls if called(one) == "Linear"
    ]
    return [one for one in found if one is not None and ast.unparse(one) == ast.unparse(maker.rows)]
