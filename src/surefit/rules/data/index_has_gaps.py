"""A row of a pandas table was asked for by its position, and the index has gaps there.

## What happens
`dropna`, a mask, `sample` or a split keep the number that each row had before. `column[3]` and
`.loc[3]` ask for the row of that number, not for the fourth row; where it was left out, pandas says
`KeyError: 3`.

## Why it matters
It depends on which rows are gone, so that it can wait for a whole epoch of a shuffled loader. And
where the number is still there, it is another row than the one at that position: after `sample`
texts and labels of different rows can be put together without a word.

## What to do
Number the rows anew where they are left out: `.reset_index(drop=True)`. Or ask by position:
`.iloc[3]`.

## How it is recognised
A subscript failed with a `KeyError` inside pandas; its key is a whole number below the number of
rows, and the index of the table or column is not 0, 1, 2... What left the gaps is followed in the
source through names, arguments and attributes of `self`. The text of the exception is not looked
at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.numbered import Numbered
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.failed_keys import Asked, subscript_in
from surefit.evidence.gaps import gaps_behind
from surefit.source.edits import appended, both, inserted_after
from surefit.source.line_edits import block_of, bound_by
from surefit.source.patches import Edit
from surefit.source.reading import Source, dotted

RULE = Rule(
    "SF215",
    "index-has-gaps",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"KeyError: \d+$",
            "whether the index of the table is 0, 1, 2... or has gaps",
            r"pandas",
        ),
    ),
)

ANEW = ".reset_index(drop=True)"
LONGEST = 70


@RULE.on(Crash)
def a_position_was_asked_as_a_number(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    asked = subscript_in(frame, seen) if frame and crash.kind == "KeyError" else None
    if frame is None or asked is None or not is_cause(crash, seen):
        return
    holder, wanted = asked.holder, asked.wanted
    if holder is None or holder.numbered is not False or wanted is None:
        return
    number, rows = wanted.scalar, holder.length or 0
    if type(number) is not int or not 0 <= number < rows:
        return
    makers = gaps_behind(asked.source, asked.base)
    statements = [asked.source.statement_of(one) for one in makers]
    place = frame.place
    if statements:
        first = statements[0]
        end = first.end_lineno if not hasattr(first, "body") else None
        place = Place(asked.source.file, first.lineno, end if end != first.lineno else None)
    failing = written(asked.source.segment(asked.node))
    yield RULE.finding(
        place,
        f"{failing} asks for the row that has the number {number}, and `{holder.text}` has no such"
        f" number: its {counted(rows, 'row')} kept the numbers that they had before others were"
        " left out.",
        facts=tuple(facts(asked, makers, str(frame.place))),
        why="A subscript and `.loc` take the number of a row, `.iloc` its position; after rows are"
        " left out or shuffled the two differ, here with an error, elsewhere with another row.",
        fixes=tuple(fixes(asked, makers, frame.place, rows)),
        python_said=crash.said,
        about=crash.id,
    )


def facts(asked: Asked, makers: list[ast.expr], failed_at: str) -> Iterator[Fact]:
    holder = asked.holder
    if holder:
        kind = f"{holder.kind} of {counted(holder.length or 0, 'row')}"
        yield Fact(code(holder.text), f"{kind}, its index is not 0, 1, 2...")
    for one in makers:
        line = one.lineno
        yield Fact(
            "leaves gaps", f"{asked.source.file}:{line}  {written(asked.source.segment(one))}"
        )
    if makers:
        yield Fact("fails at", failed_at)


def written(text: str) -> str:
    text = " ".join(text.split())
    return code(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def fixes(asked: Asked, makers: list[ast.expr], place: Place, rows: int) -> Iterator[Fix]:
    edit = numbered_anew(asked, makers)
    holder = asked.holder
    if edit and holder:
        yield Fix(
            f"Number the rows anew where some are left out: `{ANEW}`. No row is lost by it.",
            edit,
            Numbered(place, holder.text, rows),
        )
    positions = f"{asked.source.segment(asked.base)}.iloc[{asked.source.segment(asked.key)}]"
    begin = "Or ask" if edit else "Ask"
    yield Fix(
        f"{begin} by position, here and wherever rows of it are asked for: {code(positions)}.",
        why_not_tried="other lines that ask in the same way need the same change",
    )


def numbered_anew(asked: Asked, makers: list[ast.expr]) -> Edit | None:
    source = asked.source
    edit: Edit | None = None
    for one in makers:
        statement = source.statement_of(one)
        names = split_into(statement, one)
        asking = asks_for_its_index(source, statement)
        try:
            if asking:
                more = numbered_behind(source, statement, asking)
            elif names:
                lines = "\n".join(f"{name} = {name}{ANEW}" for name in names)
                more = inserted_after(source, statement, lines)
            else:
                more = appended(source, one, ANEW)
        except ValueError:
            return None
        edit = both(edit, more) if edit else more
    return edit


def asks_for_its_index(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """`train.index` somewhere: the numbers that the rows had are needed there."""
    bound = bound_by(statement)
    return [
        source.statement_of(node)
        for node in source.every(ast.Attribute)
        if node.attr == "index" and isinstance(node.value, ast.Name) and node.value.id in bound
    ]


def numbered_behind(source: Source, made: ast.stmt, asking: list[ast.stmt]) -> Edit:
    """Once nothing needs the numbers any more; all must stand in one block, one after the other."""
    names = bound_by(made)
    last = max(asking, key=lambda one: one.lineno)
    block = block_of(source, made)
    if len(names) != 1 or any(one not in block for one in asking) or last.lineno < made.lineno:
        raise ValueError("the index is asked for elsewhere")
    (name,) = names
    return inserted_after(source, last, f"{name} = {name}{ANEW}")


def split_into(statement: ast.stmt, value: ast.expr) -> list[str]:
    """The names of `train, held_out = split(...)`."""
    if not isinstance(statement, ast.Assign) or statement.value is not value:
        return []
    target = statement.targets[0]
    return [dotted(one) for one in target.elts] if isinstance(target, ast.Tuple) else []
