"""The last position of padded rows is taken for their last token: it is padding.

## What happens
Shorter rows of a batch are filled up at their end to the length of the longest. `out[:, -1]`, also
after `pad_packed_sequence`, or the last state `h_n` of a recurrent layer that was not given a
packed sequence, is what the model gives after that filling, and not after the row's last token.

## Why it matters
A recurrent layer has forgotten short rows by then: the model stays near chance on them, and what it
gives for a row depends on the longest row of its batch.

## What to do
Take each row's own last position, `out[torch.arange(len(out)), lengths - 1]`, or pack the rows with
`pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)`: then `h_n` is the
state after the last token.

## How it is recognised
With the live model in evaluation mode a padded row of the batch was given once with its padding and
once without it. The vector that it gives changed, and what lets padding in is the last position, or
the last state of a recurrent layer that reads in one direction. Where nothing but the padding token
of an embedding says what padding is, another token in the row must change nothing as well. Of rows
that are packed and unpacked inside the model: a row was given once beside itself and once beside a
longer one, its vector changed, and the position that is picked holds nothing but zeros.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.padding import ReadAfterPadding, picks_last
from surefit.laws.layers.layer_attributes import padded_input
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source, dotted

RULE = Rule("SF354", "last-position-is-padding", Severity.ERROR, __doc__)
PACK = "torch.nn.utils.rnn.pack_padded_sequence"
ROWS_FIRST = "8"
"""Number of the argument of a recurrent operation that says so."""


@RULE.on(ReadAfterPadding)
def last_state_is_after_padding(broken: ReadAfterPadding, case: Case) -> Finding:
    source, line = case.source(broken.use.place), broken.use.place.line
    picked = last_positions(source, line) if source is not None and line else []
    finding = case.finding(
        broken.use.place,
        headline(broken, source, picked),
        facts=(
            *broken.facts,
            Fact("padding is known by", code(broken.argument) if broken.argument else "its token"),
            *fact_at("at", broken.use),
        ),
        why=why(broken),
        remedies=list(ways(broken, case)) or [in_words(broken)],
    )
    return finding if broken.forgotten else replace(finding, severity=Severity.WARNING)


def headline(broken: ReadAfterPadding, source: Source | None, picked: list[ast.Subscript]) -> str:
    rest = f": {code(broken.argument)} is not used for it" if broken.argument else ""
    if picks_last(broken.operation):
        text = source.segment(picked[0]) if source is not None and len(picked) == 1 else ""
        what = code(text) if text else "The last position"
        return f"{what} is padding in rows that are shorter than the longest{rest}."
    name = code(broken.operation.kind)
    return f"The last state of {name} is the state after padding, not after the last token{rest}."


def why(broken: ReadAfterPadding) -> str:
    if broken.zeros:
        return (
            "`pad_packed_sequence` fills shorter rows up with zeros, so that the last position of"
            " the batch is zero for every row but the longest. The last step of a row is at"
            " `lengths - 1`, and is in `h_n`, too."
        )
    if broken.forgotten:
        return (
            "Over the padding the model has forgotten the row: another token in it changes"
            " nothing in the output."
        )
    return "What a row gives depends on how long the longest row of its batch is."


def in_words(broken: ReadAfterPadding) -> Fix:
    lengths = broken.argument if "len" in broken.argument else "lengths"
    return Fix(
        f"Take the last token of each row, `out[torch.arange(len(out)), {lengths} - 1]`, or pack"
        " the rows with `pack_padded_sequence`."
    )


def ways(broken: ReadAfterPadding, case: Case) -> Iterator[Remedy]:
    source, line = case.source(broken.use.place), broken.use.place.line
    if source is None or line is None or not has_torch(source):
        return
    if not picks_last(broken.operation):
        yield from packed(broken, source, line)
        return
    for node in last_positions(source, line):
        for lengths in lengths_of(broken, source, node):
            rows = source.segment(node.value)
            at = f"torch.arange(len({rows}), device={rows}.device)"
            text = f"{rows}[{at}, {lengths} - 1]"
            yield Change(
                to=replaced(source, node, text),
                words=f"Take the last token of each row: {code(f'{lengths} - 1')}.",
                must=law_holds(broken),
            )


def packed(broken: ReadAfterPadding, source: Source, line: int) -> Iterator[Remedy]:
    """`_, h = self.gru(x)`: the outputs of all positions are not used."""
    statement = source.statement_at(line)
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id="_"), *_])], value=ast.Call(args=[given, *_])
        ):
            pass
        case _:
            return
    if broken.operation.arguments.get(ROWS_FIRST) != "True":
        return
    for lengths in lengths_of(broken, source, given):
        rest = "batch_first=True, enforce_sorted=False"
        text = f"{PACK}({source.segment(given)}, {lengths}.cpu(), {rest})"
        yield Change(
            to=replaced(source, given, text),
            words="Pack the rows, so that the last state is that of the last token.",
            must=law_holds(broken),
        )


def last_positions(source: Source, line: int) -> list[ast.Subscript]:
    """`out[:, -1]` in the statement at a line."""
    statement = source.statement_at(line)
    if statement is None or hasattr(statement, "body"):
        return []
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
        and dotted(node.value)
        and source.segment(node.slice).replace(" ", "") in (":,-1", ":,-1,:", ":,-1,...")
    ]


def lengths_of(broken: ReadAfterPadding, source: Source, node: ast.AST) -> Iterator[str]:
    """Expressions for the number of tokens of each row."""
    scope = source.scope_of(node)
    names = [arg.arg for arg in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    if broken.argument in names:
        if "mask" not in broken.argument and "pad" not in broken.argument:
            yield broken.argument
        else:
            yield f"({broken.argument} != 0).sum(1)"
            yield f"({broken.argument} == 0).sum(1)"
        return
    padded = padded_input(source, scope)
    if padded:
        yield f"({padded.replace(' == ', ' != ')}).sum(1)"


def has_torch(source: Source) -> bool:
    return any(alias.name == "torch" for node in source.every(ast.Import) for alias in node.names)
