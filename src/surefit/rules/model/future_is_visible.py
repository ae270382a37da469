"""Each position is to predict the next token, and the model can see it: there is no causal mask.

## What happens
The loss compares the output at position t with the token at t + 1. Attention without a causal mask,
a bidirectional recurrent layer or a convolution with padding on both sides lets position t look at
t + 1: the model copies the answer from its input.

## Why it matters
The loss falls quickly to almost nothing, also on held-out rows, because the answer is there as
well. At generation, where there is no next token yet, the model is of no use.

## What to do
Hide later positions: `is_causal=True` of `scaled_dot_product_attention`, a mask from
`nn.Transformer.generate_square_subsequent_mask` for the Transformer layers, `bidirectional=False`
for a recurrent layer, padding on the left alone for a convolution.

## How it is recognised
The targets of the loss are an input moved by one position. With the live model in evaluation mode
the later half of that input was changed; outputs of the earlier half changed, and this is the first
operation that lets later positions into earlier ones.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.future import FutureIsSeen
from surefit.laws.layers.layer_attributes import constructed_layer
from surefit.laws.operations.mixing_operations import ATTENTION, CONVOLUTIONS, RECURRENT, SOFTMAX
from surefit.laws.operations.operation_calls import call_of, calls_near, constructor_of
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument, call_at
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source

RULE = Rule("SF352", "future-is-visible", Severity.ERROR, __doc__)
TAKES = {
    "TransformerEncoder": "mask",
    "TransformerEncoderLayer": "src_mask",
    "MultiheadAttention": "attn_mask",
    "TransformerDecoder": "tgt_mask",
    "TransformerDecoderLayer": "tgt_mask",
    "Transformer": "tgt_mask",
}
"""Layers -> their argument that hides positions from each other."""
GIVEN = {"Transformer": 1}
"""Number of the argument whose positions must not see later ones, if not the first."""


@RULE.on(FutureIsSeen)
def next_tokens_are_among_the_inputs(broken: FutureIsSeen, case: Case) -> Finding | None:
    if broken.ahead or broken.is_inverted:
        return None  # there is a mask: `causal-mask-misplaced` has that
    operation = broken.operation
    place, recurrent = broken.use.place, operation.name in RECURRENT
    created = constructor_of(operation, case) if recurrent else None
    return case.finding(
        (created or broken.use).place if recurrent else place,
        f"{code(operation.name)} lets each position see later tokens, and the loss asks for the"
        f" next one: {reason(broken)}.",
        facts=(*broken.facts, *fact_at("at", broken.use)),
        why="The token that a position should predict is among its inputs. The loss falls because"
        " it is copied; where tokens are generated, it is not there.",
        remedies=list(ways(broken, case)),
    )


def reason(broken: FutureIsSeen) -> str:
    name = broken.operation.name
    if name in RECURRENT:
        return "the recurrent layer is bidirectional and reads the future"
    if name in CONVOLUTIONS:
        return "the convolution reaches to both sides and reads the future"
    if name in ATTENTION | SOFTMAX:
        return "there is no causal mask in this attention"
    return "the future is visible to the model"


def ways(broken: FutureIsSeen, case: Case) -> Iterator[Remedy | Fix]:
    operation, must = broken.operation, law_holds(broken)
    if operation.name == "scaled_dot_product_attention":
        written = call_of(operation, case)
        if written is not None:
            words = "Let positions see only earlier ones: `is_causal=True`."
            yield SetArgument(at=written, name="is_causal", value="True", words=words, must=must)
    elif operation.name in SOFTMAX:
        yield from masked_scores(broken, case)
    elif operation.name in ATTENTION:
        yield from masked_layers(broken, case)
    elif operation.name in RECURRENT:
        yield Fix("Read in one direction: `bidirectional=False`, and half as many features after.")
    else:
        yield Fix("Let each position depend on earlier positions alone.")


def masked_scores(broken: FutureIsSeen, case: Case) -> Iterator[Remedy]:
    """`scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))`."""
    source, call = call_at(case, call_of(broken.operation, case))
    if source is None or call is None:
        return
    is_method = isinstance(call.func, ast.Attribute) and not source.imported(call.func)
    node = call.func.value if is_method and isinstance(call.func, ast.Attribute) else None
    node = node if node is not None else next(iter(call.args), None)
    if not isinstance(node, ast.Name):
        return
    later = f"torch.ones_like({node.id}, dtype=torch.bool).triu(1)"
    text = f'{node.id}.masked_fill({later}, float("-inf"))'
    yield Change(
        to=replaced(source, node, text),
        words="Hide later positions before the softmax, with a causal mask (`triu`).",
        must=law_holds(broken),
    )


def masked_layers(broken: FutureIsSeen, case: Case) -> Iterator[Remedy]:
    source, line = case.source(broken.use.place), broken.use.place.line
    for call in calls_near(source, line) if source is not None and line else ():
        assert source is not None
        kind = constructed_layer(source, call)
        name = TAKES.get(kind, "")
        if name and source.argument(call, name) is None:
            text = causal_mask(source, call, GIVEN.get(kind, 0))
            if text:
                yield SetArgument(
                    at=case.expression(source, call),
                    name=name,
                    value=text,
                    words=f"Hide later positions with a causal mask: {code(f'{name}=...')}.",
                    must=law_holds(broken),
                )


def rows_come_first(source: Source) -> bool:
    """Its layers are created with `batch_first=True`."""
    options = [source.argument(call, "batch_first") for call in source.every(ast.Call)]
    return any(option is not None and ast.unparse(option) == "True" for option in options)


def causal_mask(source: Source, call: ast.Call, number: int) -> str:
    """For as many positions as the layer is given."""
    if len(call.args) <= number or not isinstance(call.args[number], ast.Name | ast.Attribute):
        return ""
    axis = 1 if rows_come_first(source) else 0
    size = f"{source.segment(call.args[number])}.size({axis})"
    names = [
        alias.asname or alias.name for node in source.every(ast.Import) for alias in node.names
    ]
    before = "nn" if any("nn" in name.split(".") for name in names) else "torch.nn"
    return f"{before}.Transformer.generate_square_subsequent_mask({size})"
