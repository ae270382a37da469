"""A violation with all that a rule needs to explain it: frames, source, answers and lineage."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import msgspec

from surefit.doctor.causes import caught_by
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Json, Layer, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule, Unanswered
from surefit.doctor.violations import Expression, Operand, Written
from surefit.lineage.asking import lineage_about, lineage_of, lineage_of_rows
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import (
    ARGUMENT_OF,
    DATASET,
    LINEAGE,
    ROWS,
    TARGET_OF,
    Input,
    Producer,
    ProducerKind,
    Way,
)
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

NO_LINEAGE = Lineage({}, ())
ONLY_READ = "the script was read, not run"
NOT_FOUND = "the expression to change was not found in your source"


Answered = TypeVar("Answered")


class Remedy(Protocol):
    """An edit operator applied at a place. See `surefit.remedies`."""

    @property
    def words(self) -> str:
        """What to do, as a sentence."""

    @property
    def choice(self) -> bool:
        """Several ways are legitimate, or sizes, rows or targets change with it."""

    @property
    def must(self) -> Condition | None:
        """What must hold afterwards, in numbers; without it, that training goes on past the fault,
        with the rows that it had."""

    def edit(self, case: "Case") -> Edit | None:
        """None where the source does not have what it changes."""


@dataclass(frozen=True)
class Case:
    """What one rule sees of one violation, or of one crash."""

    recording: Recording
    crash: Crash | None = None
    rule: Rule | None = None
    read: str = ""
    """The file, where its source was only read and nothing was run."""
    about: str = ""
    """Which fault of a run that does not crash."""

    def source(self, at: Place | str | Frame | Written | None) -> Source | None:
        return self.recording.source(at if isinstance(at, Place | str | None) else at.place)

    def node(self, written: Frame | Written | None) -> ast.expr | None:
        """The expression in its source, parsed."""
        source = self.source(written)
        span = written.span if written is not None else None
        return source.expression_at(span) if source is not None and span is not None else None

    def expression(self, source: Source, node: ast.expr) -> Expression:
        """A node of the user's source as plain data."""
        text = " ".join(source.segment(node).split())
        return Expression(Place(source.file, node.lineno, node.end_lineno), source.span(node), text)

    def owner(self, call: Written | None) -> Expression | None:
        """`model` of `model.load_state_dict(...)`."""
        node, source = self.node(call), self.source(call)
        match node:
            case ast.Call(func=ast.Attribute(value=owner)) if source is not None:
                return self.expression(source, owner)
        return None

    def argument(self, call: Written | None, name: str, position: int | None) -> Expression | None:
        """What a call of the user's gives for one argument."""
        node, source = self.node(call), self.source(call)
        if source is None or not isinstance(node, ast.Call):
            return None
        value = source.argument(node, name, position)
        return self.expression(source, value) if value is not None else None

    @cached_property
    def own(self) -> Frame | None:
        """The user's innermost frame."""
        return self.crash.own_frame if self.crash is not None else None

    @property
    def frames(self) -> tuple[Frame, ...]:
        return self.crash.frames if self.crash is not None else ()

    @property
    def number(self) -> int:
        """Of the user's innermost frame."""
        assert self.own is not None
        return self.frames.index(self.own)

    def value(self, frame: int, text: str) -> Value | None:
        return self.frames[frame].value(text) if self.crash is not None else None

    def values(self) -> Iterator[Value]:
        """All values of all frames, innermost frame first, with what mappings and short lists
        hold."""
        for frame in reversed(self.frames):
            for value in frame.values:
                yield value
                yield from value.members.values()

    def constructor_of_callee(self, call: Written) -> Expression | None:
        """Where the object that a line calls was created: `nn.CrossEntropyLoss()` for
        `criterion(...)`."""
        node, source = self.node(call), self.source(call.place)
        if self.own is None or source is None or not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Call):
            return self.expression(source, node.func)
        text = ast.unparse(node.func)
        layers = [value.layer for value in self.own.values if value.text == text and value.layer]
        return self.constructor(layers[0]) if layers else None

    def constructor(self, layer: Layer) -> Expression | None:
        """The user's call that created a module, where its line has just one such call."""
        place = layer.made_at
        source = self.source(place)
        if source is None or place is None or place.line is None:
            return None
        calls = list(source.calls_in(place.line, place.end_line))
        named = [call for call in calls if called(call) == layer.kind]
        outermost = [call for call in calls if source.parents.get(call) not in calls]
        chosen = named if len(named) == 1 else outermost
        return self.expression(source, chosen[0]) if len(chosen) == 1 else None

    def model_constructor(self) -> Expression | None:
        """Of the outermost model of a library that the crash went through."""
        roots = [frame.layer for frame in self.frames if not frame.own and frame.layer is not None]
        models = [layer for layer in roots if layer.path == ""]
        return self.constructor(models[0]) if models else None

    def ask(self, answer: type[Answered], **about: Json) -> Answered | None:
        """What a probe of the crashed process, or of a second run, says; None where it could not
        say it."""
        kind: str = answer.probe  # type: ignore[attr-defined]
        question = Question(kind, self.crash.id if self.crash is not None else "", about)
        known = self.recording.answer(question)
        if known is None:
            if not self.read:
                self.recording.ask(question)
                raise Unanswered(kind)
            return None
        return msgspec.convert(known.said, answer, strict=False) if known.said is not None else None

    def answered(self, kind: str, **about: Json) -> Question:
        """A question that a condition is judged by, once it has an answer."""
        question = Question(kind, self.crash.id if self.crash is not None else "", about)
        if not self.read and self.recording.answer(question) is None:
            self.recording.ask(question)
            raise Unanswered(kind)
        return question

    def lineage(self, operand: Operand) -> Lineage:
        """Where a value came from; empty where that is not known. Of source that was only read, the
        one expression that the interpreter says it is from."""
        if operand.birth is not None:
            return lineage_of_birth(operand)
        if self.crash is None or operand.frame is None:
            return NO_LINEAGE
        self.ask_for_lineage()
        found = lineage_of(self.recording, self.crash, (operand.frame, operand.value.text))
        return found or NO_LINEAGE

    def lineage_at(self, expression: Expression, step: int = 0) -> Lineage:
        """Of the value of an expression at its line, at an optimizer step of a run that does not
        crash; empty where that is not known."""
        place = expression.place
        about: dict[str, Json] = {
            "file": place.file,
            "line": place.line or 0,
            "text": expression.text,
            "step": step,
        }
        self.answered(LINEAGE, **about)
        return lineage_about(self.recording, about) or NO_LINEAGE

    def lineage_of_target(
        self, loss: str, place: Place, step: int = 0, grad: bool = True
    ) -> Lineage:
        """Of what a loss function is given as target at a step; `place` is the user's line from
        which it is called, also where a library does that."""
        about: dict[str, Json] = {
            TARGET_OF: loss,
            "grad": grad,
            "file": place.file,
            "line": place.line or 0,
            "step": step,
        }
        self.answered(LINEAGE, **about)
        return lineage_about(self.recording, about) or NO_LINEAGE

    def lineage_of_argument(
        self, model: str, argument: str, place: Place, step: int, grad: bool
    ) -> Lineage:
        """Of what a model is called with from a line of the user's, also where a library does that;
        `grad`: whether gradients are on."""
        about: dict[str, Json] = {
            ARGUMENT_OF: model,
            "argument": argument,
            "grad": grad,
            "file": place.file,
            "line": place.line or 0,
            "step": step,
        }
        self.answered(LINEAGE, **about)
        return lineage_about(self.recording, about) or NO_LINEAGE

    def lineage_of_column(self, column: str) -> Lineage:
        """Where a column of the rows came from that a collator was given; a root for each row."""
        return self.of_rows(ROWS, column)

    def lineage_of_dataset(self) -> Lineage:
        """Where the dataset came from that these rows are from."""
        return self.of_rows(DATASET)

    def of_rows(self, function: str, text: str = "") -> Lineage:
        if self.crash is None:
            return NO_LINEAGE
        self.ask_for_lineage()
        return lineage_of_rows(self.recording, self.crash, function, text) or NO_LINEAGE

    def ask_for_lineage(self) -> None:
        assert self.crash is not None
        question = Question(LINEAGE, self.crash.id, {})
        if self.recording.answer(question) is None:
            self.recording.ask(question)
            raise Unanswered(question.kind)

    def finding(
        self,
        place: Place,
        headline: str,
        *,
        facts: Iterable[Fact] = (),
        ruled_out: Iterable[Fact] = (),
        why: str = "",
        remedies: Iterable[Remedy | Fix | None] = (),
    ) -> Finding:
        """A finding of the rule that this case was shown to. What Python said, which fault it is
        and, for source that was only read, its severity are filled in here."""
        assert self.rule is not None
        finding = self.rule.finding(
            place,
            headline,
            facts=tuple(facts),
            ruled_out=tuple(ruled_out),
            why=why,
            fixes=self.fixes([remedy for remedy in remedies if remedy is not None]),
            python_said=self.crash.said if self.crash is not None else "",
            about=self.crash.id if self.crash is not None else self.about,
            severity=Severity.WARNING if self.read else None,
        )
        return with_symbols(finding) if self.read else finding

    def fixes(self, remedies: Sequence[Remedy | Fix]) -> tuple[Fix, ...]:
        """Each edit once. Where none of the remedies finds its place, the first says so."""
        fixes = [remedy if isinstance(remedy, Fix) else self.fix(remedy) for remedy in remedies]
        kept: list[Fix] = []
        for fix in fixes:
            if not any(fix.edit == other.edit and fix.edit is not None for other in kept):
                kept.append(fix)
        placed = [fix for fix in kept if fix.edit is not None or fix.why_not_tried != NOT_FOUND]
        return tuple(placed or kept[:1])

    def fix(self, remedy: Remedy) -> Fix:
        edit = remedy.edit(self)
        if edit is None:
            return Fix(remedy.words, why_not_tried=NOT_FOUND, choice=remedy.choice)
        if self.read:
            return Fix(remedy.words, edit, why_not_tried=ONLY_READ, choice=remedy.choice)
        at = getattr(remedy, "at", None)
        must = remedy.must or TrainingGoesOn(changes_the_past=remedy.choice)
        place = at.place if at is not None else None
        return Fix(remedy.words, edit, self.holds(must), place=place, choice=remedy.choice)

    def holds(self, condition: Condition) -> Condition:
        """The condition; where the exception was caught, that its `try` is passed through."""
        crash = self.crash
        caught = caught_by(crash, self.recording) if crash and crash.swallowed else None
        if caught is None:
            return condition
        changes = condition.needs(self.recording).changes_the_past
        return EvaluationRuns(caught.handler, caught.entries, changes)

    def shown_to(self, rule: Rule) -> "Case":
        return replace(self, rule=rule)


STAND_IN = re.compile(r"\b1,?000,?\d\d\d\b")
"""Numbers that stand for sizes which source does not tell: see `surefit.interpreter.operands`."""


def with_symbols(finding: Finding) -> Finding:
    """Sizes that are not known are `n`."""

    def named(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        return tuple(Fact(fact.name, STAND_IN.sub("n", fact.value)) for fact in facts)

    return replace(
        finding,
        headline=STAND_IN.sub("n", finding.headline),
        why=STAND_IN.sub("n", finding.why),
        facts=named(finding.facts),
        ruled_out=named(finding.ruled_out),
    )


def lineage_of_birth(operand: Operand) -> Lineage:
    birth = operand.birth
    assert birth is not None
    producer = Producer(
        serial=1,
        place=birth.place,
        span=birth.span,
        text=birth.text,
        kind=ProducerKind.CALL,
        value=operand.value,
    )
    return Lineage({1: producer}, (Input(serial=1, way=Way.SAME_OBJECT),))


def use_of(frame: Frame) -> Expression:
    """The expression of a frame that failed."""
    return Expression(frame.place, frame.span, " ".join((frame.expression or frame.line).split()))
