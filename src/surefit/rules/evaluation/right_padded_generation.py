"""A decoder-only model continues prompts after the padding at their end.

## What happens
`generate` of a decoder-only model (GPT-2, Llama, Qwen) takes the logits of the last position of
each row and appends the token. In a batch of prompts that are padded on the right, the last
position of every shorter prompt is padding: the model continues the padding and not the prompt.

## Why it matters
The longest prompt of each batch is answered well, the others badly: metrics from batched generation
are far too low, though the training loss is fine and single prompts are answered correctly.

## What to do
Pad prompts on the left for generation: `tokenizer(prompts, padding=True, padding_side="left")`, or
`tokenizer.padding_side = "left"` before. Training batches can stay padded on the right.

## How it is recognised
The prompts that `generate` was given have padding after their last token, by their attention mask
or, where there is none, by the padding token. Encoder-decoder models are left out: they do not
continue their input.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.padding import ContinuedAfterPadding
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument, call_at
from surefit.remedies.statements import Insert
from surefit.source.reading import Source, called, dotted
from surefit.source.selection import calls_within, nodes_within

RULE = Rule("SF511", "right-padded-generation", Severity.ERROR, __doc__)
LEFT = '"left"'
ADVICE = 'Pad prompts on the left before `generate`: `padding_side="left"` of the tokenizer.'


@RULE.on(ContinuedAfterPadding)
def prompts_are_padded_on_the_right(broken: ContinuedAfterPadding, case: Case) -> Finding:
    call = broken.call
    tokenized = tokenizer_call(broken, case)
    return case.finding(
        (tokenized or broken.use).place,
        f"`generate` is given right-padded prompts: {call.padded:,} of {call.rows:,} end in padding"
        f" (up to {call.tokens} tokens), and {code(call.model)} continues after the padding.",
        facts=(*broken.facts, *(fact_at("generated at", broken.use) if tokenized else ())),
        why="A decoder-only model predicts from the last position of a row. With padding on the"
        " right that is a padding token; with padding on the left it is the end of the prompt.",
        remedies=tuple(ways(broken, case, tokenized)) or (Fix(ADVICE),),
    )


def tokenizer_call(broken: ContinuedAfterPadding, case: Case) -> Expression | None:
    """The call in the same function that pads what `generate` is given."""
    source = case.source(broken.use.place)
    line = broken.use.place.line
    statement = source.statement_at(line) if source is not None and line else None
    if source is None or statement is None:
        return None
    for call in calls_within(statement, "generate"):
        for name in list(nodes_within(call, ast.Name)):
            padding = padding_call(source, name)
            if padding is not None:
                return case.expression(source, padding)
    within = [
        node for node in nodes_within(source.scope_of(statement), ast.Call) if pads(source, node)
    ]
    return case.expression(source, within[0]) if len(within) == 1 else None


def padding_call(source: Source, name: ast.Name) -> ast.Call | None:
    """`tokenizer(texts, padding=True)` that a name gets, also with `.to(device)` after it."""
    for bound in source.bound_by(name):
        value = bound.value if isinstance(bound, ast.Assign | ast.AnnAssign) else None
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Call) and pads(source, node):
                return node
    return None


def pads(source: Source, call: ast.Call) -> bool:
    option = source.argument(call, "padding")
    return option is not None and ast.unparse(option) not in ("False", "'do_not_pad'")


def ways(
    broken: ContinuedAfterPadding, case: Case, tokenized: Expression | None
) -> Iterator[Remedy]:
    must = law_holds(broken, changes_the_past=False)
    source, call = call_at(case, tokenized)
    if source is not None and call is not None:
        if called(call) not in ("pad", "apply_chat_template"):
            yield SetArgument(
                at=tokenized,
                name="padding_side",
                value=LEFT,
                words=f"Pad these prompts on the left: {code(f'padding_side={LEFT}')}.",
                must=must,
            )
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if dotted(owner):
            text = f"{dotted(owner)}.padding_side = {LEFT}"
            yield Insert(
                at=case.expression(source, call),
                where="before",
                text=text,
                words=f"From here on pad on the left: {code(text)}.",
                must=must,
                choice=True,
            )
        return
    for created in tokenizers(case):
        yield SetArgument(
            at=created,
            name="padding_side",
            value=LEFT,
            words="Pad on the left wherever this tokenizer pads, in training too.",
            must=law_holds(broken),
            choice=True,
        )


def tokenizers(case: Case) -> Iterator[Expression]:
    """Calls that create or load a tokenizer."""
    for source, call in case.recording.every(ast.Call):
        name = dotted(call.func)
        loads = name.endswith(".from_pretrained") and "Tokenizer" in name
        if loads or called(call).endswith("TokenizerFast"):
            yield case.expression(source, call)
