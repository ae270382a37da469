"""Changes of the user's source that fill rows up to one length."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.doctor.observations import CollatorSeen, Frame
from surefit.doctor.words import spoken
from surefit.evidence.ragged_columns import Ragged, filling
from surefit.source.edits import argument_added, replaced, with_import
from surefit.source.line_edits import first_line, put_at
from surefit.source.patches import Edit, both
from surefit.source.reading import Function, Source, called

FUNCTION = "pad_rows"
STACKS = ("stack", "tensor", "as_tensor", "LongTensor", "FloatTensor", "IntTensor")
RNN = "torch.nn.utils.rnn"
PADS = "DataCollatorWithPadding"
TOKENIZED = ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask")


def loader_call(source: Source, place: Place) -> ast.Call | None:
    """The call of `DataLoader` without a collator at a line, or the only one of the file."""
    calls = [call for call in source.every(ast.Call) if called(call) == "DataLoader"]
    free = [call for call in calls if source.argument(call, "collate_fn", 6) is None]
    here = [call for call in free if call.lineno == place.line]
    if here or len(calls) > 1:
        return here[0] if here else None
    return free[0] if free else None


def trainer_call(source: Source) -> ast.Call | None:
    """The one call of a Trainer that is given no collator."""
    calls = [
        call
        for call in source.every(ast.Call)
        if source.argument(call, "train_dataset") is not None
    ]
    free = [call for call in calls if source.argument(call, "data_collator") is None]
    return free[0] if len(calls) == len(free) == 1 else None


def tokenizer_at(source: Source, node: ast.AST) -> str | None:
    """What the tokenizer is called where a node stands."""
    if isinstance(node, ast.Call):
        given = source.argument(node, "processing_class") or source.argument(node, "tokenizer")
        if given is not None:
            return source.segment(given)
    scope = source.scope_of(node)
    seen = [source.bindings.get(scope, {}), source.bindings[source.tree]]
    for names in seen:
        for name, binders in names.items():
            made = any(isinstance(one, ast.Assign | ast.arg) for one in binders)
            if made and name.lower() in ("tokenizer", "tok", "processor"):
                return name
    return None


def collator_given(source: Source, call: ast.Call, kind: str = PADS) -> Edit | None:
    """A collator of transformers for a loader or a Trainer that has none."""
    tokenizer = tokenizer_at(source, call)
    if tokenizer is None:
        return None
    argument = "collate_fn" if called(call) == "DataLoader" else "data_collator"
    edit = argument_added(source, call, argument, f"{kind}({tokenizer})")
    return with_import(edit, source, "transformers", kind)


def padding_given(
    source: Source, call: ast.Call, collator: CollatorSeen, ragged: list[Ragged]
) -> tuple[str, Edit | None]:
    """A collator that pads for a loader or a Trainer that has none, in words and as an edit."""
    loads = called(call) == "DataLoader"
    as_tokenized = all(one.column in TOKENIZED for one in ragged)
    edit = None
    if as_tokenized and TOKENIZED[0] in collator.kinds:
        edit = collator_given(source, call)
    if edit is not None:
        return f"Let `{PADS}` fill each batch up to its longest row", edit
    if not loads:
        return f"Give the Trainer a `data_collator` that pads: `{PADS}(tokenizer)`", None
    text = (
        "Give it a `collate_fn` that fills each batch up to its longest row with `pad_sequence`:"
        f" {fillings(source, ragged)}"
    )
    return text, function_given(source, call, collator, ragged)


def fillings(source: Source, ragged: list[Ragged]) -> str:
    return spoken(f"{one.name} with {filling(source, one)}" for one in ragged)


def function_given(
    source: Source, call: ast.Call, collator: CollatorSeen, ragged: list[Ragged]
) -> Edit:
    """A collator of its own, in front of whatever the loader stands in, and given to it."""
    outermost = next(
        one
        for one in (call, *source.up(call))
        if isinstance(one, ast.stmt) and isinstance(source.parents[one], ast.Module)
    )
    text = "\n".join(function_text(source, collator, ragged)) + "\n\n"
    edit = argument_added(source, call, "collate_fn", FUNCTION)
    edit = both(edit, Edit(source.file, (put_at(source, first_line(outermost), text),)))
    for module, name in (("torch", None), (RNN, "pad_sequence")):
        edit = with_import(edit, source, module, name)
    if len(ragged) < len(collator.kinds):
        edit = with_import(edit, source, "torch.utils.data", "default_collate")
    return edit


def function_text(source: Source, collator: CollatorSeen, ragged: list[Ragged]) -> Iterator[str]:
    known = {one.column: one for one in ragged}
    named = not all(column.isdigit() for column in collator.kinds)
    yield f"def {FUNCTION}(rows):"
    if list(collator.kinds) == ["row"]:
        yield f"    return {padded(source, known['row'], 'row')}"
        return
    yield "    return {" if named else "    return ("
    for column in collator.kinds:
        item = f'row["{column}"]' if named else f"row[{column}]"
        value = f"default_collate([{item} for row in rows])"
        if column in known:
            value = padded(source, known[column], item)
        yield f'        "{column}": {value},' if named else f"        {value},"
    yield "    }" if named else "    )"


def padded(source: Source, one: Ragged, item: str) -> str:
    rows = f"[torch.as_tensor({item}) for row in rows]"
    return f"pad_sequence({rows}, batch_first=True{value_of(source, one)})"


def value_of(source: Source, one: Ragged | None) -> str:
    value = filling(source, one) if one else "0"
    return "" if value == "0" else f", padding_value={value}"


def stacks(source: Source, frame: Frame, ragged: list[Ragged]) -> list[tuple[ast.Call, Ragged]]:
    """Calls in the function of a frame that make a tensor of such a column."""
    statement = source.statement_at(frame.place.line or 0)
    scope = source.scope_of(statement) if statement else None
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    return stacking_calls(source, scope, ragged)


def is_at(source: Source, call: ast.Call, frame: Frame) -> bool:
    """It is what failed, or stands around that."""
    span = source.span(call)
    if frame.span is not None:
        first = (frame.span.line, frame.span.column)
        last = (frame.span.end_line, frame.span.end_column)
        return (span.line, span.column) <= first and last <= (span.end_line, span.end_column)
    return span.line <= (frame.place.line or 0) <= span.end_line


def stacking_calls(
    source: Source, function: Function, ragged: list[Ragged]
) -> list[tuple[ast.Call, Ragged]]:
    """Calls in the user's collator that make one tensor of a column with rows of many lengths."""
    known = {one.column: one for one in ragged}
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and called(node) in STACKS and node.args:
            if inside_another(source, node):
                continue
            column = column_in(source, function, node.args[0])
            if column in known:
                found.append((node, known[column]))
    return found


def inside_another(source: Source, node: ast.Call) -> bool:
    """`torch.stack([torch.tensor(row) ...])`: the inner one makes a single row."""
    for outer in source.up(node):
        if isinstance(outer, ast.stmt):
            return False
        if isinstance(outer, ast.Call) and called(outer) in (*STACKS, "pad_sequence"):
            return True
    return False


def column_in(source: Source, function: Function, node: ast.expr) -> str:
    """The column that an expression takes from every row; empty where the source does not say."""
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(slice=ast.Constant(value=str() | int() as key)):
                return str(key)
            case ast.Name():
                column = unpacked(source, function, inner)
                if column:
                    return column
    return ""


def unpacked(source: Source, function: Function, name: ast.Name) -> str:
    """Its place in `ids, labels = zip(*rows)`, or in `for ids, label in rows`."""
    for binder in source.bound_by(name):
        match binder:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as value):
                if called(value) in ("zip", "map", "list"):
                    return place_among(parts, name)
            case (
                ast.comprehension(target=ast.Tuple(elts=parts))
                | ast.For(target=ast.Tuple(elts=parts))
            ):
                return place_among(parts, name)
            case ast.Assign(value=ast.ListComp() as value):
                return column_in(source, function, value)
    return ""


def place_among(parts: list[ast.expr], name: ast.Name) -> str:
    names = [ast.unparse(one) for one in parts]
    return str(names.index(name.id)) if name.id in names else ""


def padded_instead(source: Source, call: ast.Call, one: Ragged | None) -> Edit:
    """`torch.stack(rows)` and `torch.tensor(rows)` as `pad_sequence` of the same rows."""
    given = call.args[0]
    rows = source.segment(given)
    function = source.segment(call.func)
    if called(call) != "stack":
        more = "".join(f", {source.segment(key)}" for key in call.keywords)
        if isinstance(given, ast.ListComp):
            item = source.segment(given.elt)
            loops = rows[rows.index(item) + len(item) :].rstrip("]")
            rows = f"[{function}({item}{more}){loops}]"
        else:
            rows = f"[{function}(row{more}) for row in {rows}]"
    text = f"pad_sequence({rows}, batch_first=True{value_of(source, one)})"
    return with_import(replaced(source, call, text), source, RNN, "pad_sequence")
