"""What the user calls a value of a crash, and what the user's line calls a function."""

import ast

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.source import snippets
from surefit.source.reading import Source


def name_in(case: Case, value: Value, below: int | None = None) -> str:
    """What the innermost of the user's frames that has the very object calls it; where none has,
    what a model of a library calls it. The shortest name of several."""
    frames = case.frames[:below]
    own = [frame for frame in reversed(frames) if frame.own]
    models = [frame for frame in reversed(frames) if not frame.own and is_model(frame)]
    return next((text for frame in (*own, *models) if (text := shortest(frame, value))), "")


def shortest(frame: Frame, value: Value) -> str:
    """Members of a mapping or a short list count, too: `batch["labels"]`."""
    if not value.identity:
        return ""
    texts = [known.text for known in frame.values if known.identity == value.identity]
    inside = [
        f"{known.text}[{quoted(name)}]"
        for known in frame.values
        for name, member in known.members.items()
        if member.identity == value.identity
    ]
    return min(texts or inside, key=len, default="")


def quoted(name: str) -> str:
    return name if name.isdigit() else f'"{name}"'


def is_model(frame: Frame) -> bool:
    """Not one of torch's own layers."""
    return frame.layer is not None and "torch/nn/" not in frame.place.file


def reading_of_value(case: Case, value: Value) -> Expression | None:
    """Where the outermost of the user's frames that has the very object reads it, before it goes
    into a model or an operation."""
    for frame in case.frames:
        text = shortest(frame, value) if frame.own else ""
        source = case.source(frame.place)
        statement = source.statement_at(frame.place.line) if source and frame.place.line else None
        if not text or source is None or statement is None or hasattr(statement, "body"):
            continue
        for node in ast.walk(statement):
            is_read = isinstance(getattr(node, "ctx", None), ast.Load)
            if is_read and isinstance(node, ast.expr) and ast.unparse(node) == plain(text):
                return case.expression(source, node)
    return None


def plain(text: str) -> str:
    """As `ast.unparse` writes it."""
    node = snippets.expression(text)
    return ast.unparse(node) if node is not None else text


def called_in(frame: Frame, case: Case) -> str:
    """What is called in the failing expression, as the user's line writes it, in backticks."""
    node, source = case.node(frame), case.source(frame)
    if isinstance(node, ast.Call) and source is not None:
        return code(source.segment(node.func))
    return code(frame.function)


def handed_text(case: Case) -> str:
    """The only argument of the user's failing call, as it is written."""
    match case.node(case.own), case.source(case.own):
        case ast.Call(args=[alone], keywords=[]), Source() as source:
            return " ".join(source.segment(alone).split())
    return ""
