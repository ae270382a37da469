"""A number that is still text reaches a comparison, an arithmetic operation or a size.

## What happens
What is read from a command line, a CSV file, an environment variable or a YAML file can be text
that only looks like a number. YAML reads `3e-3` as text, because it wants a dot (`3.0e-3`), and
`argparse` gives text unless it is told a `type`.

## Why it matters
The error comes where the number is first used, deep inside a library, and names types, not the
setting.

## What to do
Convert it once, where it is read: `type=float` for a flag, `float(config["lr"])` for a key, or
`3.0e-3` in the YAML file.

## How it is recognised
An operand of the expression that failed is text that reads as a number. A second run tells which
setting, key or expression it came from. Of an argument that is expanded from a mapping with `**`,
the key is looked for in the script.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written, fact_at
from surefit.doctor.words import code
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.texts import NumberIsText
from surefit.laws.values.named_arguments import argument_named, flag_declared
from surefit.lineage.lineage import Lineage
from surefit.lineage.properties import Property, text
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import Change
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.wrap import Wrap
from surefit.source.patches import Edit, Replace
from surefit.source.spans import Span

RULE = Rule(
    "SF289",
    "number-is-text",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"not supported between instances of '(str|float|int)' and '(str|float|int)'"
            r"|unsupported operand type\(s\).*'str'|must be real number, not str|of type str"
            r"|'str' object cannot be interpreted as an integer",
            "whether one of the operands is a number that was read as text",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WrittenInText:
    """`lr: 5e-3` in a string of the script, which is read as a mapping."""

    key: Expression
    """The whole line."""
    number: Span
    """Of the value, with the quotes around it."""


@RULE.on(NumberIsText)
def a_number_was_read_as_text(broken: NumberIsText, case: Case) -> Finding:
    lineage = case.lineage(broken.operand)
    named = argument_named(broken.operand.value.text, case)
    born = lineage.written() or lineage.birth(of=text)
    converted = list(places(lineage, named, broken.written))
    flag = flag_declared(broken.operand.value.text, case)
    mapped = Mapped.of(broken, case) if flag is None and not converted else Mapped()
    place = (flag or next(iter(converted), None) or mapped.first or broken.use).place
    to = "int" if broken.is_integer else "float"
    return case.finding(
        place,
        f"{broken.operand.name} is the text `{broken.written!r}`, not a number, where"
        f" {code(case.frames[broken.operand.frame or 0].line.splitlines()[0])} computes with it.",
        facts=(
            Fact(broken.operand.name, f"str {broken.written!r}"),
            *fact_at("passed as", named),
            *fact_at("from", born),
            *(fact for text in mapped.texts for fact in fact_at("written at", text.key)),
            *(fact for written in mapped.displays for fact in fact_at("written at", written)),
            *(fact for written in mapped.expanded for fact in fact_at("passed with `**`", written)),
            *fact_at("fails at", broken.use),
        ),
        why=why(broken),
        remedies=(*remedies(flag, converted, to), *in_mapping(mapped, broken, to)),
    )


@dataclass(frozen=True, slots=True)
class Mapped:
    """Where the key stands in the user's sources, if the argument was expanded from a mapping."""

    texts: tuple[WrittenInText, ...] = ()
    displays: tuple[Expression, ...] = ()
    expanded: tuple[Expression, ...] = ()

    @classmethod
    def of(cls, broken: NumberIsText, case: Case) -> "Mapped":
        key = broken.operand.value.text.rpartition(".")[2]
        asked = key, broken.written, case
        return cls(tuple(in_texts(*asked)), tuple(in_displays(*asked)), tuple(expanded(*asked)))

    @property
    def first(self) -> Expression | None:
        written = (*(text.key for text in self.texts), *self.displays)
        return written[0] if len(written) == 1 else next(iter(self.expanded), None)


def in_mapping(mapped: Mapped, broken: NumberIsText, to: str) -> Iterator[Remedy]:
    """The text itself, where it is written just once; the mapping before it is expanded."""
    number, key = as_number(broken.written), broken.operand.value.text.rpartition(".")[2]
    if len(mapped.texts) == 1 and not mapped.displays:
        text = mapped.texts[0]
        edit = Edit(text.key.place.file, (Replace(text.number, number),))
        yield Change(to=edit, words=f"Write it as YAML reads a number: `{key}: {number}`.")
    if len(mapped.displays) == 1 and not mapped.texts:
        display = mapped.displays[0]
        yield ReplaceWith(at=display, text=number, words=f"Write it as a number: `{number}`.")
    for mapping in mapped.expanded[:1]:
        words = f"Convert it before it is passed on: `{to}({mapping.text}[{key!r}])`."
        converting = f'{{**{mapping.text}, "{key}": {to}({mapping.text}["{key}"])}}'
        yield ReplaceWith(at=mapping, text=converting, words=words)


def as_number(written: str) -> str:
    """`5.0e-3` for `5e-3`: YAML 1.1 wants a dot, and a sign in the exponent."""
    mantissa, letter, exponent = written.strip().lower().partition("e")
    if not letter:
        return mantissa
    dotted = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{dotted}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"


def why(broken: NumberIsText) -> str:
    if "e" in broken.written.lower():
        return (
            f"Nothing converts it on the way. YAML reads `{broken.written}` as text, because it"
            " wants a dot and a sign in such a number: `3.0e-3`."
        )
    return (
        "Nothing converts it on the way: flags, CSV cells and environment variables are text unless"
        " they are converted."
    )


def places(lineage: Lineage, named: Expression | None, written: str) -> Iterator[Written]:
    """Where it can be converted: the argument that passes it on, then expressions towards its
    birth."""
    if named is not None:
        yield named
    the_same = Property(f"is {written!r}", lambda value: value.scalar == written)
    yield from reversed(along(lineage, of=the_same))


def remedies(flag: Expression | None, converted: list[Written], to: str) -> Iterator[Remedy]:
    if flag is not None:
        words = f"Declare the type of the flag: `type={to}`."
        yield SetArgument(at=flag, name="type", value=to, words=words)
    for expression in converted:
        words = f"Convert it where it is passed on: `{to}({expression.text})`."
        yield Wrap(at=expression, before=f"{to}(", after=")", words=words)


def in_texts(key: str, written: str, case: Case) -> Iterator[WrittenInText]:
    """Lines of strings over several lines that set a key to what was read as text."""
    quoted = rf"(?P<quote>[\"']?){re.escape(written)}(?P=quote)"
    entry = re.compile(rf"^\s*(?:- )?{re.escape(key)}\s*:\s+(?P<number>{quoted})\s*(?:#.*)?$")
    for source, node in case.recording.every(ast.Constant):
        if not isinstance(node.value, str) or node.lineno == node.end_lineno:
            continue
        for line in range(node.lineno + 1, node.end_lineno or node.lineno):
            match = entry.match(source.lines[line - 1])
            if match is not None:
                begin, end = match.span("number")
                whole = Expression(Place(source.file, line), None, match[0].strip())
                yield WrittenInText(whole, Span(line, begin, line, end))


def expanded(key: str, written: str, case: Case) -> Iterator[Expression]:
    """`config["optim"]` of `build(**config["optim"])` in the user's frames, outermost first, where
    it holds this text under the key."""
    for frame in case.frames:
        node, source = case.node(frame) if frame.own else None, case.source(frame)
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value = frame.value(ast.unparse(keyword.value)) if keyword.arg is None else None
            member = value.members.get(key) if value is not None else None
            if source is not None and member is not None and member.scalar == written:
                yield case.expression(source, keyword.value)


def in_displays(key: str, written: str, case: Case) -> Iterator[Expression]:
    """`"5e-3"` of `{"lr": "5e-3"}`."""
    for source, node in case.recording.every(ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            match name, value:
                case ast.Constant(value=str(text)), ast.Constant(value=str(number)):
                    if text == key and number == written:
                        yield case.expression(source, value)
