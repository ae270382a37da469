"""Values that are right where they are made, and wrong where they are used: made too early, used
up or closed by then, made once for all, filled after its loop."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent, indent

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.values.failing_values import MAKE_ITERATORS, parts
from surefit.laws.values.value_origins import shortened
from surefit.lineage.producers import Producer
from surefit.source.edits import appended, removed, replaced
from surefit.source.line_edits import block_of, inserted_after, moved_together, shares_lines
from surefit.source.patches import Edit, Replace, all_of
from surefit.source.reading import Source, dotted, names_within, targets
from surefit.source.spans import Span

READ_ONCE = (*(name for name in MAKE_ITERATORS if name not in ("keys", "values", "items")), "iter")
READERS = ("csv.reader", "csv.DictReader")
CACHES = ("functools.cache", "functools.lru_cache")
FILLS = ("append", "extend", "add", "update", "insert")
LONGEST = 60


@dataclass(frozen=True, slots=True)
class OtherMoment:
    """What would make the value at the right time."""

    at: Expression
    said: str
    """The headline."""
    why: str
    words: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """A statement of the user's that a failing value came through, or the failing one."""

    source: Source
    statement: ast.stmt

    @property
    def line(self) -> str:
        return f"{self.source.file}:{self.statement.lineno}"

    def text(self, node: ast.AST) -> str:
        return code(shortened(" ".join(self.source.segment(node).split()), LONGEST))


def other_moments(case: Case) -> Iterator[OtherMoment]:
    """Those that the order of the source shows to be possible; a run decides. Raises while a second
    run has yet to tell the way of the values."""
    failing = list(failing_statements(case))
    way = [*failing, *statements_on_the_way(case)]
    yield from unpacked_keys(case)
    for where in scopes_of(way):
        yield from filled_after_the_loop(case, where)
        yield from left_in_the_first_round(case, where)
    for passed in way:
        yield from used_up(case, passed)
        yield from closed(case, passed, failing)
        yield from made_once(case, passed)
        yield from made_too_early(case, passed)


def failing_statements(case: Case) -> Iterator[OnTheWay]:
    for frame in reversed(case.frames):
        source = case.source(frame) if frame.own else None
        statement = source.statement_at(frame.place.line or 0) if source is not None else None
        if source is not None and statement is not None:
            yield OnTheWay(source, statement)


def lineage_of_parts(case: Case) -> Iterator[tuple[Value, tuple[Producer, ...]]]:
    if case.own is None:
        return
    for value in parts(case.own) or case.own.values:
        operand = Operand(value=value, name=code(value.text), frame=case.number)
        yield value, case.lineage(operand).all


def statements_on_the_way(case: Case) -> list[OnTheWay]:
    """Each once, the nearest first."""
    way: dict[tuple[str, int], OnTheWay] = {}
    for _, producers in lineage_of_parts(case):
        for producer in producers:
            node, source = case.node(producer), case.source(producer.place)
            if producer.own and node is not None and source is not None:
                statement = source.statement_of(node)
                way.setdefault((source.file, statement.lineno), OnTheWay(source, statement))
    return list(way.values())


def scopes_of(way: list[OnTheWay]) -> list[tuple[Source, ast.AST]]:
    known = {
        (passed.source.file, getattr(scope, "lineno", 0)): (passed.source, scope)
        for passed in way
        if (scope := passed.source.scope_of(passed.statement)) is not None
    }
    return list(known.values())


def unpacked_keys(case: Case) -> Iterator[OtherMoment]:
    """`_, state = encoder(rows)`: to unpack a mapping gives its keys."""
    edits: dict[int, Edit] = {}
    first: tuple[Value, Producer, Expression] | None = None
    for value, producers in lineage_of_parts(case):
        held = [made for made in producers if made.own and value.scalar in made.value.members]
        node = case.node(held[0]) if held and isinstance(value.scalar, str) else None
        source = case.source(held[0].place) if held else None
        if node is None or source is None:
            continue
        statement = source.statement_of(node)
        if not isinstance(statement, ast.Assign) or statement.value is not node:
            continue
        if any(isinstance(part, ast.Tuple) for part in statement.targets):
            suffix = ".values()" if held[0].value.kind == "dict" else ".to_tuple()"
            edits[statement.lineno] = appended(source, node, suffix)
            first = first or (value, held[0], case.expression(source, node))
    edit = all_of(edits.values())
    if first is None or edit is None:
        return
    value, mapping, at = first
    suffix = ".values()" if mapping.value.kind == "dict" else ".to_tuple()"
    yield OtherMoment(
        at,
        f"{code(value.text)} is the key {value.scalar!r}, not its value: "
        f"{code(shortened(at.text, LONGEST))} gives a `{mapping.value.kind}`, and to unpack that"
        " gives its keys.",
        "A mapping that is unpacked or looped over gives its keys.",
        f"Unpack its values: {code(shortened(at.text, LONGEST) + suffix)}.",
        edit,
    )


def filled_after_the_loop(case: Case, where: tuple[Source, ast.AST]) -> Iterator[OtherMoment]:
    """The statement behind a loop that puts the loop's last item into something."""
    source, scope = where
    for loop in (node for node in ast.walk(scope) if isinstance(node, ast.For)):
        block = block_of(source, loop)
        behind = block[block.index(loop) + 1 :][:1] if loop in block else []
        names = set(names_within(loop.target)) | bound_in(loop)
        for statement in behind:
            if not fills(statement) or not names & set(names_within(statement, ast.Load)):
                continue
            edit = into_the_end(source, loop, statement)
            if edit is None:
                continue
            text = OnTheWay(source, statement).text(statement)
            yield OtherMoment(
                case.expression(source, statement.value),  # type: ignore[attr-defined]
                f"{text} stands behind its loop over {OnTheWay(source, loop).text(loop.iter)}: it"
                " runs once, for the last item.",
                "What belongs to every round stands inside the loop, as deep as its other lines.",
                f"Indent it into the loop of line {loop.lineno}.",
                edit,
            )


def bound_in(loop: ast.For) -> set[str]:
    return {name for part in loop.body for name in names_within(part, ast.Store)}


def fills(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in FILLS
        case ast.AugAssign():
            return True
        case ast.Assign(targets=[ast.Subscript()]):
            return True
    return False


def into_the_end(source: Source, loop: ast.For, statement: ast.stmt) -> Edit | None:
    last = loop.body[-1]
    if any(shares_lines(source, part) for part in (statement, last)) or loop.orelse:
        return None
    return all_of(
        [removed(source, statement), inserted_after(source, last, text_of(source, [statement]))]
    )


def left_in_the_first_round(case: Case, where: tuple[Source, ast.AST]) -> Iterator[OtherMoment]:
    """`return` as the last statement of a loop's body."""
    source, scope = where
    for loop in (node for node in ast.walk(scope) if isinstance(node, ast.For)):
        last = loop.body[-1]
        leaves = isinstance(last, ast.Return) and last.value is not None and len(loop.body) > 1
        if not leaves or shares_lines(source, last) or shares_lines(source, loop.body[0]):
            continue
        edit = all_of(
            [removed(source, last), inserted_after(source, loop, text_of(source, [last]))]
        )
        if edit is None:
            continue
        yield OtherMoment(
            case.expression(source, last.value),  # type: ignore[attr-defined]
            f"{OnTheWay(source, last).text(last)} stands inside the loop over"
            f" {OnTheWay(source, loop).text(loop.iter)}, and ends it in its first round.",
            "What belongs behind all rounds stands as deep as the loop itself.",
            f"Move it behind the loop of line {loop.lineno}.",
            edit,
        )


def text_of(source: Source, statements: list[ast.stmt]) -> str:
    first, last = statements[0], statements[-1]
    lines = source.lines[first.lineno - 1 : last.end_lineno or last.lineno]
    return dedent("\n".join(lines))


def used_up(case: Case, passed: OnTheWay) -> Iterator[OtherMoment]:
    """A name for an iterator that another statement has read before."""
    source, scope = passed.source, passed.source.scope_of(passed.statement)
    for name in names_within(passed.statement, ast.Load):
        made = source.assignments(name, scope) or source.assignments(name, source.tree)
        if len(made) != 1 or made[0].value is None or not reads_once(source, made[0].value):
            continue
        reads = [
            node for node in source.every(ast.Name)
            if node.id == name and isinstance(node.ctx, ast.Load)
        ]  # fmt: skip
        before = [node for node in reads if node.lineno < passed.statement.lineno]
        again = list(source.loops_around(passed.statement)) and not list(
            source.loops_around(made[0])
        )
        if not before and not again:
            continue
        by = f", which {source.file}:{before[0].lineno} has read to its end" if before else ""
        text, whole = passed.text(made[0].value), source.segment(made[0].value)
        is_generator = isinstance(made[0].value, ast.GeneratorExp)
        listed = f"[{whole[1:-1]}]" if is_generator else f"list({whole})"
        yield OtherMoment(
            case.expression(source, made[0].value),
            f"{code(name)} is an iterator{by or ' that was read to its end before'}: nothing is"
            f" left of it at {passed.line}.",
            f"{text} can be gone through once; after that it is empty, without an error.",
            f"Make a list of it: {code(shortened(' '.join(listed.split()), LONGEST))}.",
            replaced(source, made[0].value, listed),
        )


def reads_once(source: Source, made: ast.expr) -> bool:
    if isinstance(made, ast.GeneratorExp):
        return True
    if not isinstance(made, ast.Call):
        return False
    full = source.imported(made.func)
    if isinstance(made.func, ast.Name) and not full:
        defined = source.definitions.get(made.func.id, [])
        yields = any(
            isinstance(node, ast.Yield | ast.YieldFrom)
            for part in defined
            for node in ast.walk(part)
        )
        return made.func.id in READ_ONCE or yields
    return full in READERS or full.startswith("itertools.")


def closed(case: Case, passed: OnTheWay, failing: list[OnTheWay]) -> Iterator[OtherMoment]:
    """What is opened by a `with` block, and used behind it."""
    source = passed.source
    for block in source.up(passed.statement):
        if not isinstance(block, ast.With) or len(block.items) != 1:
            continue
        item = block.items[0]
        inside = any(
            block in source.up(other.statement) for other in failing if other.source is source
        )
        if not isinstance(item.optional_vars, ast.Name) or inside:
            continue
        name = item.optional_vars.id
        if name not in names_within(passed.statement, ast.Load) or shares_lines(
            source, block.body[0]
        ):
            continue
        opened = source.segment(item.context_expr)
        body = text_of(source, block.body)
        yield OtherMoment(
            case.expression(source, item.context_expr),
            f"{passed.text(item.context_expr)} is closed where its `with` block ends, at"
            f" {source.file}:{block.end_lineno}, and used after that.",
            f"{passed.text(passed.statement)} keeps what the block closes.",
            "Open it without `with`, so that it stays open as long as it is used.",
            replaced_lines(source, block, f"{name} = {opened}\n{body}"),
        )


def replaced_lines(source: Source, block: ast.stmt, text: str) -> Edit:
    """A statement of several lines by others, as deep as it stood."""
    before = source.lines[block.lineno - 1][: source.span(block).column]
    lines = indent(text, before).removeprefix(before)
    return replaced(source, block, lines)


def made_once(case: Case, passed: OnTheWay) -> Iterator[OtherMoment]:
    """Under `if self.mask is None`, or in a function whose results are cached."""
    source, statement = passed.source, passed.statement
    block = source.parents.get(statement)
    if isinstance(statement, ast.Assign) and isinstance(block, ast.If) and not block.orelse:
        kept = targets(statement)[0]
        text = ast.unparse(kept)
        own = isinstance(kept, ast.Attribute) and kept.attr in ast.unparse(block.test)
        if (own or text in ast.unparse(block.test)) and not shares_lines(source, block.body[0]):
            yield OtherMoment(
                case.expression(source, statement.value),
                f"{code(text)} is made once, by {passed.line}, and does not fit what comes later.",
                f"Behind `if {source.segment(block.test)}` it keeps what the first call needed.",
                "Make it in each call.",
                replaced_lines(source, block, text_of(source, block.body)),
            )
    scope = source.scope_of(statement)
    for head in getattr(scope, "decorator_list", ()):
        if source.imported(head.func if isinstance(head, ast.Call) else head) in CACHES:
            line = source.span(head).line
            yield OtherMoment(
                case.expression(source, head),
                f"`{scope.name}` gives what it made in an earlier call, by {passed.line}.",  # type: ignore[attr-defined]
                f"{passed.text(head)} keeps its results, also where they are changed afterwards.",
                "Do not cache it.",
                without_line(source, line),
            )


def without_line(source: Source, line: int) -> Edit:
    return Edit(source.file, (Replace(Span(line, 0, line + 1, 0), ""),))


def made_too_early(case: Case, passed: OnTheWay) -> Iterator[OtherMoment]:
    """A copy, or what was handed something that a later statement changes or replaces."""
    source, statement = passed.source, passed.statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return
    given = set(names_within(statement.value, ast.Load)) - {dotted(statement.value.func)}
    block = block_of(source, statement)
    later = block[block.index(statement) + 1 :] if statement in block else []
    changing = [other for other in later if changes(other) & given]
    for other in changing[:2]:
        edit = moved_together(source, [statement], other)
        if edit is None:
            continue
        name = next(iter(changes(other) & given))
        made = spoken_targets(source, statement)
        yield OtherMoment(
            case.expression(source, statement.value),
            f"{made} is made from {code(name)} before {source.file}:{other.lineno} changes that.",
            f"{passed.text(statement.value)} takes {code(name)} as it is at that line;"
            f" {passed.text(other)} comes later.",
            f"Move it behind line {other.lineno}.",
            edit,
        )


def spoken_targets(source: Source, statement: ast.Assign) -> str:
    return code(source.segment(targets(statement)[0]))


def changes(statement: ast.stmt) -> set[str]:
    """Names that it calls or calls a method of, or binds again from themselves."""
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            return {dotted(function).partition(".")[0]} - {"", "print"}
        case ast.Assign(value=value):
            stored = set(names_within(statement, ast.Store))
            return stored & set(names_within(value, ast.Load))
    return set()
