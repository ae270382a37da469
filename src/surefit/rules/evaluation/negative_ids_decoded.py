"""Labels or predictions that still contain -100 are handed to the tokenizer to be decoded.

## What happens
-100 marks the places that a loss ignores: collators pad labels with it, and the Trainer pads
predictions and labels of several batches with it before it gives them to `compute_metrics`. It is
no token, and a tokenizer cannot make text of it: it raises an `OverflowError`, a `TypeError` or an
`IndexError`, by its kind and version, and names no id.

## Why it matters
It comes at the first evaluation, after all the training before it.

## What to do
Put the pad token in its place first: `np.where(labels != -100, labels, tokenizer.pad_token_id)`,
for labels and for predictions, and decode with `skip_special_tokens=True`.

## How it is recognised
A tokenizer's `decode`, `batch_decode` or `convert_ids_to_tokens` failed, and there are numbers
below zero among the ids that it was given.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.decoded import NothingNegativeDecoded
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, spoken
from surefit.evidence.decoded_ids import Decoding, decoding_of, other_decodings
from surefit.source.edits import replaced, with_import
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

RULE = Rule(
    "SF502",
    "negative-ids-decoded",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"OverflowError: (out of range integral|number too small|can't convert negative)"
            r"|TypeError: argument 'ids'|IndexError",
            "whether labels or predictions contain -100 when they are decoded",
            r"tokenization_\w+\.py:\w*decode|tokenization_\w+\.py:convert_ids_to_tokens",
        ),
    ),
)

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Negatives:
    """Numbers below zero among ids."""

    below: int
    elements: int
    first: list[int]
    greatest: int
    kind: str
    pad: int | None = None
    eos: int | None = None


@RULE.on(Crash)
def negative_ids_were_decoded(crash: Crash, seen: Recording) -> Iterator[Finding]:
    decoding = decoding_of(crash, seen) if is_cause(crash, seen) else None
    found = negatives(crash, decoding, decoding.ids, seen) if decoding else None
    if decoding is None or found is None or not found.below:
        return
    yield RULE.finding(
        decoding.frame.place,
        headline(decoding, found),
        facts=tuple(facts(decoding, found, crash)),
        why=why(found, crash),
        fixes=tuple(fixes(crash, decoding, found, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def negatives(crash: Crash, decoding: Decoding, ids: ast.expr, seen: Recording) -> Negatives | None:
    at = crash.frames.index(decoding.frame)
    about = {"frame": at, "text": ast.unparse(ids), "tokenizer": decoding.tokenizer}
    said = seen.ask(Question("negative-numbers", crash.id, about))
    return msgspec.convert(said, Negatives, strict=False) if said else None


def headline(decoding: Decoding, found: Negatives) -> str:
    marker = ", the mark of places that the loss ignores" if found.first == [IGNORED] else ""
    return (
        f"`{decoding.text}` still contains {listed(found.first)}{marker}, and the tokenizer cannot"
        " decode a negative id."
    )


def facts(decoding: Decoding, found: Negatives, crash: Crash) -> Iterator[Fact]:
    shape = decoding.value.shape if decoding.value else None
    of = f"{counted(found.elements, 'id')}" + (f", {tuple(shape)}" if shape else "")
    yield Fact(code(decoding.text), f"{of}, up to {found.greatest}")
    yield Fact("negative", f"{counted(found.below, 'id')}: {listed(found.first)}")
    if found.pad is not None:
        yield Fact(f"`{decoding.tokenizer}.pad_token_id`", str(found.pad))
    if by_trainer(crash):
        yield Fact("padded by", "the collator (labels) and the Trainer (batches of other widths)")


def by_trainer(crash: Crash) -> bool:
    return any(
        frame.function.endswith("evaluation_loop") and not frame.own for frame in crash.frames
    )


def why(found: Negatives, crash: Crash) -> str:
    if found.first != [IGNORED]:
        return "Tokens are numbered from 0; a negative number marks a place without one."
    said = "Labels are padded with -100 so that the loss passes over those places"
    if by_trainer(crash):
        return f"{said}; the Trainer hands them on as they are, and pads predictions likewise."
    return f"{said}; they reach the tokenizer as they are."


def fixes(crash: Crash, decoding: Decoding, found: Negatives, seen: Recording) -> Iterator[Fix]:
    pad, number = filler(decoding, found)
    changed: list[str] = []
    edit: Edit | None = None
    for call, ids in sorted(other_decodings(decoding), key=lambda one: one[0].lineno):
        new = instead(crash, decoding, call, ids, found, pad, seen)
        if new is not None:
            change = replaced(decoding.source, ids, new)
            edit = both(edit, change) if edit else change
            changed.append(" ".join(decoding.source.segment(ids).split()))
    if edit is None or decoding.text not in changed:
        yield Fix(
            f"Replace {listed(found.first)} before decoding: `np.where(ids != -100, ids,"
            " tokenizer.pad_token_id)`.",
            why_not_tried="the ids have no name at this line",
        )
        return
    if f"{numpy_in(decoding.source)}.where" in "".join(one.text for one in edit.changes):
        edit = with_numpy(edit, decoding.source)
    yield Fix(
        f"Put {pad_words(pad)} in the place of {listed(found.first)} before decoding"
        f" {spoken(dict.fromkeys(map(code, changed)))}.",
        edit,
        NothingNegativeDecoded(max(found.greatest, number)),
    )


def filler(decoding: Decoding, found: Negatives) -> tuple[str | None, int]:
    """What stands for a token that is none: the pad token, or else the one that ends a text."""
    if found.pad is not None:
        return f"{decoding.tokenizer}.pad_token_id", found.pad
    if found.eos is not None:
        return f"{decoding.tokenizer}.eos_token_id", found.eos
    return None, 0


def pad_words(pad: str | None) -> str:
    return f"`{pad}`" if pad else "nothing"


def instead(
    crash: Crash,
    decoding: Decoding,
    call: ast.Call,
    ids: ast.expr,
    found: Negatives,
    pad: str | None,
    seen: Recording,
) -> str | None:
    """Other ids for one call: where they are seen to be negative, or the Trainer can pad them."""
    if not isinstance(ids, ast.Name | ast.Attribute | ast.Subscript):
        return None
    here = found if call is decoding.call else negatives(crash, decoding, ids, seen)
    if here is None or not (here.below or by_trainer(crash)):
        return None
    text = " ".join(decoding.source.segment(ids).split())
    only = here.first in ([IGNORED], [])
    if here.kind == "list":
        return f"[one for one in {text} if one {'!= -100' if only else '>= 0'}]"
    if here.kind == "lists":
        test = "!= -100" if only else ">= 0"
        return f"[[one for one in row if one {test}] for row in {text}]"
    if pad is None:
        return None
    if here.kind == "tensor":
        return f"{text}.masked_fill({text} {'== -100' if only else '< 0'}, {pad})"
    test = f"{text} != -100" if only else f"{text} >= 0"
    return f"{numpy_in(decoding.source)}.where({test}, {text}, {pad})"


def numpy_in(source: Source) -> str:
    """What the file calls NumPy."""
    for statement in source.every(ast.Import):
        for one in statement.names:
            if one.name == "numpy":
                return one.asname or one.name
    return "np"


def with_numpy(edit: Edit, source: Source) -> Edit:
    imported = any(
        one.name == "numpy" for statement in source.every(ast.Import) for one in statement.names
    )
    return edit if imported else with_import(edit, source, "numpy as np", None)
