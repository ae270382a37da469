"""Evaluates a script: statements in order, calls of its own functions followed into them.

What is not certain is unknown: both paths of a test that cannot be decided are evaluated, and only
what both leave alike stays known. Nothing that happens on a path that may not be taken is reported.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from surefit.doctor.violations import Violation
from surefit.interpreter.journal import Changes, Journal
from surefit.interpreter.recorder import GraphRecorder
from surefit.interpreter.value_queries import Arguments, contents
from surefit.interpreter.values import (
    CPU,
    AbstractValue,
    BoundMethod,
    ClassValue,
    DeviceValue,
    DictValue,
    FunctionValue,
    InstanceValue,
    LayerValue,
    Moment,
    OptimizerValue,
    Scope,
    SequenceValue,
    TensorValue,
)
from surefit.interpreter.violations import Site, SourceViolation
from surefit.source.reading import Source

Result = TypeVar("Result")
Facts = ParamSpec("Facts")
MOST_STEPS = 60_000
"""Expressions that are evaluated; the rest of a longer script is not."""
DEEPEST = 14
MOST_ITERATIONS = 24
"""Of a loop whose members are all known; of others two are evaluated."""

Flow = str | None
"""How a block was left: `return`, `break`, `continue`, `raise`; None at its end."""


class PathEnded(Exception):  # noqa: N818 - not an error: the path ends here
    """A `raise` on the path, or the end of the program."""


class BudgetExceeded(Exception):  # noqa: N818 - not an error: the script is long
    """More steps than are worth it."""


@dataclass(slots=True)
class CallFrame:
    """A function that is running."""

    function: FunctionValue | None
    receiver: AbstractValue | None = None
    returns: list[AbstractValue] = field(default_factory=list)
    early: list[Changes] = field(default_factory=list)
    """What paths had set that returned early."""
    loops: list[list[Changes]] = field(default_factory=list)
    """The same for loops that were left early."""


def until_raise(path: Callable[[], Flow]) -> Flow:
    try:
        return path()
    except PathEnded:
        return "raise"


@dataclass(frozen=True, slots=True)
class Language:
    """How each part of Python is evaluated: see `scripts`."""

    block: Callable[["Evaluator", Sequence[ast.stmt], Scope], Flow]
    assign: Callable[["Evaluator", ast.expr, AbstractValue, Scope], None]
    evaluate: Callable[["Evaluator", ast.expr, Scope], AbstractValue]
    call: Callable[["Evaluator", AbstractValue, Arguments, ast.AST], AbstractValue]
    call_function: Callable[..., AbstractValue]
    instantiate: Callable[["Evaluator", ClassValue, Arguments, ast.AST], AbstractValue]


class Evaluator:
    """One script."""

    def __init__(self, source: Source, language: Language) -> None:
        self.source = source
        self.block = partial(language.block, self)
        self.assign = partial(language.assign, self)
        self.evaluate = partial(language.evaluate, self)
        self.call = partial(language.call, self)
        self.call_function = partial(language.call_function, self)
        self.instantiate = partial(language.instantiate, self)
        self.violations: list[SourceViolation] = []
        self.journal = Journal()
        self.graphs = GraphRecorder()
        self.files: dict[object, tuple[AbstractValue, ast.AST]] = {}
        """What was saved, by the name of the file or the file in memory."""
        self.steps = self.loops = self.sizes = 0
        self.evaluated: set[ast.AST] = set()
        self.constructor_arguments: dict[ast.ClassDef, Arguments] = {}
        self.globals = Scope(None)
        self.begin()

    def begin(self) -> None:
        """As a program starts."""
        self.guard = 0
        """How many tests that cannot be decided lead here."""
        self.moment: Moment = ()
        self.autocast: bool | None = False
        self.dtype: str | None = "float32"
        self.default_device: DeviceValue | None = CPU
        """What new weights and tensors have where nothing else is given."""
        self.graphs.begin()
        self.optimizers: list[OptimizerValue] = []
        self.frames = [CallFrame(None)]
        self.sites: list[ast.AST] = []
        """Calls of the script's own functions and containers that are running."""

    def whole_file(self) -> list[SourceViolation]:
        try:
            self.alone(lambda: self.block(self.source.tree.body, self.globals))
            self.functions_never_called()
        except BudgetExceeded:
            pass
        return self.violations

    def alone(self, run: Callable[[], Result]) -> Result | None:
        """From a clean beginning; ends where the script does."""
        self.begin()
        try:
            return run()
        except (PathEnded, RecursionError):
            return None

    def functions_never_called(self) -> None:
        """Functions and methods that nothing in the file calls, with unknown arguments."""
        for value in list(self.globals.names.values()):
            if isinstance(value, FunctionValue) and value.node not in self.evaluated:
                self.alone(partial(self.call_function, value, Arguments(open=True), value.node))
            elif isinstance(value, ClassValue):
                self.methods_never_called(value)

    def methods_never_called(self, class_: ClassValue) -> None:
        arguments = self.constructor_arguments.get(class_.node, Arguments(open=True))
        for node in class_.node.body:
            if not isinstance(node, ast.FunctionDef) or node in self.evaluated:
                continue
            if node.name.startswith("__") and node.name not in ("__getitem__", "__call__"):
                continue
            instance = self.alone(partial(self.instantiate, class_, arguments, class_.node))
            if isinstance(instance, InstanceValue) and node not in self.evaluated:
                instance.training = None
                method = FunctionValue(node, class_.scope, class_)
                self.alone(
                    partial(self.call_function, method, Arguments(open=True), node, instance)
                )

    def report(
        self,
        contract: Callable[Concatenate[Site, Facts], Iterator[Violation]],
        node: ast.AST,
        birth: ast.AST,
        *facts: Facts.args,
        **named: Facts.kwargs,
    ) -> None:
        assert not named
        known = {(other.contract, other.node) for other in self.violations}
        if not self.guard and (contract, node) not in known:
            self.violations.append(SourceViolation(contract, node, birth, facts))

    def path_to(self, node: ast.AST) -> tuple[ast.AST, ...]:
        return (*self.sites, node)

    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise BudgetExceeded

    # what the script holds

    def set(self, owner: object, key: object, value: object) -> None:
        """An entry of a dict or a field of a value, so that a path can be undone."""
        self.journal.set(owner, key, value)

    def escape_all(self, values: Iterable[AbstractValue]) -> None:
        for value in values:
            self.escape(value)

    def escape(self, value: AbstractValue, deep: int = 0) -> None:
        """Code that is not followed may have changed it."""
        if deep > 4 or (isinstance(value, InstanceValue) and value.escaped):
            return
        if isinstance(value, BoundMethod):
            self.escape(value.receiver, deep + 1)
        elif isinstance(value, TensorValue):
            self.mark_modified(value)
        elif isinstance(value, InstanceValue | LayerValue):
            self.set(value, "escaped", True)
        for item in contents(value):
            self.escape(item, deep + 1)
        if isinstance(value, DictValue) or (
            isinstance(value, SequenceValue) and value.kind == "list"
        ):
            self.set(value, "items", None)

    def mark_modified(self, tensor: TensorValue) -> None:
        """Something that is not known was written into it, or into a view of it."""
        base: TensorValue | None = tensor
        while base is not None:
            self.set(base, "modified", True)
            base.low = base.high = None
            base = base.view_of

    # paths

    def explore(self, path: Callable[[], Flow]) -> tuple[Flow, Changes]:
        """Evaluates a path that may not be taken, and undoes what it set."""
        self.guard += 1
        before = self.moment, self.autocast, self.graphs.mode, len(self.frames)
        try:
            return self.journal.undone(lambda: until_raise(path))
        finally:
            self.guard -= 1
            self.moment, self.autocast, mode, depth = before
            switched = self.graphs.mode != mode
            self.graphs.mode = mode
            if switched:
                self.graphs.forget_mode()
            del self.frames[depth:]

    def keep_for_later(self, flow: Flow, changes: Changes) -> None:
        """A path that was left early shows its changes where it leads to."""
        frame = self.frames[-1]
        if flow == "return":
            frame.early.append(changes)
        elif flow in ("break", "continue") and frame.loops:
            frame.loops[-1].append(changes)
