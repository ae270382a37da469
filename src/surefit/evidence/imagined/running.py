"""Runs a script in thought: statements in order, calls of its own functions followed into them.

What is not certain is unknown: both ways of a test that cannot be told are walked, and only what
both leave alike stays known. Nothing that happens on a way that may not be taken is a mishap.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from surefit.evidence.imagined import externals, methods, operators
from surefit.evidence.imagined.classes import find_in_class, lineage
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.graphs import Graphs, touched
from surefit.evidence.imagined.items import Rounds, rounds_of, unpacked
from surefit.evidence.imagined.mishaps import Mishap
from surefit.evidence.imagined.modules import attribute_of, is_module, set_attribute
from surefit.evidence.imagined.state import Changes, Trails, joined
from surefit.evidence.imagined.values import (
    ABSENT,
    UNKNOWN,
    Bound,
    Class,
    Each,
    External,
    Function,
    Instance,
    Known,
    Layer,
    Listed,
    Made,
    Mapped,
    Optimizer,
    Parameters,
    Scope,
    Tensor,
    inside,
    listed,
)
from surefit.source.reading import Source

MOST_STEPS = 60_000
"""Expressions that are looked at; a longer script is left after them."""
DEEPEST = 14
MOST_ROUNDS = 24
"""Of a loop whose members are all known; of others two are walked."""
HARMLESS = {
    "KeyboardInterrupt",
    "ImportError",
    "ModuleNotFoundError",
    "FileNotFoundError",
    "FileExistsError",
    "OSError",
    "IOError",
    "EOFError",
    "StopIteration",
    "SystemExit",
    "UnicodeDecodeError",
}
"""Exceptions that are caught for other reasons than a mishap of a model."""
EXPECTS_A_FAILURE = ("raises", "suppress", "fail", "warns", "expect")

Flow = str | None


class Ended(Exception):  # noqa: N818 - not an error: the way ends here
    """A `raise` on the way, or the end of the program."""


class TooLong(Exception):  # noqa: N818
    """More steps than are worth it."""


@dataclass(slots=True)
class Frame:
    """A function that is running."""

    function: Function | None
    me: Any = None
    returns: list[Any] = field(default_factory=list)
    left: list[Changes] = field(default_factory=list)
    """What ways had set that returned early."""
    loops: list[list[Changes]] = field(default_factory=list)
    """The same for loops that were left early."""


class Run:
    """One script."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mishaps: list[Mishap] = []
        self.trails = Trails()
        self.graphs = Graphs(self.trails)
        self.optimizers: list[Optimizer] = []
        self.files: dict[Any, tuple[Any, ast.AST]] = {}
        self.guard = 0
        self.steps = 0
        self.frames: list[Frame] = []
        self.sites: list[ast.AST] = []
        """Calls of the script's own functions and containers that are running."""
        self.moment: tuple[tuple[int, int], ...] = ()
        self.loops = 0
        self.sizes = 0
        self.mixed: bool | None = False
        """Under autocast."""
        self.dtype: str | None = "float32"
        self.home: str | None = "cpu"
        """What new weights and tensors have where nothing else is said."""
        self.ran: set[ast.AST] = set()
        self.made_with: dict[ast.ClassDef, tuple[Class, Given]] = {}
        self.globals = Scope(None)

    # the whole file

    def whole(self) -> list[Mishap]:
        try:
            self.alone(lambda: self.block(self.source.tree.body, self.globals))
            self.rest()
        except TooLong:
            pass
        return self.mishaps

    def alone(self, run: Callable[[], Any]) -> Any:
        """From a clean beginning; ends where the script does."""
        self.guard, self.moment, self.mixed = 0, (), False
        self.dtype, self.home = "float32", "cpu"
        self.graphs.begin()
        self.graphs.reached.clear()
        self.optimizers.clear()
        self.frames, self.sites = [Frame(None)], []
        try:
            return run()
        except (Ended, RecursionError):
            return None

    def rest(self) -> None:
        """Functions and methods that nothing in the file calls, with nothing known of arguments."""
        for value in list(self.globals.names.values()):
            if isinstance(value, Function) and value.node not in self.ran:
                self.alone(partial(self.call_function, value, Given(open=True), value.node))
            elif isinstance(value, Class):
                self.methods_left(value)

    def methods_left(self, one: Class) -> None:
        left = [
            node
            for node in one.node.body
            if isinstance(node, ast.FunctionDef) and node not in self.ran and not is_special(node)
        ]
        if not left:
            return
        known = self.made_with.get(one.node)
        given = known[1] if known else Given(open=True)
        for node in left:
            made = self.alone(lambda: self.instantiate(one, given, one.node))
            if isinstance(made, Instance) and node not in self.ran:
                function = Function(node, one.scope, one)
                self.alone(partial(self.call_function, function, Given(open=True), node, made))

    # what goes wrong

    def mishap(self, mishap: Mishap) -> None:
        if self.guard:
            return
        known = {(type(one), one.node) for one in self.mishaps}
        if (type(mishap), mishap.node) not in known:
            self.mishaps.append(mishap)

    def way_to(self, node: ast.AST) -> tuple[ast.AST, ...]:
        return (*self.sites, node)

    def set(self, state: dict[Any, Any], key: Any, value: Any) -> None:
        self.trails.set(state, key, value)

    # statements

    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> Flow:
        for statement in statements:
            flow = self.statement(statement, scope)
            if flow is not None:
                return flow
        return None

    def statement(self, node: ast.stmt, scope: Scope) -> Flow:
        self.step()
        match node:
            case ast.Expr(value=value):
                self.expression_statement(value, scope)
            case ast.Assign(targets=targets, value=value):
                got = self.ev(value, scope)
                for target in targets:
                    self.assign(target, got, scope)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.ev(value, scope), scope)
            case ast.AugAssign():
                self.augmented(node, scope)
            case ast.If():
                return self.if_(node, scope)
            case ast.For():
                return self.for_(node, scope)
            case ast.While():
                return self.while_(node, scope)
            case ast.With():
                return self.with_(node, scope)
            case ast.Try():
                return self.try_(node, scope)
            case ast.Return(value=value):
                got = self.ev(value, scope) if value else Known(None)
                self.frames[-1].returns.append(got)
                return "return"
            case ast.Break():
                return "break"
            case ast.Continue():
                return "continue"
            case ast.Raise():
                raise Ended
            case ast.Assert(test=test):
                self.check_assertion(test, scope)
            case ast.FunctionDef():
                self.bind(node.name, self.function(node, scope), scope)
            case ast.AsyncFunctionDef():
                self.bind(node.name, UNKNOWN, scope)
            case ast.ClassDef():
                self.bind(node.name, self.class_(node, scope), scope)
            case ast.Import() | ast.ImportFrom():
                self.import_(node, scope)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.shared |= set(names)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.bind(target.id, UNKNOWN, scope)
                    else:
                        self.forget(target, scope)
            case ast.Match():
                self.forget_all(node, scope)
        return None

    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def expression_statement(self, value: ast.expr, scope: Scope) -> None:
        if isinstance(value, ast.Constant):
            return
        if isinstance(value, ast.Call):
            methods.look_for_discarded(self, value, scope)
        self.ev(value, scope)

    def bind(self, name: str, value: Any, scope: Scope) -> None:
        home = scope
        if name in scope.shared:
            here = scope.outer
            while here is not None and name not in here.names:
                here = here.outer
            home = here or scope.root
        self.set(home.names, name, value)

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value, scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self.assign_parts(parts, value, scope)
            case ast.Starred(value=inner):
                self.assign(inner, UNKNOWN, scope)
            case ast.Attribute(value=owner, attr=name):
                set_attribute(self, self.ev(owner, scope), name, value, target)
            case ast.Subscript(value=owner, slice=index):
                holder = self.ev(owner, scope)
                operators.set_item(self, holder, self.ev(index, scope), value, target)

    def assign_parts(self, parts: Sequence[ast.expr], value: Any, scope: Scope) -> None:
        starred = any(isinstance(one, ast.Starred) for one in parts)
        items = None if starred else unpacked(self, value, len(parts))
        for number, part in enumerate(parts):
            self.assign(part, items[number] if items else UNKNOWN, scope)

    def augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        old = self.ev(node.target, scope)
        right = self.ev(node.value, scope)
        if isinstance(old, Tensor):
            operators.written(self, old, node, node.target)
        got = operators.binary(self, old, node.op, right, (node.target, node.value), node)
        if isinstance(old, Listed) and old.kind == "list":
            self.set(old.state, "items", got.items if isinstance(got, Listed) else None)
            return
        if isinstance(old, Tensor) and isinstance(got, Tensor):
            if self.graphs.recording is not True or old.leaf:
                return  # it is the same tensor, with other numbers in it
            got.state["device"] = old.state.get("device")
        self.assign(node.target, got, scope)

    def if_(self, node: ast.If, scope: Scope) -> Flow:
        test = self.truth(self.ev(node.test, scope))
        if test is not None:
            if test and ends_in_raise(node.body):
                operators.look_for_indivisible(self, node.test, scope, node)
            return self.block(node.body if test else node.orelse, scope)
        return self.either(
            lambda: self.block(node.body, scope), lambda: self.block(node.orelse, scope)
        )

    def either(self, first: Callable[[], Flow], second: Callable[[], Flow]) -> Flow:
        one, left = self.tried(first)
        other, right = self.tried(second)
        if one is None and other is None:
            self.trails.both(left, right)
            return None
        if one is None or other is None:
            self.trails.apply(left if one is None else right)
            self.keep_for_later(other if one is None else one, right if one is None else left)
            return None
        if one == other == "raise":
            raise Ended
        for flow, changes in ((one, left), (other, right)):
            self.keep_for_later(flow, changes)
        return one if other == "raise" else other

    def tried(self, run: Callable[[], Flow]) -> tuple[Flow, Changes]:
        self.guard += 1
        kept = self.moment, self.mixed, self.graphs.now(), len(self.frames)
        try:
            return self.trails.tried(lambda: ended(run))
        finally:
            self.guard -= 1
            self.moment, self.mixed, recording, depth = kept
            switched = self.graphs.now() != recording
            self.graphs.back_to(recording)
            if switched:
                self.graphs.unknown()
            del self.frames[depth:]

    def keep_for_later(self, flow: Flow, changes: Changes) -> None:
        """A way that was left early shows its changes where it leads to."""
        frame = self.frames[-1]
        if flow == "return":
            frame.left.append(changes)
        elif flow in ("break", "continue") and frame.loops:
            frame.loops[-1].append(changes)

    def for_(self, node: ast.For, scope: Scope) -> Flow:
        over = self.ev(node.iter, scope)
        if isinstance(over, Parameters):
            item: Any = Each(over)
            self.assign(
                node.target, listed("tuple", (UNKNOWN, item)) if over.named else item, scope
            )
            flow = self.once(node.body, scope, node)
            return flow if flow == "return" else None
        rounds = rounds_of(self, over)

        def begin(number: int) -> None:
            self.assign(node.target, rounds.item(number), scope)

        flow = self.rounds(node, scope, rounds, begin)
        if flow is None and node.orelse:
            return self.block(node.orelse, scope)
        return flow

    def once(self, body: Sequence[ast.stmt], scope: Scope, node: ast.AST) -> Flow:
        return self.rounds(node, scope, Rounds((UNKNOWN,), True), lambda _: None, body)

    def rounds(
        self,
        node: Any,
        scope: Scope,
        rounds: Rounds,
        begin: Callable[[int], None],
        body: Sequence[ast.stmt] | None = None,
    ) -> Flow:
        statements = node.body if body is None else body
        frame, before = self.frames[-1], self.moment
        if rounds.all_known and len(rounds.items) == 0:
            return None
        exact = rounds.all_known and len(rounds.items) <= MOST_ROUNDS
        count = len(rounds.items) if exact else 2
        self.loops += 1
        loop = self.loops
        frame.loops.append([])
        results: list[Changes] = []
        flow: Flow = None
        for number in range(count):
            self.moment = (*before, (loop, number))

            def one_round(at: int = number) -> Flow:
                begin(at)
                return self.block(statements, scope)

            flow, changes = self.trails.watched(one_round)
            results.append(changes)
            if flow in ("break", "return"):
                break
        self.moment = before
        left = frame.loops.pop()
        if not exact and len(results) == 2:
            self.after_some_rounds(results)
        for changes in left:
            self.trails.mix(changes)
        return "return" if flow == "return" else None

    def after_some_rounds(self, results: list[Changes]) -> None:
        """What no round, one round and two rounds leave, as far as it is the same."""
        first, second = results
        for where, change in {**second, **first}.items():
            now = change.state.get(change.key, ABSENT)
            if where in first:
                put_joined(self, change.state, change.key, first[where].new, now)
                now = change.state.get(change.key, ABSENT)
            put_joined(self, change.state, change.key, change.old, now)

    def while_(self, node: ast.While, scope: Scope) -> Flow:
        test = self.truth(self.ev(node.test, scope))
        if test is False:
            return None
        return self.rounds(node, scope, Rounds((UNKNOWN,), False), lambda _: None)

    def with_(self, node: ast.With, scope: Scope) -> Flow:
        kept, mixed, guard, home = self.graphs.now(), self.mixed, self.guard, self.home
        for item in node.items:
            context = self.ev(item.context_expr, scope)
            self.enter(context, item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, UNKNOWN, scope)
        try:
            return self.block(node.body, scope)
        finally:
            self.graphs.back_to(kept)
            self.mixed, self.guard, self.home = mixed, guard, home

    def enter(self, context: Any, node: ast.expr) -> None:
        if isinstance(context, Made):
            known = self.graphs.enter(context.name, context.given.get("mode"), node)
            if known:
                return
            if "autocast" in context.name:
                self.mixed = None
                return
            if context.name.startswith(("torch.", "open", "tqdm")):
                return
        text = self.source.segment(node).lower()
        if any(word in text for word in EXPECTS_A_FAILURE):
            self.guard += 1
        if not text.startswith("open("):
            self.graphs.unknown()
            self.mixed = self.home = None

    def try_(self, node: ast.Try, scope: Scope) -> Flow:
        caught = any(catches(one) for one in node.handlers)
        self.guard += caught
        try:
            flow, changes = self.attempted(node.body, scope)
        finally:
            self.guard -= caught
        if flow == "raise" and not node.handlers:
            self.block(node.finalbody, scope)
            raise Ended
        ways = [self.handled(one, scope) for one in node.handlers]
        if any(way_flow is None for way_flow, _ in ways):
            for change in changes.values():
                now = change.state.get(change.key, ABSENT)
                put_joined(self, change.state, change.key, change.old, now)
        for way_flow, changed in ways:
            if way_flow is None:
                self.trails.mix(changed)
            else:
                self.keep_for_later(way_flow, changed)
        if flow is None and node.orelse:
            flow = self.block(node.orelse, scope)
        if node.finalbody:
            self.block(node.finalbody, scope)
        if flow == "raise":
            if all(way_flow == "raise" for way_flow, _ in ways):
                raise Ended
            return next((one for one, _ in ways if one != "raise"), None)
        return flow

    def attempted(self, body: Sequence[ast.stmt], scope: Scope) -> tuple[Flow, Changes]:
        return self.trails.watched(lambda: ended(lambda: self.block(body, scope)))

    def handled(self, handler: ast.ExceptHandler, scope: Scope) -> tuple[Flow, Changes]:
        def run() -> Flow:
            if handler.name:
                self.bind(handler.name, UNKNOWN, scope)
            return self.block(handler.body, scope)

        return self.tried(run)

    def check_assertion(self, test: ast.expr, scope: Scope) -> None:
        if self.truth(self.ev(test, scope)) is False:
            operators.look_for_indivisible(self, test, scope, test)
            raise Ended

    def import_(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                before = "." * node.level + (f"{node.module}." if node.module else "")
                name = before + alias.name
                self.bind(alias.asname or alias.name, External(name), scope)
            else:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.bind(alias.asname or name, External(name), scope)

    def forget(self, target: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.escape(self.ev(target.value, scope))

    def forget_all(self, node: ast.AST, scope: Scope) -> None:
        """Names that a statement binds which is not followed."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                if isinstance(one.ctx, ast.Store):
                    self.bind(one.id, UNKNOWN, scope)
                else:
                    self.escape(scope.find(one.id))

    # definitions

    def function(self, node: ast.FunctionDef, scope: Scope, owner: Class | None = None) -> Any:
        names = [self.decorator(one, scope) for one in node.decorator_list]
        if any(name is None for name in names) or is_generator(node):
            return UNKNOWN
        return Function(node, scope, owner)

    def decorator(self, node: ast.expr, scope: Scope) -> str | None:
        """The name of one that is known not to change what a function gives."""
        called = node.func if isinstance(node, ast.Call) else node
        got = self.ev(called, scope)
        name = got.name if isinstance(got, External) else ""
        return name if name in KNOWN_DECORATORS else None

    def class_(self, node: ast.ClassDef, scope: Scope) -> Any:
        bases = tuple(self.ev(one, scope) for one in node.bases)
        decorators = [
            self.ev(one.func if isinstance(one, ast.Call) else one, scope)
            for one in node.decorator_list
        ]
        data = [
            isinstance(one, External) and one.name == "dataclasses.dataclass" for one in decorators
        ]
        if not all(data) or node.keywords:
            return UNKNOWN
        inner = Scope(scope, is_class=True)
        made = Class(node, inner, bases)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                inner.names[statement.name] = self.function(statement, scope, made)
            else:
                self.statement(statement, inner)
        return made

    # calls

    def call(self, function: Any, given: Given, node: ast.AST) -> Any:
        match function:
            case Function():
                return self.call_function(function, given, node)
            case Bound(to=to, name=name, function=None):
                return methods.called(self, to, name, given, node)
            case Bound(to=to, function=Function() as inner):
                return self.call_function(inner, given, node, to)
            case Class():
                return self.instantiate(function, given, node)
            case External(name=name):
                return externals.called(self, name, given, node)
            case Layer():
                from surefit.evidence.imagined.layers import layer_called

                return layer_called(self, function, given, node)
            case Instance():
                return self.call_instance(function, given, node)
        for one in given.all:
            self.escape(one)
        return UNKNOWN

    def call_instance(self, instance: Instance, given: Given, node: ast.AST) -> Any:
        for name in ("__call__", "forward"):
            if name == "forward" and not is_module(instance):
                break
            function = attribute_of(self, instance, name, node)
            if isinstance(function, Bound) and function.function is not None:
                return self.call_function(function.function, given, node, instance)
        for one in given.all:
            self.escape(one)
        return UNKNOWN

    def instantiate(self, one: Class, given: Given, node: ast.AST) -> Any:
        made = Instance(one, node)
        self.made_with.setdefault(one.node, (one, given))
        maker = find_in_class(one, "__init__")
        if isinstance(maker, Function):
            self.call_function(maker, given, node, made)
        elif maker is not ABSENT:
            return UNKNOWN
        elif any(is_dataclass(self, each) for each in lineage(one)):
            self.fill_fields(made, given)
        elif not is_module(made):
            for value in given.all:
                self.escape(value)
        if find_in_class(one, "__new__") is not ABSENT:
            return UNKNOWN
        return made

    def fill_fields(self, made: Instance, given: Given) -> None:
        """The fields of a dataclass, in order; a default that is made by a call is not known."""
        position = 0
        for one in reversed(lineage(made.of)):
            for statement in one.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    name = statement.target.id
                    default = one.scope.names.get(name, UNKNOWN)
                    if not isinstance(default, Known | Listed | Tensor):
                        default = UNKNOWN
                    value = given.get(name, position, default)
                    self.set(made.state, name, value)
                    position += 1

    def call_function(self, function: Function, given: Given, node: ast.AST, me: Any = None) -> Any:
        self.step()
        code = function.node
        running = sum(
            frame.function is not None and frame.function.node is code for frame in self.frames
        )
        if len(self.frames) > DEEPEST or running > 2:
            for one in given.all:
                self.escape(one)
            return UNKNOWN
        scope = Scope(function.scope)
        if me is not None and is_static(code):
            me = None
        self.arguments(code, given, scope, me)
        if isinstance(code, ast.Lambda):
            return self.in_frame(Frame(function, me), lambda: self.ev(code.body, scope))
        self.ran.add(code)
        frame = Frame(function, me)
        kept = self.graphs.now()
        for one in getattr(code, "decorator_list", ()):
            self.decorate(one, scope)
        decorated = self.graphs.now() != kept
        self.sites.append(node)
        try:
            flow = self.in_frame(frame, lambda: self.block(code.body, scope))
        finally:
            if decorated:
                self.graphs.back_to(kept)
            self.sites.pop()
        for changes in frame.left:
            self.trails.mix(changes)
        if flow != "return":
            frame.returns.append(Known(None))
        result = frame.returns[0]
        for one in frame.returns[1:]:
            result = joined(result, one)
        return result

    def decorate(self, node: ast.expr, scope: Scope) -> None:
        got = self.ev(node.func if isinstance(node, ast.Call) else node, scope)
        if isinstance(got, External):
            mode = (
                self.ev(node.args[0], scope) if isinstance(node, ast.Call) and node.args else None
            )
            self.graphs.enter(got.name, mode, node)

    def in_frame(self, frame: Frame, run: Callable[[], Any]) -> Any:
        self.frames.append(frame)
        depth = len(self.frames)
        try:
            return run()
        finally:
            del self.frames[depth - 1 :]

    def arguments(self, code: Any, given: Given, scope: Scope, me: Any) -> None:
        listed_ = code.args
        plain = [*listed_.posonlyargs, *listed_.args]
        values = [me, *given.plain] if me is not None else list(given.plain)
        defaults = dict(
            zip(
                [one.arg for one in plain[len(plain) - len(listed_.defaults) :]],
                listed_.defaults,
                strict=True,
            )
        )
        for one, default in zip(listed_.kwonlyargs, listed_.kw_defaults, strict=True):
            if default is not None:
                defaults[one.arg] = default
        for number, one in enumerate([*plain, *listed_.kwonlyargs]):
            is_plain = number < len(plain)
            if is_plain and number < len(values):
                scope.names[one.arg] = values[number]
            elif one.arg in given.named:
                scope.names[one.arg] = given.named[one.arg]
            elif one.arg in defaults and not given.open:
                scope.names[one.arg] = self.ev(defaults[one.arg], scope.outer or scope)
            else:
                scope.names[one.arg] = UNKNOWN
        names = {one.arg for one in (*plain, *listed_.kwonlyargs)}
        if listed_.vararg:
            more = values[len(plain) :]
            scope.names[listed_.vararg.arg] = listed("tuple", None if given.open else more)
        if listed_.kwarg:
            extra = {key: value for key, value in given.named.items() if key not in names}
            scope.names[listed_.kwarg.arg] = Mapped({"items": None if given.open else extra})

    def escape(self, value: Any, deep: int = 0) -> None:
        """Code that is not followed may have changed it."""
        if deep > 4:
            return
        if isinstance(value, Listed | Mapped):
            for one in inside(value):
                self.escape(one, deep + 1)
            if not (isinstance(value, Listed) and value.kind == "tuple"):
                self.set(value.state, "items", None)
        elif isinstance(value, Instance):
            if value.escaped["escaped"] is not True:
                self.set(value.escaped, "escaped", True)
                for one in inside(value):
                    self.escape(one, deep + 1)
        elif isinstance(value, Layer):
            self.set(value.state, "escaped", True)
            for one in inside(value):
                self.escape(one, deep + 1)
        elif isinstance(value, Bound):
            self.escape(value.to, deep + 1)
        elif isinstance(value, Tensor):
            touched(self, value)

    # expressions

    def ev(self, node: ast.expr, scope: Scope) -> Any:
        self.step()
        match node:
            case ast.Constant(value=value):
                return Known(value, node)
            case ast.Name(id=name):
                return self.name(name, scope)
            case ast.Attribute(value=owner, attr=name):
                return attribute_of(self, self.ev(owner, scope), name, node)
            case ast.Call():
                return self.call_expression(node, scope)
            case ast.BinOp(left=left, op=op, right=right):
                values = self.ev(left, scope), self.ev(right, scope)
                return operators.binary(self, values[0], op, values[1], (left, right), node)
            case ast.UnaryOp(op=op, operand=operand):
                return operators.unary(self, op, self.ev(operand, scope), node)
            case ast.BoolOp():
                return self.bool_op(node, scope)
            case ast.Compare():
                return self.compare(node, scope)
            case ast.IfExp():
                return self.if_expression(node, scope)
            case ast.Subscript(value=owner, slice=index):
                return operators.get_item(self, self.ev(owner, scope), self.ev(index, scope), node)
            case ast.Slice():
                parts = [
                    self.ev(one, scope) if one else Known(None)
                    for one in (node.lower, node.upper, node.step)
                ]
                return operators.Sliced(*parts)
            case ast.Tuple(elts=parts):
                return self.sequence("tuple", parts, scope, node)
            case ast.List(elts=parts):
                return self.sequence("list", parts, scope, node)
            case ast.Dict():
                return self.dictionary(node, scope)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node, scope)
            case ast.Lambda():
                return Function(node, scope)
            case ast.NamedExpr(target=target, value=value):
                got = self.ev(value, scope)
                self.assign(target, got, scope)
                return got
            case ast.JoinedStr():
                return self.text(node, scope)
            case ast.Starred(value=value):
                self.escape(self.ev(value, scope))
                return UNKNOWN
            case ast.Set() | ast.DictComp() | ast.SetComp():
                return UNKNOWN
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return UNKNOWN
        return UNKNOWN

    def name(self, name: str, scope: Scope) -> Any:
        if name == "__name__":
            return Known("__main__")
        found = scope.find(name)
        if found is ABSENT:
            return External(name) if name in externals.BUILTINS else UNKNOWN
        return found

    def text(self, node: ast.JoinedStr, scope: Scope) -> Any:
        words: list[str] | None = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            got = self.ev(inner, scope)
            plain = isinstance(part, ast.Constant) or (
                isinstance(part, ast.FormattedValue)
                and part.format_spec is None
                and part.conversion == -1
            )
            if not isinstance(got, Known) or not plain:
                words = None
            elif words is not None:
                words.append(str(got.value))
        return UNKNOWN if words is None else Known("".join(words), node)

    def sequence(self, kind: str, parts: Sequence[ast.expr], scope: Scope, node: ast.AST) -> Any:
        found: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                rounds = rounds_of(self, self.ev(part.value, scope))
                if not rounds.all_known:
                    return listed(kind, None, node)
                found += rounds.items
            else:
                found.append(self.ev(part, scope))
        return listed(kind, found, node)

    def dictionary(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        known = True
        for key, value in zip(node.keys, node.values, strict=True):
            got = self.ev(value, scope)
            name = self.ev(key, scope) if key is not None else None
            if name is None and isinstance(got, Mapped) and got.items is not None:
                found |= got.items
            elif isinstance(name, Known) and is_hashable(name.value):
                found[name.value] = got
            else:
                known = False
        return Mapped({"items": found if known else None}, node)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Any:
        if len(node.generators) != 1 or node.generators[0].is_async:
            return listed("list", None, node)
        loop = node.generators[0]
        over = self.ev(loop.iter, scope)
        if isinstance(over, Parameters):
            return operators.parameters_picked(self, node, over)
        rounds = rounds_of(self, over)
        inner = Scope(scope)
        items: list[Any] | None = [] if rounds.all_known else None
        count = len(rounds.items) if rounds.all_known else 1
        if count > MOST_ROUNDS:
            items, count = None, 1
        guard = self.guard
        for number in range(count):
            self.assign(loop.target, rounds.item(number), inner)
            tests = [self.truth(self.ev(one, inner)) for one in loop.ifs]
            if None in tests:
                items = None
                self.guard += 1
            if False in tests:
                continue
            got = self.ev(node.elt, inner)
            if items is not None:
                items.append(got)
            elif not rounds.all_known or count == 1:
                self.guard = guard
                return listed("list", None, node)
        self.guard = guard
        return listed("list", items, node)

    def bool_op(self, node: ast.BoolOp, scope: Scope) -> Any:
        ends = isinstance(node.op, ast.Or)
        value: Any = UNKNOWN
        unsure = False
        for one in node.values:
            if unsure:
                self.guard += 1
            try:
                value = self.ev(one, scope)
            finally:
                if unsure:
                    self.guard -= 1
            known = self.truth(value)
            if known is ends:
                return (
                    UNKNOWN
                    if unsure and not isinstance(value, Known)
                    else (Known(ends) if unsure else value)
                )
            unsure = unsure or known is None
        return UNKNOWN if unsure else value

    def compare(self, node: ast.Compare, scope: Scope) -> Any:
        values = [self.ev(one, scope) for one in (node.left, *node.comparators)]
        if len(node.ops) == 1:
            nodes = (node.left, node.comparators[0])
            return operators.compared(self, values[0], node.ops[0], values[1], nodes, node)
        results = [
            operators.compared(self, values[at], op, values[at + 1], (node, node), node)
            for at, op in enumerate(node.ops)
        ]
        known = [self.truth(one) for one in results]
        if False in known:
            return Known(False)
        return UNKNOWN if None in known else Known(True)

    def if_expression(self, node: ast.IfExp, scope: Scope) -> Any:
        test = self.truth(self.ev(node.test, scope))
        if test is not None:
            return self.ev(node.body if test else node.orelse, scope)
        got: list[Any] = []
        for one in (node.body, node.orelse):

            def way(part: ast.expr = one) -> Flow:
                got.append(self.ev(part, scope))
                return None

            flow, changes = self.tried(way)
            self.trails.mix(changes)
            if flow is not None:
                got.append(UNKNOWN)
        return externals.one_device(*got[:2]) or joined(got[0], got[1])

    def call_expression(self, node: ast.Call, scope: Scope) -> Any:
        above = externals.super_called(self, node)
        if above is not None:
            given = self.given(node, scope)
            return self.call_above(above, given, node)
        function = self.ev(node.func, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            known = isinstance(function, Bound) and isinstance(function.to, Tensor)
            self.graphs.lost = self.graphs.lost or not known
        return self.call(function, self.given(node, scope), node)

    def call_above(self, name: str, given: Given, node: ast.AST) -> Any:
        frame = next((one for one in reversed(self.frames) if one.function is not None), None)
        owner = frame.function.owner if frame and frame.function else None
        me = frame.me if frame else None
        if owner is None or me is None:
            return UNKNOWN
        for one in lineage(owner)[1:]:
            found = one.scope.names.get(name)
            if isinstance(found, Function):
                return self.call_function(found, given, node, me)
        if name == "__init__":
            return Known(None)
        return methods.called(self, me, name, given, node) if is_module(me) else UNKNOWN

    def given(self, node: ast.Call, scope: Scope) -> Given:
        given = Given()
        for one in node.args:
            if isinstance(one, ast.Starred):
                got = self.ev(one.value, scope)
                rounds = rounds_of(self, got)
                if rounds.all_known:
                    given.plain += rounds.items
                else:
                    self.escape(got)
                    given.open = True
                    break
            else:
                given.nodes[len(given.plain)] = one
                given.plain.append(self.ev(one, scope))
        for word in node.keywords:
            got = self.ev(word.value, scope)
            if word.arg is not None:
                given.nodes[word.arg] = word.value
                given.named[word.arg] = got
            elif isinstance(got, Mapped) and got.items is not None:
                given.named |= {str(key): value for key, value in got.items.items()}
            else:
                given.open = True
        return given

    def truth(self, value: Any) -> bool | None:
        match value:
            case Known(value=inner):
                return bool(inner)
            case Listed() | Mapped():
                return None if value.items is None else bool(value.items)
            case Function() | Class() | Bound() | Made():
                return True
            case Instance(of=one):
                special = [find_in_class(one, name) for name in ("__bool__", "__len__")]
                return True if all(each is ABSENT for each in special) else None
        return None


KNOWN_DECORATORS = (
    "staticmethod",
    "property",
    "torch.no_grad",
    "torch.inference_mode",
    "torch.enable_grad",
    "override",
    "typing.override",
    "abc.abstractmethod",
)


def put_joined(run: Run, state: dict[Any, Any], key: Any, one: Any, other: Any) -> None:
    from surefit.evidence.imagined.state import join

    run.set(state, key, join(key, one, other))


def ended(run: Callable[[], Flow]) -> Flow:
    try:
        return run()
    except Ended:
        return "raise"


def catches(handler: ast.ExceptHandler) -> bool:
    """Whether it can be a mishap that is caught there."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [one.id if isinstance(one, ast.Name) else "" for one in kinds]
    return not all(name in HARMLESS for name in names)


def ends_in_raise(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def is_special(node: ast.FunctionDef) -> bool:
    return node.name.startswith("__") and node.name not in ("__getitem__", "__call__")


def is_static(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == "staticmethod"
        for one in getattr(node, "decorator_list", ())
    )


def is_generator(node: ast.FunctionDef) -> bool:
    open_nodes: list[ast.AST] = list(node.body)
    while open_nodes:
        one = open_nodes.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            open_nodes += ast.iter_child_nodes(one)
    return False


def is_hashable(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | bytes) or value is None


def is_dataclass(run: Run, one: Class) -> bool:
    return any(
        run.source.imported(node.func if isinstance(node, ast.Call) else node)
        == "dataclasses.dataclass"
        for node in one.node.decorator_list
    )
