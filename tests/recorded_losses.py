"""Crashes inside a loss function of torch, made by hand for tests of rules."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from textwrap import dedent
from typing import Any

from lineages import Step, lineage_answer
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Observation,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.contracts.losses import OF_CLASSES
from surefit.laws.crashes import violations_in
from surefit.lineage.producers import LINEAGE
from surefit.source.edits import patched
from surefit.source.reading import Source, called

FILE = "train.py"


def is_lineage(observation: Observation) -> bool:
    return isinstance(observation, Answer) and observation.question.kind == LINEAGE


def tensor(text: str, shape: tuple[int, ...], dtype: str = "float32", **more: Any) -> Value:
    return Value(text, "Tensor", hash(text), shape=shape, dtype=dtype, **more)


class LossCrash:
    """A script whose one call of `loss` failed in a loss function, and what there is to know."""

    def __init__(
        self,
        text: str,
        given: Value,
        target: Value,
        *,
        function: str = "cross_entropy",
        called_as: str = "criterion",
        values: tuple[Value, ...] = (),
        ignored: int = -100,
    ) -> None:
        self.text = dedent(text).lstrip("\n")
        source = Source(FILE, self.text)
        (call,) = [one for one in source.every(ast.Call) if called(one) == called_as]
        own = Frame(
            Place(FILE, call.lineno),
            "<module>",
            own=True,
            line=source.segment(source.statement_of(call)),
            expression=source.segment(call),
            span=source.span(call),
            values=(given, target, *values),
        )
        inner = (
            replace(given, text="input"),
            replace(target, text="target"),
            Value("ignore_index", "int", scalar=ignored),
        )
        layer = Frame(
            Place("torch/nn/modules/loss.py", 1), "Loss.forward", own=False, layer=Layer("Loss")
        )
        inside = Frame(Place("torch/nn/functional.py", 2), function, own=False, values=inner)
        self.ignored = ignored if function in OF_CLASSES else None
        self.crash = Crash("1-1", 1.0, Process(1), "RuntimeError", "x", (own, layer, inside))
        self.answers: list[Observation] = []
        self.chains: dict[tuple[int | str, str], Sequence[Step]] = {}

    def holds(self, values: dict[float, int], **more: Any) -> "LossCrash":
        """What the probe of labels says: value -> how many labels have it."""
        asked = {key: more.pop(key) for key in ("rows_of", "axis") if key in more}
        about = {"frame": 2, "text": "target", "ignored": self.ignored}
        if "rows_of" in asked:
            about["rows"] = asked["rows_of"]
        if "axis" in asked:
            about["axis"] = asked["axis"]
        said = {
            "elements": sum(values.values()),
            "total": sum(value * count for value, count in values.items()),
            "whole": all(value == int(value) for value in values),
            "different": len(values),
            "values": sorted(values),
            "counts": [values[one] for one in sorted(values)],
            **more,
        }
        self.answers.append(Answer(Question("labels", "1-1", about), said))
        return self

    def through(self, *steps: Step, of: str = "target") -> "LossCrash":
        """What a second run tells of the targets: expressions and values, newest first."""
        source = Source(FILE, self.text)
        self.chains[(2, of)] = steps
        self.answers = [one for one in self.answers if not is_lineage(one)]
        self.answers.append(lineage_answer(self.crash, source, self.chains))
        return self

    def found(self, rule: Rule) -> list[Finding]:
        """Of this rule alone; without a lineage of its own, nothing is known of any value."""
        answers = list(self.answers)
        if not any(map(is_lineage, answers)):
            answers.append(lineage_answer(self.crash, Source(FILE, self.text), {}))
        recording = Recording([Script(FILE, self.text), self.crash, *answers])
        broken: list[str] = []
        findings = list(rule.look(recording, violations_in(recording, broken)))
        assert broken == []
        return findings

    def mended(self, finding: Finding, number: int = 0) -> str:
        edit = finding.fixes[number].edit
        assert edit is not None
        return patched(edit, self.text)
