"""A value has a form that the operation does not take; converted, the run goes on.

## What happens
An operation takes a value of the right meaning in another form: a list in place of an array, a copy
in place of a reversed view, a plain number in place of one of NumPy, a text in place of a path.

## Why it matters
The exception comes where the value is used, often deep in a library. The form comes from the
expression that made the value.

## What to do
Convert the value once: where its form comes up, or where it is handed over if it is used as it is
until then.

## How it is recognised
No other rule explains the exception. The values of the failing expression, and those that the
library's innermost function was called with, tell their form: class, strides, dtype, whether they
are part of a graph. Each conversion that such a form has is tried along the expressions that the
value came through. The finding stands only where a run with one of them goes on past the fault,
with the rows and losses that it had.
"""

import ast
from collections.abc import Container, Iterable, Iterator

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand, Written, fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.along import along
from surefit.laws.case import Case
from surefit.laws.contracts.unsuited_values import UnsuitedValue
from surefit.laws.values.conversions import Conversion
from surefit.laws.values.earlier import unlike_before
from surefit.laws.values.failing_values import raised_at
from surefit.laws.values.value_origins import shortened
from surefit.laws.values.value_words import in_words
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.remedies.together import Together
from surefit.remedies.wrap import Wrap
from surefit.source.reading import Source, targets

DECIDES = "the form of the value that was refused, and whether a conversion of it runs"
RULE = Rule(
    "SF980",
    "value-not-converted",
    Severity.ERROR,
    __doc__,
    general=True,
    supposes=True,
    symptoms=(
        Symptom("is not JSON serializable", DECIDES),
        Symptom("stride in the given numpy array is negative", DECIDES),
        Symptom("assignment destination is read-only", DECIDES),
        Symptom("can't convert np.ndarray of type numpy.object_", DECIDES),
        Symptom("'(generator|map|zip|dict_values|dict_keys|set)' object is not", DECIDES),
    ),
)

LONGEST = 80
MOST_PLACES = 4

MOST = 3


@RULE.on(UnsuitedValue)
def value_has_another_form(broken: UnsuitedValue, case: Case) -> Finding | None:
    if case.crash is None or case.crash.swallowed:
        return None
    conversion = broken.conversion
    side = conversion.of
    operand = Operand(value=side.value, name=code(side.value.text), frame=side.frame)
    lineage = case.lineage(operand)
    first, last = lineage.birth(of=conversion.has), next(iter(lineage.producers), None)
    birth = first or last if conversion.at_birth else last or first
    places = list(where_to_convert(broken, lineage, case))[:MOST_PLACES]
    if not places:
        return None
    return case.finding(
        places[0].place,
        headline(broken, birth, places[0], case),
        facts=(*facts(broken, birth, case), *unlike_before(case)),
        why=conversion.why,
        remedies=[
            *(converted(conversion, written, case) for written in places),
            all_of_this_form(broken, case),
        ],
    )


def where_to_convert(broken: UnsuitedValue, lineage: Lineage, case: Case) -> Iterator[Written]:
    """From the birth of the form to the failing line; of what is used in its form until it is
    handed over, the other way around."""
    conversion = broken.conversion
    through = [*along(lineage, of=conversion.has)]
    at_use = as_written(broken, case)
    if conversion.at_birth:
        yield from through
        yield from at_use
        return
    if not conversion.of.own:
        yield from entries(case, conversion.of.value)
    for producer in reversed(through):
        yield from hand_overs(case, producer)
    yield from at_use
    yield from reversed(through)
    if not through:
        yield from passed_on(lineage, conversion)


def passed_on(lineage: Lineage, conversion: Conversion) -> Iterator[Producer]:
    """Names and attributes, where the value comes from a library and is only passed on."""
    for producer in lineage.all:
        if producer.own and producer.span is not None and conversion.has.holds(producer.value):
            yield producer


def as_written(broken: UnsuitedValue, case: Case) -> Iterator[Expression]:
    """The value in the failing expression itself."""
    node, source = case.node(broken.use), case.source(broken.use.place)
    if not broken.conversion.of.own or node is None or source is None:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.expr) and ast.unparse(part) == broken.conversion.of.value.text:
            yield case.expression(source, part)
            return


def converted(conversion: Conversion, written: Written, case: Case) -> Wrap:
    before, after = conversion.before, conversion.after
    if isinstance(case.node(written), ast.GeneratorExp) and (before[-1:], after) == ("(", ")"):
        before, after = before[:-1], ""  # it has brackets of its own
    text = shortened(written.text, LONGEST)
    if isinstance(case.node(written), ast.Tuple) and not text.startswith("("):
        text = f"({text})"
    text = f"{before}{text}{after}"
    return Wrap(
        at=written,
        before=before,
        after=after,
        imports=conversion.imports,
        words=f"{conversion.verb}: {code(text)}.",
    )


def all_of_this_form(broken: UnsuitedValue, case: Case) -> Together | None:
    """The conversion of every value of this form that the failing statement names: where it is
    done to one of them, the next one fails."""
    own, source, conversion = case.own, case.source(case.own), broken.conversion
    statement = source.statement_at(own.place.line or 0) if own and source else None
    if own is None or source is None or statement is None or not conversion.of.own:
        return None
    texts = {value.text for value in own.values if conversion.has.holds(value)}
    nodes = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        if ast.unparse(node) in texts and isinstance(node.ctx, ast.Load)
    ]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    uses = [case.expression(source, node) for node in nodes]
    if len({use.text for use in uses}) < 2 or hasattr(statement, "body"):
        return None
    parts = tuple(converted(conversion, use, case) for use in uses)
    names = spoken(dict.fromkeys(code(use.text) for use in uses))
    return Together(parts=parts, words=f"{conversion.verb}, for {names}.")


def headline(broken: UnsuitedValue, birth: Written | None, handed_over: Written, case: Case) -> str:
    conversion = broken.conversion
    name = conversion.of.value.text if conversion.of.own else handed_over.text
    source = f"{code(shortened(name, LONGEST))}{made_by(birth, name)}"
    use = code(shortened(broken.use.text, LONGEST))
    if conversion.of.own:
        return f"{use} {relation(broken, case)}: {source}."
    function = case.frames[-1].function
    return f"{use} hands {conversion.noun} to `{function}`, which does not take it: {source}."


def relation(broken: UnsuitedValue, case: Case) -> str:
    """`does not take a tensor`, `writes to a read-only array`, `indexes a generator`."""
    node, noun, name = (
        case.node(broken.use),
        broken.conversion.noun,
        broken.conversion.of.value.text,
    )
    if broken.conversion.written_to:
        return f"writes to {noun}"
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name:
        return f"asks {noun} for `{node.attr}`"
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == name:
        return f"indexes {noun}"
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == name:
        return f"looks up {noun}"
    return f"does not take {noun}"


def made_by(birth: Written | None, name: str) -> str:
    if birth is None or birth.text == name:
        return ""
    place = Place(birth.place.file, birth.place.line)
    return f", made by {code(shortened(birth.text, LONGEST))} at {place}"


def facts(broken: UnsuitedValue, birth: Written | None, case: Case) -> Iterator[Fact]:
    value = broken.conversion.of.value
    if broken.conversion.of.own:
        yield Fact(code(value.text), f"{in_words(value)}{form(value.stride)}")
    else:
        known = in_words(value)
        yield Fact("the value", known if known == value.kind else f"{value.kind}: {known}")
        yield Fact("refused at", raised_at(case.frames[-1], LONGEST))
    if birth is not None and len(birth.text) > LONGEST:
        yield from fact_at("made by", birth)


def form(stride: tuple[int, ...] | None) -> str:
    return f", strides {stride}" if stride and min(stride) < 0 else ""


def hand_overs(case: Case, written: Written) -> Iterator[Expression]:
    """Uses of the name that an expression is assigned to, in the same function: those that put it
    into something or return it before those that pass it to a call."""
    node, source = case.node(written), case.source(written.place)
    if node is None or source is None:
        return
    uses = sorted(uses_of(source, node), key=lambda use: is_passed(source, use))
    for use in uses[:MOST]:
        yield case.expression(source, use)


def entries(case: Case, value: Value) -> Iterator[Expression]:
    """What the user's source puts into a dictionary that holds the value and that a line of the
    user's names: `args.out` of `{"folder": args.out}`."""
    for number, frame in enumerate(case.frames):
        for known in frame.values if frame.own else ():
            keys = {
                key for key, member in known.members.items() if member.identity == value.identity
            }
            if keys and known.kind == "dict":
                operand = Operand(value=known, name=code(known.text), frame=number)
                yield from entries_of(case, case.lineage(operand).producers, keys)


def entries_of(
    case: Case, producers: Iterable[Producer], keys: Container[object]
) -> Iterator[Expression]:
    for producer in producers:
        node, source = case.node(producer), case.source(producer.place)
        if source is None or not isinstance(node, ast.Dict):
            continue
        for key, entry in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in keys:
                yield case.expression(source, entry)


def uses_of(source: Source, node: ast.expr) -> list[ast.expr]:
    statement = source.parents.get(node)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is not node:
        return []
    texts = {ast.unparse(target) for target in targets(statement)}
    scope = source.scope_of(node)
    return [
        use
        for use in ast.walk(scope)
        if isinstance(use, ast.Name | ast.Attribute)
        and ast.unparse(use) in texts
        and isinstance(use.ctx, ast.Load)
        and use.lineno > node.lineno
        and isinstance(
            source.parents.get(use),
            ast.Dict | ast.List | ast.Tuple | ast.Return | ast.Call | ast.keyword,
        )
    ]


def is_passed(source: Source, use: ast.expr) -> bool:
    return isinstance(source.parents.get(use), ast.Call | ast.keyword)
