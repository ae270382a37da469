"""Recordings of failed backward passes, made by hand: what frames show, what a second run says."""

from textwrap import dedent
from typing import Any

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Json, Process, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.lineage.producers import LINEAGE
from surefit.source.edits import patched
from surefit.source.patches import Edit
from surefit.source.spans import Span

FILE = "train.py"


def script(text: str) -> Script:
    return Script(FILE, dedent(text).lstrip("\n"), main=True)


def line_with(one: Script, part: str) -> int:
    """The line that has this text, the only one."""
    (line,) = [at for at, text in enumerate(one.text.splitlines(), 1) if part in text]
    return line


def stood(one: Script, part: str, function: str = "<module>") -> dict[str, Json]:
    return {"file": FILE, "line": line_with(one, part), "function": function}


def backward_crash(one: Script, part: str, function: str = "<module>", **more: Any) -> Crash:
    """`backward` failed in this expression."""
    line = line_with(one, part)
    column = one.text.splitlines()[line - 1].index(part)
    span = Span(line, column, line, column + len(part))
    own = Frame(Place(FILE, line), function, True, part, part, span)
    inside = Frame(Place("torch/autograd/__init__.py", 395), "backward", False)
    given = {"in_backward": True, **more}
    return Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: x", (own, inside), **given)


def left(*, grad: bool = True, shape: tuple[int, ...] = (), **more: Json) -> Answer:
    """What the frozen frames show of the graph."""
    said: dict[str, Json] = {
        "roots": [{"shape": list(shape), "dtype": "float32", "grad": grad, "function": ""}],
        "nodes": 3,
        "freed": 0,
        "kept": 0,
        "changed": [],
        **more,
    }
    return Answer(Question("backward-graph", "1-1"), said)


def told(one: Script, here: str, function: str = "<module>", **more: Json) -> Answer:
    """What a second run says of the graph."""
    said: dict[str, Json] = {"here": [stood(one, here, function)], "step": 1, **more}
    return Answer(Question("story-of-graph", "1-1"), said)


def joint(one: Script, made: str, taken: str, backward: str, **more: Json) -> dict[str, Json]:
    return {
        "function": "MulBackward0",
        "made": [stood(one, made)],
        "taken": [stood(one, taken)] if taken else [],
        "freed": True,
        "step": 0,
        "backward": [stood(one, backward)],
        "repeated": True,
        **more,
    }


def name(text: str, base: str = "", container: str = "", function: str = "<module>") -> Json:
    return {
        "text": text,
        "function": function,
        "file": FILE,
        "base": base or text,
        "container": container,
    }


def found(rule: Rule, *seen: Any) -> list[Finding]:
    """What a rule says of a recording; where a value came from, nobody has recorded."""
    recording = Recording([*seen, Answer(Question(LINEAGE, "1-1"), None)])
    broken: list[str] = []
    findings = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings


def after(one: Script, finding: Finding, number: int = 0) -> str:
    """The script with a fix of the finding."""
    edit = finding.fixes[number].edit
    assert isinstance(edit, Edit)
    return patched(edit, one.text)


def tensor(text: str, **more: Any) -> Value:
    return Value(text, "Tensor", 1, shape=(4,), **more)
