"""Rows padded to one length: where the user's code stacks them, or in a collator for a loader."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.doctor.words import spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import RowColumn
from surefit.laws.rows.collators import TOKENIZED, WITH_PADDING
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Operator
from surefit.remedies.collators import GiveCollator, GiveFunction, tokenizer_at
from surefit.source.edits import replaced, with_import
from surefit.source.patches import Edit, all_of
from surefit.source.reading import Source, called

FUNCTION = "pad_rows"
RNN = "torch.nn.utils.rnn"
IGNORED = -100
PAD_NAMES = ("PAD", "PAD_ID", "PAD_IDX", "PAD_INDEX", "PADDING", "PAD_TOKEN_ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class PadWhereStacked(Operator):
    """`torch.stack(rows)` and `torch.tensor(rows)` as `pad_sequence` of the same rows."""

    calls: Sequence[tuple[Written, RowColumn]]
    fillings: str = ""

    @property
    def words(self) -> str:
        text = "Pad the rows to the longest with `pad_sequence(..., batch_first=True)`"
        return f"{text}: {self.fillings}." if self.fillings else f"{text}."

    def edit(self, case: Case) -> Edit | None:
        return all_of(padded_call(*call_at(case, at), column) for at, column in self.calls)


def padded_call(source: Source | None, call: ast.Call | None, column: RowColumn) -> Edit | None:
    if source is None or call is None:
        return None
    given = call.args[0]
    rows, function = source.segment(given), source.segment(call.func)
    if called(call) != "stack":
        more = "".join(f", {source.segment(key)}" for key in call.keywords)
        if isinstance(given, ast.ListComp):
            item = source.segment(given.elt)
            loops = rows[rows.index(item) + len(item) :].rstrip("]")
            rows = f"[{function}({item}{more}){loops}]"
        else:
            rows = f"[{function}(row{more}) for row in {rows}]"
    text = f"pad_sequence({rows}, batch_first=True{padding_value(source, column)})"
    return with_import(replaced(source, call, text), source, RNN, "pad_sequence")


def padding_collator(
    case: Case, at: Written, columns: Sequence[RowColumn], ragged: Sequence[RowColumn]
) -> Remedy | None:
    """A collator that pads these columns, for a loader or a Trainer that has none."""
    source, call = call_at(case, at)
    if source is None or call is None:
        return None
    must = next((column for column in ragged if not column.labels), ragged[0]).reaches_model()
    as_tokenized = all(column.name in TOKENIZED for column in ragged)
    if as_tokenized and tokenizer_at(source, call) is not None:
        words = f"Let `{WITH_PADDING}` pad each batch to its longest row."
        return GiveCollator(at=at, name=WITH_PADDING, words=words, must=must)
    if called(call) != "DataLoader":
        return None
    plain = any(column not in ragged for column in columns)
    stacking: tuple[tuple[str, str | None], ...] = (("torch.utils.data", "default_collate"),)
    return GiveFunction(
        at=at,
        name=FUNCTION,
        text="\n".join(function_text(source, columns, ragged)),
        words="Give it a `collate_fn` that pads each batch to its longest row with `pad_sequence`:"
        f" {fillings(source, ragged)}.",
        imports=(("torch", None), (RNN, "pad_sequence"), *(stacking if plain else ())),
        must=must,
    )


def function_text(
    source: Source, columns: Sequence[RowColumn], ragged: Sequence[RowColumn]
) -> Iterator[str]:
    named = not all(column.name.isdigit() for column in columns)
    yield f"def {FUNCTION}(rows):"
    if [column.name for column in columns] == ["row"]:
        yield f"    return {padded(source, columns[0], 'row')}"
        return
    yield "    return {" if named else "    return ("
    for column in columns:
        item = f'row["{column.name}"]' if named else f"row[{column.name}]"
        value = f"default_collate([{item} for row in rows])"
        if column in ragged:
            value = padded(source, column, item)
        yield f'        "{column.name}": {value},' if named else f"        {value},"
    yield "    }" if named else "    )"


def padded(source: Source, column: RowColumn, item: str) -> str:
    rows = f"[torch.as_tensor({item}) for row in rows]"
    return f"pad_sequence({rows}, batch_first=True{padding_value(source, column)})"


def padding_value(source: Source, column: RowColumn) -> str:
    value = filling(source, column)
    return "" if value == "0" else f", padding_value={value}"


def fillings(source: Source, ragged: Sequence[RowColumn]) -> str:
    return spoken(f"{column.words} with {filling(source, column)}" for column in ragged)


def filling(source: Source, column: RowColumn) -> str:
    """What an added position holds, as the source would write it."""
    if column.labels:
        return str(ignored_by(source))
    if column.total is None or "mask" in column.name:
        return "0"
    if column.name == "input_ids" and (tokenizer := tokenizer_of(source)):
        return f"{tokenizer}.pad_token_id"
    for call in source.every(ast.Call):
        match source.argument(call, "padding_idx"):
            case ast.Constant(value=int() as number):
                return str(number)
            case ast.Name(id=name) as known if is_global(source, known):
                return name
    return pad_name(source)


def tokenizer_of(source: Source) -> str:
    """The name of the module's own tokenizer of transformers; empty where it has none."""
    if "transformers" not in source.text:
        return ""
    names = source.bindings[source.tree]
    return next((name for name in names if name.lower() in ("tokenizer", "tok")), "")


def ignored_by(source: Source) -> int:
    """The label that the script's losses ignore."""
    for keyword in source.every(ast.keyword):
        written = ast.unparse(keyword.value) if keyword.arg == "ignore_index" else ""
        if re.fullmatch(r"-?\d+", written):
            return int(written)
    return IGNORED


def is_global(source: Source, name: ast.Name) -> bool:
    bound = source.bound_by(name)
    return bool(bound) and all(source.scope_of(binder) is source.tree for binder in bound)


def pad_name(source: Source) -> str:
    """A number of the module that is named for padding: `PAD = 0`."""
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int())):
                if name.upper() in PAD_NAMES:
                    return name
    return "0"
