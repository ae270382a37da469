"""A check that a library makes, or the user's own code, has failed; no other rule explains it.

## What happens
Most errors stand behind a condition: a library compares what it was given with what it can work on,
and raises. The condition is read from its source, and its operands from the frame that raised.

## Why it matters
The message of an exception often names neither of the two values that were compared, nor where they
come from.

## What to do
Look at the two sides of the check. Each is shown with its value, and with the expression of the
script in which it was born.

## How it is recognised
The innermost frame of the crash stands at a `raise` or an `assert`. The conditions around it are
evaluated as far as they can be read without running anything: names, attributes, lengths, types and
comparisons. A second run tells where the values came from.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy, use_of
from surefit.laws.contracts.failed_checks import RefusedByCheck
from surefit.laws.values.constructor_settings import ConstructorSetting, settings_behind
from surefit.laws.values.earlier import unlike_before
from surefit.laws.values.failing_values import parts, raised_at, says_something
from surefit.laws.values.named_arguments import passed_as
from surefit.laws.values.sibling_values import left_out
from surefit.laws.values.value_origins import origin, shortened
from surefit.laws.values.value_words import in_words
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source

RULE = Rule(
    "SF898",
    "failed-check",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(
        Symptom(
            r"Tried to step \d+ times",
            "the condition behind the `raise`, and the values that it compares",
        ),
    ),
)

LONGEST = 100
MOST_OPERANDS = 3

LOADER = "torch.utils.data.DataLoader"


@dataclass(frozen=True, slots=True)
class RoundedDown:
    """A setting that a division rounded down, and that was exceeded."""

    division: Expression
    instead: str

    @property
    def why(self) -> str:
        return (
            f"{code(self.division.text)} rounds down: where it leaves a remainder, an incomplete"
            " last batch is not counted."
        )

    @property
    def remedy(self) -> Remedy:
        words = f"Count an incomplete last batch, too: {code(self.instead)}. Or drop it in the"
        words = f"{words} loader: `drop_last=True`."
        return ReplaceWith(at=self.division, text=self.instead, words=words, choice=True)


@RULE.on(RefusedByCheck)
def a_check_failed(broken: RefusedByCheck, case: Case) -> Finding | None:
    crash = case.crash
    if crash is None or crash.swallowed:
        return None
    kind = crash.kind.rpartition(".")[2]
    said = f"{shortened(broken.check.text, LONGEST)}"
    holds = "" if broken.check.result else " does not hold"
    known = [operand for operand in broken.operands if says_something(operand.value)]
    sides = spoken(
        f"{operand.name} is {in_words(operand.value)}" for operand in known[:MOST_OPERANDS]
    )
    sides = f": {sides}" if sides else ""
    failed = f"{code(said)}{holds}"
    asked = next((side for side in known if side.value.text == broken.check.text), None)
    if asked is not None:  # `if self.closed: raise`
        failed, sides = f"{asked.name} is {in_words(asked.value)}", ""
    settings = [setting for operand in broken.operands for setting in settings_of(operand, case)]
    low = too_low(broken, case)
    if innermost_is_own(case):
        headline = (
            f"Your own check {code(said)}{holds} in `{broken.function}` raises {kind}{sides}."
        )
    elif known:
        headline = (
            f"{code(shortened(broken.use.text, LONGEST))} ends with {kind}, because"
            f" {failed} in `{broken.function}`{sides}."
        )
    else:
        headline = (
            f"{code(shortened(broken.use.text, LONGEST))} ends with {kind}: a check in"
            f" `{broken.function}` failed."
        )
    return case.finding(
        broken.use.place if innermost_is_own(case) else culprit(broken, settings, low, case),
        headline,
        facts=tuple(facts(broken, case)),
        why=low.why if low is not None else "",
        remedies=(low.remedy,) if low is not None else set_where_created(broken, case),
    )


def innermost_is_own(case: Case) -> bool:
    return case.frames[-1].own


def culprit(
    broken: RefusedByCheck, settings: list[ConstructorSetting], low: RoundedDown | None, case: Case
) -> Place:
    """The line that sets what was checked; where something is None, the line that created its
    owner."""
    if low is not None:
        return low.division.place
    if settings:
        return settings[0].passed.place if len(settings) > 1 else settings[0].computed.place
    owners = (owner_of(operand, case) for operand in broken.operands)
    created = (owner.made_at for owner in owners if owner is not None)
    return next(filter(None, created), broken.use.place)


def owner_of(operand: Operand, case: Case) -> Value | None:
    """The object of the user's whose attribute is None, as the user's line names it: `tokenizer`
    for `self.tokenizer.mask_token`."""
    if operand.value.kind != "NoneType" or case.own is None:
        return None
    name = operand.value.text.rpartition(".")[0].rpartition(".")[2]
    passed = case.argument(use_of(case.own), name, None)
    return case.own.value(passed.text) if passed is not None else case.own.value(name)


def set_where_created(broken: RefusedByCheck, case: Case) -> Iterator[Remedy | Fix]:
    """What is None in an object that the user's script creates."""
    for operand in broken.operands:
        owner, name = owner_of(operand, case), operand.value.text.rpartition(".")[2]
        if owner is None or owner.made_at is None:
            continue
        known = left_out(name, owner.made_at, case)
        words = f"Set `{name}` where {code(owner.text)} is created."
        if known is None:
            yield Fix(words, choice=True)
        else:
            call, text = known
            value = f'"{text}"'
            yield SetArgument(at=call, name=name, value=value, words=words, choice=True)


def settings_of(operand: Operand, case: Case) -> tuple[ConstructorSetting, ...]:
    """The arguments by which the user's script sets a number, a name or a flag that was checked."""
    if operand.value.scalar is None and operand.value.kind != "NoneType":
        return ()
    behind = () if innermost_is_own(case) else settings_behind(operand.value.text, case)
    if behind:
        return behind
    passed = passed_as(operand.value.text, operand.value, case)
    return (ConstructorSetting(passed, passed),) if passed is not None else ()


def too_low(broken: RefusedByCheck, case: Case) -> RoundedDown | None:
    numbers = [operand.value.scalar for operand in broken.operands]
    for operand in () if innermost_is_own(case) else broken.operands:
        number = operand.value.scalar
        if not isinstance(number, int) or not any(
            isinstance(other, int) and other > number for other in numbers
        ):
            continue
        for setting in settings_of(operand, case):
            node, source = case.node(setting.computed), case.source(setting.computed)
            division = rounded_down(node)
            if division is not None and source is not None:
                return RoundedDown(case.expression(source, division), rounded_up(source, division))
    return None


def passed_at(settings: tuple[ConstructorSetting, ...]) -> str:
    """`, passed at train.py:12  total_steps=steps, which is 30 // 4 (train.py:9)`."""
    return "".join(map(passed_in_words, settings))


def passed_in_words(setting: ConstructorSetting) -> str:
    passed, computed = setting.passed, setting.computed
    said = f", passed at {Place(passed.place.file, passed.place.line)}  {passed.text}"
    if computed.span == passed.span:
        return said
    place = Place(computed.place.file, computed.place.line)
    return f"{said}, which is `{shortened(computed.text, LONGEST)}` ({place})"


def values_of_the_call(case: Case) -> Iterator[Fact]:
    """What the user's line works on, where the check compares nothing that can be told."""
    assert case.own is not None
    for value in parts(case.own):
        if says_something(value):
            yield Fact(code(value.text), in_words(value) + origin(value, case.number, case))


def facts(broken: RefusedByCheck, case: Case) -> Iterator[Fact]:
    yield Fact("checked at", raised_at(case.frames[-1], LONGEST))
    known = [operand for operand in broken.operands if says_something(operand.value)]
    if not known:
        yield Fact("the check", code(broken.check.text))
        yield from values_of_the_call(case)
    for operand in known:
        assert operand.frame is not None
        where = passed_at(settings_of(operand, case)) or origin(operand.value, operand.frame, case)
        yield Fact(operand.name, in_words(operand.value) + where)
        owner = owner_of(operand, case)
        if owner is not None and owner.made_at is not None:
            yield Fact(code(owner.text), f"{owner.kind}, created at {owner.made_at}")
    yield from unlike_before(case)
    for check in broken.others:
        yield Fact("and", code(check.text) + ("" if check.result else " does not hold"))


def rounded_down(node: ast.expr | None) -> ast.BinOp | None:
    """The only division in an expression that rounds down."""
    inside = ast.walk(node) if node is not None else ()
    divisions = [
        part for part in inside if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
    ]
    return divisions[0] if len(divisions) == 1 else None


def rounded_up(source: Source, node: ast.BinOp) -> str:
    """The length of the loader over the same rows, where it exists by then; otherwise the division
    rounded up."""
    loader = loader_over(source, node.left)
    if loader:
        return f"len({loader})"
    rows, size = source.segment(node.left), source.segment(node.right)
    tight = isinstance(node.left, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"-(-{rows if tight else f'({rows})'} // {size})"


def loader_over(source: Source, node: ast.expr) -> str:
    """`loader` for `len(data)`, where the lines before say `loader = DataLoader(data, ...)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[rows], keywords=[]):
            for call in source.calls_of(LOADER):
                over = source.argument(call, "dataset", 0)
                same = over is not None and ast.unparse(over) == ast.unparse(rows)
                parent = source.parents.get(call)
                before = call.lineno < node.lineno
                together = source.scope_of(call) is source.scope_of(node)
                match parent:
                    case ast.Assign(targets=[ast.Name(id=name)]) if same and before and together:
                        return name
    return ""
