"""Exceptions that the user's own code caught: how often, where raised, what stands in their place.

Every `try` of the user's gets a call that counts its entries, every handler a call that looks at
what it caught. They take the position of the statement that they stand before, so that no line
number of a traceback moves.
"""

import ast
import builtins
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, ModuleType, TracebackType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import Assigned, Swallowed
from surefit.observe.inside import finishing, own_code, spool, watchpoints
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.lineage import records
from surefit.observe.inside.unseen import strip

TRIED, CAUGHT = "__surefit_tried__", "__surefit_caught__"
CONTROL_FLOW = (StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit)
TRANSLATORS = {"jit", "njit", "cfunc", "vectorize", "guvectorize", "stencil"}
MOST_KINDS = 50
"""Kinds of exception that one handler is remembered for."""

Tries = ast.Try | ast.TryStar


@dataclass(slots=True)
class Site:
    """A `try` of the user's."""

    place: Place
    instead: tuple[Assigned, ...]
    entries: int = 0
    events: int = 0
    """How many events of training had been seen when it was last entered."""


@dataclass(slots=True)
class Caught:
    """One kind of exception in one handler."""

    handler: Place
    site: Site
    said: str
    raised_at: Place | None
    ran: tuple[str, ...]
    training: bool | None
    grad: bool
    instead: tuple[Assigned, ...] = ()
    crash: str | None = None
    times: int = 0


@dataclass(slots=True)
class Handler:
    """An `except` of the user's, and what it has caught."""

    place: Place
    site: Site
    instead: tuple[Assigned, ...] = ()
    ends: bool = False
    """It ends the program with an error: what it catches is the crash itself."""
    caught: dict[object, Caught] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probed:
    """A file of the user's as it was read, and the code that is run in its place."""

    raw: bytes
    code: CodeType


sources: dict[str, Probed] = {}
_sites: list[Site] = []
_handlers: list[Handler] = []


def probed(raw: bytes, file: str) -> CodeType:
    """The code of a source with its probes; without any it is the code that Python makes."""
    tree = ast.parse(raw, file)
    scopes = {
        child: scope
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module)
        for child in ast.walk(scope)
    }
    for node, scope in list(scopes.items()):
        if isinstance(node, Tries) and node.handlers and not _is_translated(scope):
            _probe(node, scope, os.path.abspath(file))
    watchpoints.put_in(tree, file)
    records.put_in(tree, file, raw)
    code = compile(tree, file, "exec", dont_inherit=True)
    sources[file] = Probed(raw, code)
    return code


def _is_translated(scope: ast.AST) -> bool:
    """`@njit` and the like make machine code of a function's bytecode; a probe would not pass."""
    marks = getattr(scope, "decorator_list", ())
    names = {ast.unparse(getattr(mark, "func", mark)).rpartition(".")[2] for mark in marks}
    return not names.isdisjoint(TRANSLATORS)


def _probe(node: Tries, scope: ast.AST, file: str) -> None:
    place = Place(file, node.lineno, node.body[-1].end_lineno)
    site = Site(place, tuple(_begun(node, scope, file)))
    number = len(_sites)
    _sites.append(site)
    for handler in node.handlers:
        if _lets_through(handler):
            continue
        place = Place(file, handler.lineno, handler.end_lineno)
        instead = tuple(_assigned(handler.body, file))
        _handlers.append(Handler(place, site, instead, _ends(handler)))
        handler.body.insert(0, _call(CAUGHT, len(_handlers) - 1, handler.body[0]))
    node.body.insert(0, _call(TRIED, number, node.body[0]))


def _lets_through(handler: ast.ExceptHandler) -> bool:
    """It ends in a `raise`: nothing is swallowed."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and "SystemExit" not in ast.unparse(last)


def _ends(handler: ast.ExceptHandler) -> bool:
    """Its last statement is `sys.exit(1)`, or another way out that tells of a failure."""
    last = handler.body[-1]
    call = last.value if isinstance(last, ast.Expr) else getattr(last, "exc", None)
    if not isinstance(call, ast.Call):
        return isinstance(last, ast.Raise)
    if ast.unparse(call.func) not in ("sys.exit", "exit", "quit", "os._exit", "SystemExit"):
        return False
    return bool(call.args) and ast.unparse(call.args[0]) != "0"


def _call(name: str, number: int, before: ast.stmt) -> ast.stmt:
    call = ast.Expr(ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number)], []))
    for node in ast.walk(call):
        if hasattr(node, "lineno") or isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = before.lineno  # type: ignore[attr-defined]
            node.col_offset = before.col_offset  # type: ignore[attr-defined]
            node.end_col_offset = before.col_offset  # type: ignore[attr-defined]
    return call


def _assigned(body: list[ast.stmt], file: str) -> Iterator[Assigned]:
    """Names that these statements give a value."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, text = node.targets[0].id, ast.unparse(node.value)
                yield Assigned(name, text, Place(file, node.lineno, node.end_lineno))
            elif isinstance(node, ast.Return) and node.value is not None:
                text = ast.unparse(node.value)
                yield Assigned("return", text, Place(file, node.lineno, node.end_lineno))


def _begun(node: Tries, scope: ast.AST, file: str) -> Iterator[Assigned]:
    """Running sums that the `try` adds to, with the number that they began from."""
    sums = {
        inner.target.id
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    }
    for before in ast.walk(scope):
        if isinstance(before, ast.Assign) and before.lineno < node.lineno:
            yield from _constants(before, sums, file)


def _constants(node: ast.Assign, names: set[str], file: str) -> Iterator[Assigned]:
    target, value = node.targets[0], node.value
    pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, one in pairs:
        if isinstance(name, ast.Name) and name.id in names and isinstance(one, ast.Constant):
            yield Assigned(name.id, ast.unparse(one), Place(file, node.lineno, node.end_lineno))


def add(handler: Handler) -> Handler:
    """A handler that is no `except`, to be counted with the others."""
    _handlers.append(handler)
    return handler


def tried(number: int) -> None:
    try:
        enter(_sites[number])
    except Exception as failure:  # noqa: BLE001 - it stands inside the user's `try`
        spool.could_not("how often your code tries", failure)


def enter(site: Site) -> None:
    site.entries += 1
    site.events = _events()


def caught(number: int) -> None:
    """Never raises, and leaves the exception as it is."""
    error = sys.exception()
    if error is not None:
        note(_handlers[number], error)


def note(handler: Handler, error: BaseException) -> None:
    """Counts an exception that a handler has caught; looks into it the first time."""
    try:
        strip(error)
        if issubclass(type(error), CONTROL_FLOW):
            return
        raised_at = _raised_at(error.__traceback__)
        key = type(error), raised_at
        known = handler.caught.get(key)
        if known is None:
            if len(handler.caught) >= MOST_KINDS:
                return
            known = handler.caught[key] = _first(handler, error, raised_at)
        known.times += 1
        if known.times.bit_count() == 1 and not handler.ends:
            spool.saw(_observed(known))  # at 1, 2, 4...: the process can be killed at any time
    except Exception as failure:  # noqa: BLE001 - see above
        spool.could_not("an exception that your code caught", failure)


def _raised_at(traceback: TracebackType | None) -> Place | None:
    found = None
    while traceback is not None:
        if own_code.own(traceback.tb_frame.f_code):
            file = os.path.abspath(traceback.tb_frame.f_code.co_filename)
            found = Place(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _first(handler: Handler, error: BaseException, raised_at: Place | None) -> Caught:
    """Looks into the frames while they still exist, if training was under way below."""
    from surefit.observe.inside.autopsy import crash

    ran = tuple(_ran(error.__traceback__, handler.site))
    training, grad = _mode()
    looked = bool(ran) or handler.ends
    seen = crash.look(error, swallowed=not handler.ends) if looked else None
    return Caught(
        handler.place,
        handler.site,
        crash.said(error),
        raised_at,
        ran,
        training,
        grad,
        handler.instead,
        seen.id if seen else None,
    )


RUNNING = {
    "module": ("torch/nn/modules/module.py",),
    "loss": ("torch/nn/functional.py", "torch/nn/modules/loss.py"),
    "loader": ("torch/utils/data/dataloader.py", "torch/utils/data/_utils/fetch.py"),
    "backward": ("torch/autograd/__init__.py", "torch/_tensor.py"),
    "optimizer": ("torch/optim/",),
}


def _ran(traceback: TracebackType | None, site: Site) -> Iterator[str]:
    files = []
    while traceback is not None:
        files.append(traceback.tb_frame.f_code.co_filename.replace("\\", "/"))
        traceback = traceback.tb_next
    for what, parts in RUNNING.items():
        if any(part in file for file in files for part in parts):
            yield what
        elif what == "module" and _events() > site.events:
            yield what  # it was called in the same `try`, and had returned


def _steps() -> Any:
    return sys.modules.get("surefit.observe.inside.training.steps")


def _events() -> int:
    steps = _steps()
    return int(steps.events()) if steps else 0


def _mode() -> tuple[bool | None, bool]:
    torch, steps = sys.modules.get("torch"), _steps()
    training = steps.mode() if steps else None
    return training, bool(torch is not None and torch.is_grad_enabled())


def _observed(one: Caught) -> Swallowed:
    return Swallowed(
        spool.process(),
        one.handler,
        one.site.place,
        one.raised_at,
        one.said,
        one.times,
        one.site.entries,
        one.ran,
        one.training,
        one.grad,
        one.instead or one.site.instead,
        one.crash,
    )


@finishing.at_end
def write_counts() -> None:
    for handler in _handlers:
        for one in () if handler.ends else handler.caught.values():
            spool.saw(_observed(one))


@finishing.after_fork
def forget_parent() -> None:
    for site in _sites:
        site.entries = 0
    for handler in _handlers:
        handler.caught.clear()


def install() -> None:
    setattr(builtins, TRIED, tried)
    setattr(builtins, CAUGHT, caught)


@after_import("torch._dynamo.config")
def unseen_by_compiler(config: ModuleType) -> None:
    """The compiler passes over the probes, as over a logging call, and its graph stays whole."""
    config.ignore_logging_functions.update({tried, caught, watchpoints.passed})
