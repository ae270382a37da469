"""What in the user's source had switched gradients off, by the lines that were being run."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefit.doctor.graph_stories import Stood
from surefit.doctor.recording import Recording
from surefit.laws.training.rounds import standing
from surefit.source.blocks import unwrapped
from surefit.source.edits import both, inserted_before, removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Function, Source
from surefit.source.selection import nodes_within, the_only
from surefit.source.spans import Span

NO_GRAD = "torch.no_grad()"
FOR_ONE_FUNCTION = (
    "It stays off until somebody switches it on again: switch it off for one function alone, by"
    " the decorator `@torch.no_grad()`."
)
OUT_OF_BLOCK = "Take the forward pass of training out of this block."
CONDITION = "Its condition was false in this training step: make it true there."
OFF = ("no_grad", "inference_mode", "set_grad_enabled")


@dataclass(frozen=True, slots=True)
class Switch:
    """A block, a decorator or a call."""

    source: Source
    node: ast.expr | ast.stmt
    text: str
    advice: str
    block: ast.With | None = None
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    call: ast.stmt | None = None

    def taken_out(self) -> Edit | None:
        """The same source without it; None where that would change more."""
        if self.block is not None:
            return unwrapped(self.source, self.block)
        if self.decorated is not None:
            span = Span(self.node.lineno, 0, (self.node.end_lineno or self.node.lineno) + 1, 0)
            return Edit(self.source.file, (Replace(span, ""),))
        if self.call is None or shares_lines(self.source, self.call):
            return None
        function = self.source.scope_of(self.call)
        taken = removed(self.source, self.call)
        if isinstance(function, ast.FunctionDef) and not is_trained_in(function):
            return both(taken, inserted_before(self.source, function, f"@{NO_GRAD}"))
        return taken


def switch_of(recording: Recording, stack: Sequence[Stood]) -> Switch | None:
    """The innermost block or decorator around the lines of a stack; else the one call in all files
    that switches gradients off for good."""
    for here in standing(recording, stack):
        for outer in (here.statement, *here.source.up(here.statement)):
            switch = switch_at(here.source, outer)
            if switch is not None:
                return switch
            if isinstance(outer, Function):
                break
    return the_only(calls_for_good(recording))


def switch_at(source: Source, node: ast.AST) -> Switch | None:
    if isinstance(node, ast.With):
        for item in node.items:
            if is_off(source, item.context_expr):
                text = f"with {source.segment(item.context_expr)}"
                if depends(item.context_expr):
                    return Switch(source, node, text, CONDITION)
                return Switch(source, node, text, OUT_OF_BLOCK, block=node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in node.decorator_list:
            if is_off(source, decorator):
                advice = (
                    f"Take the decorator off `{node.name}`, and put `with torch.no_grad():` around"
                    " its calls in evaluation."
                )
                text = f"@{source.segment(decorator)}"
                return Switch(source, decorator, text, advice, decorated=node)
    return None


def depends(node: ast.expr) -> bool:
    """`set_grad_enabled(phase == "train")`: on or off, as it comes out."""
    arguments = node.args[:1] if isinstance(node, ast.Call) else []
    return bool(arguments) and not isinstance(arguments[0], ast.Constant)


def is_off(source: Source, node: ast.expr) -> bool:
    """`torch.no_grad()`; `set_grad_enabled(False)`, whose argument can be anything else, too."""
    plain = node.func if isinstance(node, ast.Call) else node
    full = source.imported(plain)
    if not full.startswith("torch") or full.rpartition(".")[2] not in OFF:
        return False
    on = full.endswith("set_grad_enabled")
    match node:
        case ast.Call(args=[ast.Constant(value=value), *_]):
            return value is not on
    return True


def calls_for_good(recording: Recording) -> Iterator[Switch]:
    for source, node in recording.every(ast.Expr):
        call = node.value if isinstance(node.value, ast.Call) else None
        for_good = call and source.imported(call.func).endswith("set_grad_enabled")
        if call and for_good and is_off(source, call):
            yield Switch(source, node, source.segment(node), FOR_ONE_FUNCTION, call=node)


def is_trained_in(function: ast.FunctionDef) -> bool:
    return any(node.attr == "backward" for node in nodes_within(function, ast.Attribute))
