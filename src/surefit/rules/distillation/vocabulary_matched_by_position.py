"""Logits are compared column by column, and the two tokenizers number tokens differently.

## What happens
A divergence compares column 5,000 of the teacher with column 5,000 of the student. Where the two
have different tokenizers, these are different tokens, also where the widths are equal or were made
equal by cutting or filling.

## Why it matters
Nothing is reported, and the divergence falls: the student learns to give the probability of one
token to another. A teacher that is given the ids of the student's tokenizer reads another text.

## What to do
Take a teacher of the same family, or distil from the teacher's text. Where two tokenizers must be
used, match tokens by their strings and places by their bytes, as losses for different vocabularies
do.

## How it is recognised
Two tokenizers exist in training that have different tokens under at least 1 % of the ids that both
have. One belongs to each of two models: by its name, by what both are loaded from, or by being as
large as that model's output is wide. A divergence is computed from the logits of both, and between
the models and it stands nothing that could reorder columns (an index of ids, `gather`, `sort`,
`topk`, a product of matrices). Tokenizers that only have more tokens at the end are not reported.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.padded_logits import divergences
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import LossCall, Steps, VocabulariesSeen
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.compared_models import Model, compared, made_to_fit, tokenizer_names
from surefit.source.reading import Source

RULE = Rule("SF957", "vocabulary-matched-by-position", Severity.ERROR, __doc__)

LEAST_SHARE = 0.01
FEWEST = 2


@RULE.on(Steps)
def columns_are_different_tokens(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    for pair in steps.vocabularies:
        if pair.differing < max(FEWEST, LEAST_SHARE * pair.shared):
            continue
        for loss in divergences(steps.loss_calls):
            source = seen.source(loss.place)
            models = compared(source, loss, steps, pair) if source else None
            if source is not None and models is not None:
                yield found(source, loss, models, pair)
                return


def found(
    source: Source, loss: LossCall, models: tuple[Model, Model], pair: VocabulariesSeen
) -> Finding:
    student, teacher = models
    assert loss.place is not None
    fitted = made_to_fit(source, loss, models)
    return RULE.finding(
        Place(source.file, fitted.lineno, fitted.end_lineno) if fitted else loss.place,
        f"Column i of `{teacher.name}` is compared with column i of `{student.name}`, and under"
        f" {pair.differing:,} of the {pair.shared:,} ids that both have their tokenizers have"
        " different tokens.",
        facts=tuple(facts(source, models, pair, fitted, loss)),
        why="A divergence knows columns, not tokens: the student is taught to give one token the"
        " probability that the teacher gives another.",
        fixes=(
            Fix(
                "Take a teacher with the student's tokenizer, or distil from text that the teacher"
                " wrote; or match tokens by their strings.",
                choice=True,
            ),
        ),
    )


def facts(
    source: Source,
    models: tuple[Model, Model],
    pair: VocabulariesSeen,
    fitted: ast.expr | None,
    loss: LossCall,
) -> Iterator[Fact]:
    for one in models:
        size, at = pair.sizes[one.tokenizer], pair.made_at[one.tokenizer]
        name = tokenizer_names(source, pair).get(pair.serials[one.tokenizer])
        which = f"`{name}`" if name else f"its tokenizer, created at {at},"
        logits = counted(one.root.width or 0, "logit")
        yield Fact(f"`{one.name}`", f"{logits}; {which} has {counted(size, 'token')}")
    if pair.first is not None:
        student, teacher = (repr(pair.tokens[one.tokenizer]) for one in models)
        shown = f"id {pair.first:,}: {student} and, for the teacher, {teacher}"
        yield Fact("the first that differs", shown)
    if fitted is not None:
        yield Fact("cut or filled", f"{code(source.segment(fitted))} at line {fitted.lineno}")
    given = [source.segment(one.call.args[0]) if one.call.args else "" for one in models]
    if given[0] and given[0] == given[1]:
        yield Fact("what both read", f"{code(given[0])}: the same ids, which are two texts to them")
    if loss.place is not None:
        yield Fact("compared", f"{loss.calls:,} times, at line {loss.place.line}")
