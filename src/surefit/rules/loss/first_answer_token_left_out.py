"""Log-probabilities are sliced one position too late: the first answer token is never scored.

## What happens
`logp = log_softmax(logits[:, :-1]).gather(-1, ids[:, 1:, None])` is shifted by one: `logp[:, i]` is
about token i + 1. `logp[:, prompt_len:]` begins with token prompt_len + 1, and the first token of
the answer, at prompt_len, is skipped.

## Why it matters
Nothing is raised. Where an answer is one token and an end token, only the end token is learned: the
loss falls to 0 while the answers stay at chance.

## What to do
Begin one position earlier: `logp[:, prompt_len - 1:]`.

## How it is recognised
The gradient says which tokens of each row count. Either all of them are one and the same token,
while other tokens of the rows do not count; or the first stands one position after the length of
the prompt that a variable such as `prompt_len` holds, in rows that do not begin with one token.
"""

import ast
import re
from collections.abc import Iterator

from surefit.doctor.conditions.next_tokens import ScoredFrom
from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.losses.token_targets import FirstAnswerTokenLeftOut, OfTokens, OneKindScored
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.reading import Source, dotted

RULE = Rule("SF425", "first-answer-token-left-out", Severity.ERROR, __doc__)

LENGTH = re.compile(
    r"(?i)(prompt|source|src|question|query|instruction|context)s?_?(len|length|size)"
)


@RULE.on(OneKindScored)
def only_one_token_is_scored(broken: OneKindScored, case: Case) -> Finding | None:
    site = broken.site
    return sliced_late(
        broken,
        case,
        f"only the token {site.constant} is scored, {site.scored:,} times, and"
        f" {site.others:,} other tokens of the rows are not",
    )


@RULE.on(FirstAnswerTokenLeftOut)
def first_answer_token_is_not_scored(broken: FirstAnswerTokenLeftOut, case: Case) -> Finding | None:
    first = broken.site.lengths[broken.length]
    return sliced_late(
        broken,
        case,
        f"the prompt has {first} tokens, and the first token that is scored stands at {first + 1}",
    )


def sliced_late(broken: OfTokens, case: Case, seen: str) -> Finding | None:
    site = broken.site
    found = [pair for source in case.recording.sources() for pair in late_slices(source)]
    if len(found) != 1 or site.first_scored is None:
        return None
    source, bound = found[0]
    text = source.segment(bound)
    first = site.first_scored[0]
    return case.finding(
        Place(source.file, bound.lineno, bound.end_lineno),
        f"The slice from {code(text)} is off by one: the first answer token is skipped and never"
        f" scored; {seen}.",
        facts=broken.facts,
        why="Log-probabilities of the next token are shifted by one position: index i is about"
        f" token i + 1, so that token {code(text)} stands at {code(text + ' - 1')}.",
        remedies=(
            Change(
                to=replaced(source, bound, f"{text} - 1"),
                words=f"Begin one position earlier, at {code(text + ' - 1')}.",
                must=ScoredFrom(position=first - 1),
            ),
        ),
    )


def late_slices(source: Source) -> Iterator[tuple[Source, ast.expr]]:
    """Lower bounds of slices `[:, prompt_len:]` in functions that pick log-probabilities."""
    for node in source.every(ast.Slice):
        bound = node.lower
        if bound is None or node.upper is not None or not LENGTH.search(dotted(bound)):
            continue
        if picks(source, source.scope_of(node)) and is_read(source, node):
            yield source, bound


def picks(source: Source, scope: ast.AST) -> bool:
    inside = source.every(ast.Attribute) if isinstance(scope, ast.Module) else ast.walk(scope)
    return any(isinstance(node, ast.Attribute) and node.attr == "gather" for node in inside)


def is_read(source: Source, node: ast.Slice) -> bool:
    """Not of the ids themselves, which are not shifted."""
    subscript = next(outer for outer in source.up(node) if isinstance(outer, ast.Subscript))
    return "ids" not in dotted(subscript.value).lower()
