"""The user's own source with each expression wrapped, so that its value is noted.

`f(x[1])` becomes `note(7, f(note(6, x[1])))`. Positions and file name stay. What would change its
meaning when it is wrapped stays as it is, and only what is safely inside it is wrapped.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any

from surefit.observe.inside.lineage import regions
from surefit.observe.inside.lineage.choices import (
    PlainCopy,
    assigned,
    begun,
    is_short,
    name_of,
    reads_its_names,
    turn_of,
)
from surefit.observe.inside.lineage.regions import Region

NOTE, ENTER, BOUND, HOLD, AUGMENTED = (
    f"__surefit_{name}__" for name in ("note", "enter", "bound", "hold", "augmented")
)
"""With underscores at both ends: others would be mangled inside a class."""

UNTOUCHED = {"super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__", "__class__"}
"""Names that are not wrapped: what they give depends on where they stand."""
TRANSLATORS = {"jit", "njit", "cfunc", "vectorize", "guvectorize", "stencil", "kernel"}
MUTATORS = frozenset(
    {"append", "extend", "insert", "update", "add", "setdefault", "sort", "reverse", "shuffle"}
    | {"pop", "popitem", "remove", "discard", "clear", "appendleft", "fill", "put", "resize"}
    | {"load_state_dict", "resize_token_embeddings", "add_tokens", "add_special_tokens"}
    | {"set_format", "add_module", "register_module", "register_buffer", "register_parameter"}
)
"""Methods and functions that change what they are called on; those with an underscore at the end
of their names do so, too."""
LONGEST_DISPLAY = 64
"""Constants in longer displays are not noted one by one."""
LONGEST_TEXT = 160
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(slots=True)
class SourceScope:
    """A function, a class, a comprehension or a module, and the names that it binds."""

    number: int
    kind: str
    names: set[str]
    qualname: str = ""
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Target:
    """A name that is bound, and which part of the value it gets."""

    key: str
    """In its frame."""
    shared: tuple[int, str]
    """Its scope and itself, for reading from other frames."""
    path: tuple[str, ...] = ()
    node: int = -1
    """Number of the name itself as an expression, for what is bound by unpacking."""
    in_class: bool = False


@dataclass(slots=True)
class Node:
    """An expression of the user's, before it is evaluated."""

    number: int
    first: int
    """Lowest number of an expression inside it."""
    kind: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    """Columns in characters."""
    text: str
    function: str
    name: str = ""
    slots: tuple[tuple[int, str], ...] = ()
    """Numbers of its parts, and what they are: `0`, `labels`, `self`, `func`, `key`."""
    key: str = ""
    shared: tuple[int, str] = (0, "")
    local: bool = False
    """Of a name: it is bound in the frame that reads it."""
    top: bool = False
    """Nothing else of its frame is under way when it is evaluated."""
    returns: bool = False
    targets: tuple[Target, ...] = ()
    source_of: int = -1
    """Number of the binding or storing that takes its value."""
    mutates: str = ""
    """`self` or `0`: the part that a call changes in place."""
    elements: tuple[int, ...] = ()
    """Of a comprehension: the numbers of its element, or of key and value."""
    sliced: bool = False
    """Of a subscript: it takes several items, and makes something new of them."""
    filtered: bool = False
    """A comprehension with conditions: numbers of items and elements differ."""


@dataclass(slots=True)
class WrappedFunction:
    """A function of the user's: its parameters in the order of its signature."""

    number: int
    parameters: tuple[Target, ...]
    starred: str = ""
    double_starred: str = ""


@dataclass(slots=True)
class Binding:
    """A statement that binds names to parts of a value, or stores it in an object."""

    number: int
    kind: str
    """`loop`, `unpack`, `with`, `comprehension`, `attribute`, `item` or `name`."""
    targets: tuple[Target, ...] = ()
    name: str = ""
    node: int = -1
    """Of what is stored: the statement as a producer of the object that it changes."""
    augmented: bool = False
    """`x.total += y`: the object is read before the value."""
    region: Region | None = None
    """Of a loop: its body."""


nodes: list[Node] = []
functions: list[WrappedFunction] = []
bindings: list[Binding] = []
calls: dict[str, dict[tuple[int, int], int]] = {}
"""File -> where a call ends -> its number."""
_scopes = count(1)


def put_in(tree: ast.Module, file: str, text: str) -> None:
    """Wraps the expressions of a module that is about to be compiled."""
    Wrapping(file, text).module(tree)


def bound_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Names that statements bind in their own scope, not in scopes inside it."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.name
            continue
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, COMPREHENSIONS):
            inner = [walrus for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)]
            waiting += [walrus.target for walrus in inner]
            waiting.append(node.generators[0].iter)
            continue
        waiting += ast.iter_child_nodes(node)


class Wrapping:
    """Goes through one file; numbers expressions so that those inside others come first."""

    def __init__(self, file: str, text: str) -> None:
        self.file = os.path.abspath(file)
        self.lines = text.encode().splitlines(keepends=True)
        self.scopes: list[SourceScope] = []
        self.calls = calls.setdefault(file, {})
        self.flags = [""]
        """Variables that say whether a turn is noted; empty where all are."""
        self.in_full = [False]
        """Of functions and classes: whether they may not have variables of ours."""
        self.of_module: list[str] = []

    # Scopes

    def module(self, tree: ast.Module) -> None:
        self.scopes = [
            SourceScope(next(_scopes), "module", set(bound_names(tree.body)), "<module>")
        ]
        self.block(tree.body)
        if self.of_module:
            # At once: the user may be going through `globals()` when a loop begins.
            put_first(tree.body, [assigned(self.of_module, ast.Constant(True))])
        self.entered(tree.body, len(functions), ())
        functions.append(WrappedFunction(len(functions), ()))

    def entered(
        self,
        body: list[ast.stmt],
        number: int,
        parameters: Sequence[ast.arg],
        region: Region | None = None,
    ) -> None:
        """Puts a call at the start of a block that has a frame of its own."""
        call = ast.Expr(entering(number, parameters))
        if region is None:
            put_first(body, [call])
        else:
            put_first(body, [begun(region), ast.If(name_of(region.flag), [call], [])])

    def region(self, node: ast.stmt | ast.expr) -> Region | None:
        """The body of a loop or a function of which turns can be left out."""
        if self.in_full[-1]:
            return None
        is_call = isinstance(node, FUNCTIONS)
        region = regions.add(self.file, node.lineno, node.end_lineno or node.lineno, is_call)
        if self.scopes[-1].kind == "module" and isinstance(node, ast.stmt):
            self.of_module.append(region.flag)
        return region

    def parameter(self, argument: ast.arg) -> Target:
        scope = self.scopes[-1]
        node = self.add(argument, "parameter", len(nodes), text=argument.arg, name=argument.arg)
        return Target(argument.arg, (scope.number, argument.arg), (), node.number)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if is_translated(node):
            return
        number = len(functions)
        functions.append(WrappedFunction(number, ()))
        self.defaults(node.args, number)
        every = arguments(node.args)
        names = {argument.arg for argument in every} | set(bound_names(node.body))
        scope = self.opened("function", names, node.name, node.body)
        self.in_full.append(reads_its_names(node.body))
        region = self.region(node)
        self.part(node.body, region)
        self.in_full.pop()
        targets = tuple(self.parameter(argument) for argument in every)
        functions[number] = WrappedFunction(
            number,
            targets,
            node.args.vararg.arg if node.args.vararg else "",
            node.args.kwarg.arg if node.args.kwarg else "",
        )
        self.entered(node.body, number, every, region)
        self.closed(scope)

    def defaults(self, signature: ast.arguments, function: int) -> None:
        positional = [*signature.posonlyargs, *signature.args]
        last = positional[len(positional) - len(signature.defaults) :]
        for at, (argument, value) in enumerate(zip(last, signature.defaults, strict=True)):
            signature.defaults[at] = self.default(argument, value, function)
        for at, (argument, maybe) in enumerate(
            zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
        ):
            if maybe is not None:
                signature.kw_defaults[at] = self.default(argument, maybe, function)

    def default(self, argument: ast.arg, value: ast.expr, function: int) -> ast.expr:
        wrapped = self.expression(value, constants=True, top=True)
        number = number_of(wrapped)
        if number is not None:
            name = f"{argument.arg}={function}"
            nodes[number].targets = (Target("", (-1, name)),)
        return wrapped

    def opened(
        self, kind: str, names: set[str], name: str, body: Iterable[ast.AST] = ()
    ) -> SourceScope:
        outer = self.scopes[-1]
        within = "" if outer.kind == "module" else f"{outer.qualname}."
        if outer.kind in ("function", "lambda"):
            within += "<locals>."
        scope = SourceScope(next(_scopes), kind, names, within + name)
        for node in (inner for start in body for inner in ast.walk(start)):
            if isinstance(node, ast.Global):
                scope.globals |= set(node.names)
            elif isinstance(node, ast.Nonlocal):
                scope.nonlocals |= set(node.names)
        self.scopes.append(scope)
        return scope

    def closed(self, scope: SourceScope) -> None:
        assert self.scopes.pop() is scope

    def holder(self, name: str) -> SourceScope:
        """The scope that a name belongs to where it is read here."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if name in scope.globals:
                break
            if scope.kind == "class" and depth:
                continue
            if name in scope.names and name not in scope.nonlocals:
                return scope
        return self.scopes[0]

    def target(self, name: str) -> Target:
        scope = self.holder(name)
        return Target(key_of(scope, name), (scope.number, name), in_class=scope.kind == "class")

    # Statements

    def part(self, body: list[ast.stmt], region: Region | None) -> None:
        """A block with turns of its own."""
        self.flags.append(region.flag if region is not None else "")
        self.block(body)
        self.flags.pop()

    def block(self, body: list[ast.stmt]) -> None:
        """Where turns are left out, short statements stand there twice."""
        flag = self.flags[-1]
        wrapped: list[ast.stmt] = []
        for twice, group in groupby(list(body), lambda node: bool(flag) and is_short(node)):
            statements = list(group)
            plain = PlainCopy(statements) if twice else None
            self.flags.append("" if twice else flag)
            noted = [inner for node in statements for inner in self.wrapped(node)]
            self.flags.pop()
            if plain is not None:
                choice = ast.If(name_of(flag), noted, plain.nodes())
                noted = [placed(choice, statements[0])]
            wrapped += noted
        body[:] = wrapped

    def wrapped(self, node: ast.stmt) -> list[ast.stmt]:
        """With what must stand before it and after it."""
        if not isinstance(node, ast.While):
            return [node, *self.statement(node)]
        region = self.region(node)
        self.while_(node, region)
        if region is None:
            return [node]
        outer = name_of(self.flags[-1]) if self.flags[-1] else ast.Constant(True)
        return [placed(assigned([region.flag], outer), node), node]

    def chosen(
        self, node: ast.expr, *, constants: bool = False, top: bool = False
    ) -> tuple[ast.expr, int | None]:
        """The expression, wrapped in turns that are noted, and its number."""
        flag = self.flags[-1]
        plain = PlainCopy([node]) if flag else None
        wrapped = self.expression(node, constants=constants, top=top)
        number = number_of(wrapped)
        if plain is None:
            return wrapped, number
        return placed(ast.IfExp(name_of(flag), wrapped, plain.nodes()[0]), node), number

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """Wraps what is inside; gives statements that must follow it."""
        if isinstance(node, FUNCTIONS):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            scope = self.opened("class", set(bound_names(node.body)), node.name)
            self.in_full.append(True)
            self.part(node.body, None)
            self.in_full.pop()
            self.entered(node.body, len(functions), ())
            functions.append(WrappedFunction(len(functions), ()))
            self.closed(scope)
        elif isinstance(node, ast.Assign):
            return self.assignment(node, node.targets)
        elif isinstance(node, ast.AnnAssign):
            return self.assignment(node, [node.target]) if node.value is not None else []
        elif isinstance(node, ast.AugAssign):
            return self.augmented(node)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.loop(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self.with_(node)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                node.value = self.expression(node.value, constants=True, top=True)
                number = number_of(node.value)
                if number is not None:
                    nodes[number].returns = True
        elif isinstance(node, ast.Expr):
            if not is_ours(node.value) and not isinstance(node.value, ast.Constant):
                node.value = self.expression(node.value, top=True)
        elif isinstance(node, ast.If):
            node.test, _ = self.chosen(node.test, top=True)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.Try | ast.TryStar):
            self.block(node.body)
            for handler in node.handlers:
                self.block(handler.body)
            self.block(node.orelse)
            self.block(node.finalbody)
        elif isinstance(node, ast.Match):
            self.match(node)
        elif isinstance(node, ast.Assert):
            node.test = self.expression(node.test, top=True)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            node.exc = self.expression(node.exc, top=True)
        return []

    def assignment(
        self, node: ast.Assign | ast.AnnAssign, targets: Sequence[ast.expr]
    ) -> list[ast.stmt]:
        assert node.value is not None
        node.value = self.expression(node.value, constants=True, top=True)
        number = number_of(node.value)
        after: list[ast.stmt] = []
        bound: list[Target] = []
        for target in targets:
            if isinstance(target, ast.Name):
                bound.append(self.target(target.id))
            elif isinstance(target, ast.Attribute | ast.Subscript):
                self.store(target, node, number)
            else:
                after += self.unpacked(target, node, number)
        if number is not None:
            nodes[number].targets = tuple(bound)
        return after

    def unpacked(self, target: ast.expr, node: ast.stmt, number: int | None) -> list[ast.stmt]:
        call = self.binding("unpack", target)
        if call is None:
            return []
        if number is not None:
            nodes[number].source_of = len(bindings) - 1
        return [placed(ast.Expr(call), node)]

    def binding(self, kind: str, target: ast.expr, region: Region | None = None) -> ast.expr | None:
        """A call that tells what the names in a target are bound to by now."""
        names = list(names_in(target))
        if not names:
            return None
        targets = []
        for name, path in names:
            bound = self.target(name.id)
            bound.path = path
            bound.node = self.add(name, "name", len(nodes), text=name.id, name=name.id).number
            targets.append(bound)
        bindings.append(Binding(len(bindings), kind, tuple(targets), region=region))
        values = ast.Tuple([ast.Name(name.id, ast.Load()) for name, _ in names], ast.Load())
        call: ast.expr = placed(call_of(BOUND, len(bindings) - 1, values), target)
        return call

    def store(
        self, target: ast.Attribute | ast.Subscript, node: ast.stmt, number: int | None
    ) -> None:
        first = len(nodes)
        target.value = self.expression(target.value)
        kind, name = "attribute", getattr(target, "attr", "")
        if isinstance(target, ast.Subscript):
            kind, name = "item", constant_key(target.slice)
            target.slice = self.inside(target.slice)
        stored = self.add(node, "mutation", first, name=name)
        bindings.append(Binding(len(bindings), kind, name=name, node=stored.number))
        if number is not None:
            nodes[number].source_of = len(bindings) - 1
        target.value = placed(call_of(HOLD, len(bindings) - 1, target.value), target.value)

    def augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = node.target
        node.value = self.expression(node.value, constants=True, top=True)
        number = number_of(node.value)
        if isinstance(target, ast.Name):
            whole = self.add(node, "operator", len(nodes), name=target.id)
            bound = self.target(target.id)
            bindings.append(Binding(len(bindings), "name", (bound,), target.id, whole.number))
            if number is not None:
                nodes[number].source_of = len(bindings) - 1
            value: ast.expr = ast.Name(target.id, ast.Load())
        else:
            self.store(target, node, number)
            bindings[-1].augmented = True
            value = ast.Constant(None)
        call = call_of(AUGMENTED, len(bindings) - 1, value)
        return [placed(ast.Expr(call), node)]

    def loop(self, node: ast.For | ast.AsyncFor) -> None:
        node.iter, number = self.chosen(node.iter, top=True)
        region = self.region(node)
        call = self.binding("loop", node.target, region)
        if call is not None and number is not None:
            nodes[number].source_of = len(bindings) - 1
        self.part(node.body, region)
        self.block(node.orelse)
        first = [ast.Expr(call)] if call is not None else []
        self.turned(node.body, region, first)

    def while_(self, node: ast.While, region: Region | None) -> None:
        """Its condition is part of the turn before."""
        self.flags.append(region.flag if region is not None else "")
        node.test, _ = self.chosen(node.test, top=True)
        self.block(node.body)
        self.flags.pop()
        self.block(node.orelse)
        self.turned(node.body, region, [])

    def turned(
        self, body: list[ast.stmt], region: Region | None, first: Sequence[ast.stmt]
    ) -> None:
        """Puts what begins a turn at the start of a loop's body."""
        statements = list(first)
        if region is not None:
            noted = [ast.If(name_of(region.flag), statements, [])] if statements else []
            statements = [begun(region, self.flags[-1]), *noted]
        body[:0] = [placed(statement, body[0]) for statement in statements]

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        first: list[ast.stmt] = []
        for item in node.items:
            item.context_expr, number = self.chosen(item.context_expr, top=True)
            call = None
            if item.optional_vars is not None:
                call = self.binding("with", item.optional_vars)
            if call is not None:
                first.append(ast.Expr(call))
                if number is not None:
                    nodes[number].source_of = len(bindings) - 1
        self.block(node.body)
        if first and self.flags[-1]:
            first = [ast.If(name_of(self.flags[-1]), first, [])]
        node.body[:0] = [placed(statement, node.body[0]) for statement in first]

    def match(self, node: ast.Match) -> None:
        node.subject, _ = self.chosen(node.subject, top=True)
        for case in node.cases:
            if case.guard is not None:
                case.guard, _ = self.chosen(case.guard)
            self.block(case.body)

    # Expressions

    def expression(self, node: ast.expr, *, constants: bool = False, top: bool = False) -> ast.expr:
        """The expression with what is in it wrapped, and itself where that changes nothing."""
        first = len(nodes)
        filtered = isinstance(node, COMPREHENSIONS) and (
            any(generator.ifs for generator in node.generators) or len(node.generators) > 1
        )
        wrapped = self.parts(node, constants)
        if wrapped is None:
            return node
        kind, name, slots = wrapped
        added = self.add(node, kind, first, name=name, slots=slots)
        added.top = top
        if isinstance(node, ast.Name):
            scope = self.holder(node.id)
            added.key, added.shared = key_of(scope, node.id), (scope.number, node.id)
            added.local = scope is self.scopes[-1] or scope.kind == "comprehension"
        elif isinstance(node, ast.Call):
            self.called(node, added)
        elif isinstance(node, ast.Subscript):
            added.sliced = isinstance(node.slice, ast.Slice)
        elif isinstance(node, COMPREHENSIONS):
            added.elements = tuple(number for number, role in slots if role == "element")
            added.filtered = filtered
        noted: ast.expr = placed(call_of(NOTE, added.number, node), node)
        return noted

    def called(self, node: ast.Call, added: Node) -> None:
        end = node.end_lineno or node.lineno, node.end_col_offset or 0
        self.calls[end] = added.number
        word = added.name.rpartition(".")[2]
        in_place = any(keyword.arg == "inplace" for keyword in node.keywords)
        changes = word in MUTATORS or in_place or (word.endswith("_") and not word.endswith("__"))
        if changes:
            by_method = any(role == "self" for _, role in added.slots)
            added.mutates = "self" if by_method else "0"

    def parts(
        self, node: ast.expr, constants: bool
    ) -> tuple[str, str, tuple[tuple[int, str], ...]] | None:
        """Wraps what is inside; kind, name and parts, or None where itself stays as it is."""
        match node:
            case ast.Constant():
                wrap = constants and node.value is not Ellipsis
                return ("literal", "", ()) if wrap else None
            case ast.Name():
                untouched = node.id in UNTOUCHED or node.id.startswith("__surefit")
                plain = isinstance(node.ctx, ast.Load) and not untouched
                return ("name", node.id, ()) if plain else None
            case ast.Call():
                return self.call(node)
            case ast.Attribute():
                node.value = self.expression(node.value)
                return "attribute", node.attr, self.slot(node.value, "object")
            case ast.Subscript():
                node.value = self.expression(node.value)
                key = constant_key(node.slice)
                node.slice = self.inside(node.slice)
                held = self.slot(node.value, "object")
                return "subscript", key, (*held, *self.slot(node.slice, "key"))
            case ast.List() | ast.Tuple() | ast.Set():
                return "display", "", self.elements(node)
            case ast.Dict():
                return "display", "", self.items(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return "comprehension", type(node).__name__, self.comprehension(node)
            case ast.Lambda():
                self.lambda_(node)
                return None
            case ast.NamedExpr():
                node.value = self.expression(node.value, constants=True)
                number = number_of(node.value)
                if number is not None and isinstance(node.target, ast.Name):
                    nodes[number].targets = (self.target(node.target.id),)
                return None
            case ast.Starred():
                node.value = self.expression(node.value)
                return None
            case ast.Yield() | ast.YieldFrom():
                if node.value is not None:
                    node.value = self.expression(node.value, constants=True)
                    number = number_of(node.value)
                    if number is not None:
                        nodes[number].returns = isinstance(node, ast.Yield)
                return None
            case ast.JoinedStr():
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        part.value = self.expression(part.value)
                return "operator", "", ()
            case ast.Slice():
                self.inside(node)
                return None
        return self.operator(node)

    def operator(self, node: ast.expr) -> tuple[str, str, tuple[tuple[int, str], ...]]:
        slots: list[tuple[int, str]] = []
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                wrapped = self.expression(value, constants=isinstance(node, ast.IfExp))
                setattr(node, name, wrapped)
                slots += self.slot(wrapped, "test" if name == "test" else "")
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        value[at] = self.expression(item, constants=isinstance(node, ast.BoolOp))
                        slots += self.slot(value[at], "")
        return "operator", type(node).__name__, tuple(slots)

    def call(self, node: ast.Call) -> tuple[str, str, tuple[tuple[int, str], ...]]:
        name = one_line(self.text(node.func))
        slots: list[tuple[int, str]] = []
        first = len(nodes)
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.expression(node.func.value)
            slots += self.slot(node.func.value, "self")
            func = self.add(node.func, "attribute", first)
            func.name, func.slots = node.func.attr, tuple((at, "object") for at, _ in slots)
            node.func = placed(call_of(NOTE, func.number, node.func), node.func)
            slots.append((func.number, "func"))
        else:
            node.func = self.expression(node.func)
            slots += self.slot(node.func, "func")
        if name in UNTOUCHED:
            return "call", name, tuple(slots)
        for at, argument in enumerate(node.args):
            node.args[at] = self.expression(argument, constants=True)
            inner = node.args[at]
            starred = isinstance(inner, ast.Starred)
            slots += self.slot(
                inner.value if isinstance(inner, ast.Starred) else inner,
                "*" if starred else str(at),
            )
        for keyword in node.keywords:
            keyword.value = self.expression(keyword.value, constants=True)
            slots += self.slot(keyword.value, keyword.arg or "**")
        return "call", name, tuple(slots)

    def elements(self, node: ast.List | ast.Tuple | ast.Set) -> tuple[tuple[int, str], ...]:
        short = len(node.elts) <= LONGEST_DISPLAY
        slots: list[tuple[int, str]] = []
        shifted = False
        for at, element in enumerate(node.elts):
            node.elts[at] = self.expression(element, constants=short)
            inner = node.elts[at]
            if isinstance(inner, ast.Starred):
                shifted = True
                slots += self.slot(inner.value, "*")
            else:
                slots += self.slot(inner, "*" if shifted else str(at))
        return tuple(slots)

    def items(self, node: ast.Dict) -> tuple[tuple[int, str], ...]:
        short = len(node.keys) <= LONGEST_DISPLAY
        slots: list[tuple[int, str]] = []
        for at, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            name = "**" if key is None else constant_key(key) or "*"
            if key is not None and not isinstance(key, ast.Constant):
                node.keys[at] = self.expression(key)
            node.values[at] = self.expression(value, constants=short)
            slots += self.slot(node.values[at], name)
        return tuple(slots)

    def comprehension(self, node: Any) -> tuple[tuple[int, str], ...]:
        targets = {
            name.id for generator in node.generators for name, _ in names_in(generator.target)
        }
        first = node.generators[0]
        first.iter = self.expression(first.iter)
        slots = list(self.slot(first.iter, "iterable"))
        name = f"<{type(node).__name__.lower().replace('generatorexp', 'genexpr')}>"
        scope = self.opened("comprehension", targets, name)
        region = self.region(node)
        self.flags.append(region.flag if region is not None else "")
        for generator in node.generators:
            self.generator(generator, generator is first, region)
        for name in ("key", "value", "elt"):
            if hasattr(node, name):
                wrapped, number = self.chosen(getattr(node, name), constants=True)
                setattr(node, name, wrapped)
                if number is not None:
                    slots.append((number, "element" if name != "key" else "key"))
                    nodes[number].returns = isinstance(node, ast.GeneratorExp) and name == "elt"
        if region is not None:
            # `for y in [f(x)]` is compiled as an assignment.
            once = ast.List([turn_of(region)], ast.Load())
            flag = ast.Name(region.flag, ast.Store())
            turn = ast.comprehension(flag, once, first.ifs, 0)
            first.ifs = []
            node.generators.insert(1, turn)
            placed(flag, node)
            placed(once, node)
        self.flags.pop()
        self.closed(scope)
        return tuple(slots)

    def generator(self, generator: ast.comprehension, first: bool, region: Region | None) -> None:
        if first:
            number = number_of(generator.iter)
        else:
            generator.iter, number = self.chosen(generator.iter)
        kind = "comprehension" if first else "loop"
        call = self.binding(kind, generator.target, region if first else None)
        if call is not None and number is not None:
            nodes[number].source_of = len(bindings) - 1
        generator.ifs = [self.chosen(test)[0] for test in generator.ifs]
        if call is not None and region is not None:
            call = placed(ast.IfExp(name_of(region.flag), call, ast.Constant(True)), call)
        if call is not None:
            generator.ifs.insert(0, call)

    def lambda_(self, node: ast.Lambda) -> None:
        every = arguments(node.args)
        number = len(functions)
        functions.append(WrappedFunction(number, ()))
        self.defaults(node.args, number)
        scope = self.opened("lambda", {argument.arg for argument in every}, "<lambda>")
        region = self.region(node)
        plain = PlainCopy([node.body])
        body = self.expression(node.body, constants=True, top=True)
        returned = number_of(body)
        if returned is not None:
            nodes[returned].returns = True
        targets = tuple(self.parameter(argument) for argument in every)
        functions[number] = WrappedFunction(number, targets)
        noted: ast.expr = ast.BoolOp(ast.Or(), [entering(number, every), body])
        if region is not None:
            noted = ast.IfExp(turn_of(region), noted, plain.nodes()[0])
        node.body = placed(noted, node.body)
        self.closed(scope)

    def inside(self, node: ast.expr) -> ast.expr:
        """Of a subscript: slices and tuples of them stay; numbers written there are not noted."""
        if isinstance(node, ast.Slice):
            for name in ("lower", "upper", "step"):
                part = getattr(node, name)
                if part is not None:
                    setattr(node, name, self.expression(part))
            return node
        if isinstance(node, ast.Tuple):
            node.elts = [self.inside(part) for part in node.elts]
            return node
        return self.expression(node)

    def slot(self, wrapped: ast.expr, role: str) -> tuple[tuple[int, str], ...]:
        number = number_of(wrapped)
        return ((number, role),) if number is not None else ()

    # Nodes

    def add(
        self,
        at: Any,
        kind: str,
        first: int,
        *,
        text: str = "",
        name: str = "",
        slots: tuple[tuple[int, str], ...] = (),
    ) -> Node:
        node = Node(
            len(nodes),
            first,
            kind,
            self.file,
            at.lineno,
            self.characters(at.lineno, at.col_offset),
            at.end_lineno,
            self.characters(at.end_lineno, at.end_col_offset),
            text or one_line(self.text(at)),
            self.scopes[-1].qualname,
            name,
            slots,
        )
        nodes.append(node)
        return node

    def characters(self, line: int, count: int) -> int:
        """`ast` counts bytes."""
        if line > len(self.lines):
            return count
        return len(self.lines[line - 1][:count].decode(errors="ignore"))

    def text(self, node: Any) -> str:
        """As it is written; the tree has been changed by now."""
        first, last = node.lineno - 1, node.end_lineno - 1
        lines = self.lines[first : last + 1]
        if not lines:
            return ""
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"".join(lines).decode(errors="replace")


def put_first(body: list[ast.stmt], statements: Sequence[ast.stmt]) -> None:
    if body:
        at = after_preamble(body)
        before = body[min(at, len(body) - 1)]
        body[at:at] = [placed(statement, before) for statement in statements]


def after_preamble(body: Sequence[ast.stmt]) -> int:
    """Behind the docstring and what must come first in a file."""
    at = 0
    for node in body:
        docstring = (
            at == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            break
        at += 1
    return at


def arguments(signature: ast.arguments) -> list[ast.arg]:
    every = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
    return [
        *every,
        *(argument for argument in (signature.vararg, signature.kwarg) if argument is not None),
    ]


def entering(number: int, parameters: Sequence[ast.arg]) -> ast.expr:
    values = ast.Tuple([ast.Name(argument.arg, ast.Load()) for argument in parameters], ast.Load())
    return call_of(ENTER, number, values)


def is_translated(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """`@njit` and the like make machine code of a function's bytecode."""
    marks = (getattr(mark, "func", mark) for mark in node.decorator_list)
    return any(ast.unparse(mark).rpartition(".")[2] in TRANSLATORS for mark in marks)


def is_ours(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.startswith("__surefit")
    )


def number_of(node: ast.expr) -> int | None:
    """Of an expression that was just wrapped."""
    if is_ours(node) and node.func.id == NOTE:  # type: ignore[attr-defined]
        return int(node.args[0].value)  # type: ignore[attr-defined]
    return None


def call_of(name: str, number: int, value: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), value], [])


def placed(node: Any, at: ast.AST) -> Any:
    """New nodes stand where the one stands that they are about."""
    ast.copy_location(node, at)
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr | ast.stmt) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, at)
    return node


def names_in(
    target: ast.expr, path: tuple[str, ...] = ()
) -> Iterator[tuple[ast.Name, tuple[str, ...]]]:
    if isinstance(target, ast.Name):
        yield target, path
    elif isinstance(target, ast.Starred):
        yield from names_in(target.value, (*path[:-1], "*"))
    elif isinstance(target, ast.Tuple | ast.List):
        for at, part in enumerate(target.elts):
            yield from names_in(part, (*path, str(at)))


def key_of(scope: SourceScope, name: str) -> str:
    return f"{name}@{scope.number}" if scope.kind == "comprehension" else name


def constant_key(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int):
        return str(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant_key(node.operand)
        return f"-{inner}" if inner else ""
    return ""


def one_line(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= LONGEST_TEXT else short[: LONGEST_TEXT - 1] + "…"
