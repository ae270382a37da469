"""A line of the user's at which the rows of a batch and the mode of its model can be read."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame
from surefit.laws.case import Case
from surefit.laws.rows.batches import is_method_of_module
from surefit.laws.values.origins import names_in
from surefit.source import snippets


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A statement, what has the rows there, and what says whether the model is training."""

    place: Place
    text: str
    mode: str


def batch_line(crash: Crash, rows: int) -> BatchLine | None:
    """The innermost own frame that has both."""
    for frame in reversed(crash.frames):
        text = with_rows(frame, rows) if frame.own else None
        mode = mode_in(frame) if text else None
        if text and mode:
            return BatchLine(frame.place, text, mode)
    return None


def assigned_has(case: Case, shape: tuple[int | None, ...]) -> ValuesAt | None:
    """The failing line is passed, and what it assigns, the first of several, has a shape."""
    source = case.source(case.own)
    statement = source.statement_at(case.own.place.line or 0) if source and case.own else None
    if case.own is None or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    first = target.elts[0] if isinstance(target, ast.Tuple) else target
    return ValuesAt(case.own.place, (Wanted(ast.unparse(first), shape),), after=True)


def with_rows(frame: Frame, rows: int) -> str | None:
    """A tensor in the failing part of a line, or an argument of its function, with these rows."""
    failing = names_in(frame.expression or frame.line)
    for value in frame.values:
        named = value.text in failing or value.text in frame.arguments
        if named and value.shape and value.shape[0] == rows and value.kind != "Parameter":
            return value.text
    return None


def mode_in(frame: Frame) -> str | None:
    """`self.training`, or that of the model that is called."""
    if is_method_of_module(frame):
        return f"{frame.arguments[0]}.training" if frame.arguments else None
    node = snippets.expression(frame.expression)
    if not isinstance(node, ast.Call):
        return None
    text = ast.unparse(node.func)
    is_model = any(value.text == text and value.layer is not None for value in frame.values)
    return f"{text}.training" if is_model else None


def caller_of_model(crash: Crash) -> Frame | None:
    """The user's frame that called the outermost module."""
    before: Frame | None = None
    for frame in crash.frames:
        if is_method_of_module(frame):
            return before
        before = frame if frame.own else before
    return None


def is_training(crash: Crash) -> bool:
    """By the mode of the outermost module that was called."""
    layers = [frame.layer for frame in crash.frames if frame.layer is not None]
    return layers[0].training if layers else True


def is_without_gradients(frame: Frame, tree: ast.Module) -> bool:
    """A frame's line stands under `torch.no_grad()` or `torch.inference_mode()`."""
    line = frame.place.line or 0
    for node in ast.walk(tree):
        kinds = ast.With | ast.FunctionDef
        if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or node.lineno):
            parts = node.items if isinstance(node, ast.With) else node.decorator_list
            texts = [ast.unparse(part) for part in parts]
            if any("no_grad" in text or "inference_mode" in text for text in texts):
                return True
    return False
