"""Crashes of operations that were given tensors of two devices or dtypes, made by hand."""

import ast
from collections.abc import Mapping, Sequence

from lineages import Step, lineage_answer
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Layer, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.source.reading import Source

FILE = "train.py"
Chains = Mapping[tuple[int, str], Sequence[Step]]


def tensor(
    text: str, identity: int, dtype: str = "float32", device: str = "cpu", kind: str = "Tensor"
) -> Value:
    return Value(text, kind, identity, shape=(4, 7), dtype=dtype, device=device)


def own(
    source: Source,
    expression: str,
    *values: Value,
    function: str = "<module>",
    layer: Layer | None = None,
    arguments: tuple[str, ...] = (),
) -> Frame:
    """The user's frame in which this expression failed."""
    (node,) = [one for one in source.every(ast.expr) if source.segment(one) == expression]
    return Frame(
        Place(FILE, node.lineno),
        function,
        True,
        source.lines[node.lineno - 1].strip(),
        expression,
        source.span(node),
        values,
        layer,
        arguments,
    )


def linear(*values: Value, layer: Layer | None = None) -> Frame:
    return Frame(
        Place("torch/nn/modules/linear.py", 134),
        "Linear.forward",
        False,
        expression="F.linear(input, self.weight, self.bias)",
        values=values,
        layer=layer,
    )


def crash(*frames: Frame) -> Crash:
    return Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: no", frames)


def said(
    rule: Rule, source: Source, frames: Sequence[Frame], chains: Chains, *answers: Answer
) -> list[Finding]:
    """What a rule says, where a second run has told these lineages."""
    crashed = crash(*frames)
    told = lineage_answer(crashed, source, chains)
    recording = Recording([Script(FILE, source.text), crashed, told, *answers])
    broken: list[str] = []
    findings = list(rule.look(recording, violations_in(recording, broken)))
    assert broken == []
    return findings
