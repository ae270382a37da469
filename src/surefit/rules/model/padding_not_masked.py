"""The model attends to padding: its mask is missing, is not used, or is inverted.

## What happens
Shorter rows of a batch are filled up to the length of the longest. Attention over all positions
takes the filling for content, unless a mask hides it. The mask was not handed over, stops on its
way, or says the opposite of what the layer expects: `attention_mask` of transformers is 1 where
there is a token, `key_padding_mask` of PyTorch is True where there is none.

## Why it matters
What a row gives depends on how long the longest row of its batch is. With an inverted mask the
model sees nothing but padding: the loss stands still.

## What to do
Hand the mask over, in the sense that the layer has: `src_key_padding_mask=attention_mask == 0`,
`scores.masked_fill(mask == 0, float("-inf"))`. A mean over positions must leave padding out, too.

## How it is recognised
With the live model in evaluation mode a padded row of the batch was given once with its padding and
once with less of it. Outputs of its own positions changed, and this is the first operation that
lets padding in. A mask is called inverted where padding changes outputs and another token of the
row does not.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.padding import POOLS, PaddingIsSeen
from surefit.laws.layers.layer_attributes import constructed_layer, padded_input
from surefit.laws.operations.operation_calls import calls_near
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source, called

RULE = Rule("SF350", "padding-not-masked", Severity.ERROR, __doc__)
MASKS = (
    "attention_mask",
    "attn_mask",
    "key_padding_mask",
    "src_key_padding_mask",
    "mask",
    "pad_mask",
    "padding_mask",
)
TAKES = {
    "TransformerEncoder": "src_key_padding_mask",
    "TransformerEncoderLayer": "src_key_padding_mask",
    "MultiheadAttention": "key_padding_mask",
}
"""Layers -> their argument that is True where there is padding."""
OPPOSITE: dict[type[ast.cmpop], str] = {ast.Eq: "!=", ast.NotEq: "=="}


@RULE.on(PaddingIsSeen)
def attention_takes_padding_for_content(broken: PaddingIsSeen, case: Case) -> Finding:
    finding = case.finding(
        broken.use.place,
        headline(broken),
        facts=(*broken.facts, *known_by(broken), *fact_at("at", broken.use)),
        why="Padding fills rows up to one length and has no meaning. What it changes depends on the"
        " longest row of the batch.",
        remedies=[*inverted(broken, case), *handed_over(broken, case)],
    )
    is_mild = broken.operation.name in POOLS and not broken.inverted
    return replace(finding, severity=Severity.WARNING) if is_mild else finding


def headline(broken: PaddingIsSeen) -> str:
    name, model = code(broken.operation.name), code(broken.model)
    if broken.inverted:
        return (
            f"The padding mask of {model} is inverted: {name} attends to padding, and not to the"
            " tokens before it."
        )
    if broken.operation.name in POOLS:
        return (
            f"{name} over positions counts padding: {code(broken.argument)} is given to {model} and"
            " not used there."
        )
    if broken.argument:
        return f"{name} attends to padding: {code(broken.argument)} of {model} does not mask it."
    return f"{name} attends to padding: {model} is given padded rows and no attention mask."


def known_by(broken: PaddingIsSeen) -> tuple[Fact, ...]:
    said = code(broken.argument) if broken.argument else "the padding token of the model"
    return (Fact("padding is known by", said),)


def inverted(broken: PaddingIsSeen, case: Case) -> Iterator[Remedy]:
    """Every mask near the operation, and where the model is called, turned round."""
    if not broken.inverted:
        return
    for source, node in masks(broken, case):
        text = turned(source, node)
        yield Change(
            to=replaced(source, node, text),
            words=f"Turn the mask round: {code(text)}.",
            must=law_holds(broken),
        )


def masks(broken: PaddingIsSeen, case: Case) -> Iterator[tuple[Source, ast.expr]]:
    """What calls in the user's files give as a mask, those in the operation's function first."""
    own = case.source(broken.use.place)
    sources = [own] if own is not None else []
    sources += [other for other in case.recording.sources() if other is not own]
    for source in sources:
        for call in source.every(ast.Call):
            if called(call) in ("masked_fill", "masked_fill_") and hides_scores(call):
                yield source, call.args[0]
            for keyword in call.keywords:
                if keyword.arg in MASKS:
                    yield from compared(source, keyword.value)
                    yield source, keyword.value


def compared(source: Source, node: ast.expr) -> Iterator[tuple[Source, ast.expr]]:
    """`ids != 0`, where a mask is computed in the same function: what is joined to it later stays
    as it is."""
    if isinstance(node, ast.Name):
        for assignment in source.assignments(node.id, source.scope_of(node)):
            match assignment.value:
                case ast.Compare(ops=[ast.Eq() | ast.NotEq()]) | ast.UnaryOp(op=ast.Invert()):
                    yield source, assignment.value


def hides_scores(call: ast.Call) -> bool:
    """By a very small number, and not by the label that a loss passes over."""
    filling = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
    return bool(filling) and filling not in ("-100", "0", "0.0")


def turned(source: Source, node: ast.expr) -> str:
    text = source.segment(node)
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
            type(operator) in OPPOSITE
        ):
            between = OPPOSITE[type(operator)]
            return f"{source.segment(left)} {between} {source.segment(right)}"
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return source.segment(operand)
    tight = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return f"{text} == 0" if tight else f"({text}) == 0"


def handed_over(broken: PaddingIsSeen, case: Case) -> Iterator[Remedy]:
    """The mask as an argument of the call that attends."""
    source, line = case.source(broken.use.place), broken.use.place.line
    if broken.inverted or source is None or line is None:
        return
    for call in calls_near(source, line):
        at = case.expression(source, call)
        given = ids_given(source, call)
        if given and source.argument(call, "attention_mask") is None:
            text = given.replace("input_ids", "attention_mask")
            words = f"Hand the attention mask over: {code(f'attention_mask={text}')}."
            yield SetArgument(
                at=at, name="attention_mask", value=text, words=words, must=law_holds(broken)
            )
        name = TAKES.get(constructed_layer(source, call), "")
        if name and source.argument(call, name) is None:
            for text in hides(broken, source, call):
                words = f"Hide padding from it: {code(f'{name}={text}')}."
                yield SetArgument(at=at, name=name, value=text, words=words, must=law_holds(broken))


def ids_given(source: Source, call: ast.Call) -> str:
    """`batch["input_ids"]`, as a call is given it."""
    texts = [source.segment(node) for node in (*call.args, *(word.value for word in call.keywords))]
    return next((text for text in texts if "input_ids" in text and text != "input_ids"), "")


def hides(broken: PaddingIsSeen, source: Source, call: ast.Call) -> Iterator[str]:
    """Expressions that are True where there is padding."""
    scope = source.scope_of(call)
    names = [arg.arg for arg in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    if broken.argument in names and "mask" in broken.argument:
        yield f"{broken.argument} == 0"
        yield f"{broken.argument} != 0"
    padded = padded_input(source, scope)
    if padded:
        yield padded
