"""Labels or predictions that still contain -100 are handed to the tokenizer to be decoded.

## What happens
-100 marks the positions that a loss ignores: collators pad labels with it, and the Trainer pads
predictions and labels of several batches with it before it gives them to `compute_metrics`. It is
no token, and a tokenizer cannot decode it: it raises an `OverflowError`, a `TypeError` or an
`IndexError`, depending on its type and version, and names no id.

## Why it matters
It fails at the first evaluation, after all the training before it.

## What to do
Put the pad token in its place first: `np.where(labels != -100, labels, tokenizer.pad_token_id)`,
for labels and for predictions, and decode with `skip_special_tokens=True`.

## How it is recognised
A tokenizer's `decode`, `batch_decode` or `convert_ids_to_tokens` failed, and there are numbers
below zero among the ids that it was given.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.decoded import NothingNegativeDecoded
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted, listed, shape_of, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.decoding import NegativeIds, Negatives
from surefit.lineage.properties import contains
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.together import Together
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"OverflowError: (out of range integral|number too small|can't convert negative)"
    r"|TypeError: argument 'ids'|IndexError",
    "whether labels or predictions contain -100 when they are decoded",
    r"tokenization_\w+\.py:\w*decode|tokenization_\w+\.py:convert_ids_to_tokens",
)
RULE = Rule("SF502", "negative-ids-decoded", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
IGNORED = -100
NAMED = ast.Name | ast.Attribute | ast.Subscript


@RULE.on(NegativeIds)
def negative_ids_were_decoded(broken: NegativeIds, case: Case) -> Finding:
    only = broken.negatives.first == [IGNORED]
    marker = ", the marker of positions that the loss ignores" if only else ""
    return case.finding(
        broken.use.place,
        f"{broken.ids.name} still contains {listed(broken.negatives.first)}{marker}, and the"
        " tokenizer cannot decode a negative id.",
        facts=facts(broken, case),
        why=why(broken, case),
        remedies=(replaced_before(broken, case),),
    )


def facts(broken: NegativeIds, case: Case) -> Iterator[Fact]:
    negatives = broken.negatives
    shape = f", {shape_of(broken.ids.shape)}" if broken.ids.shape else ""
    words = f"{counted(negatives.elements, 'id')}{shape}, up to {negatives.greatest}"
    yield Fact(broken.ids.name, words)
    yield Fact("negative", f"{counted(negatives.below, 'id')}: {listed(negatives.first)}")
    if negatives.pad is not None:
        yield Fact(f"`{broken.tokenizer}.pad_token_id`", str(negatives.pad))
    if by_trainer(case):
        yield Fact("padded by", "the collator (labels) and the Trainer (batches of other widths)")
    else:
        birth = case.lineage(broken.ids).birth(of=contains(negatives.first[0]))
        if birth is not None and birth.value.scalar == negatives.first[0]:
            yield from fact_at("written at", birth)


def by_trainer(case: Case) -> bool:
    outer = [frame.function for frame in case.frames if not frame.own]
    return any(function.endswith("evaluation_loop") for function in outer)


def why(broken: NegativeIds, case: Case) -> str:
    if broken.negatives.first != [IGNORED]:
        return "Tokens are numbered from 0; a negative number marks a position without one."
    end = "they reach the tokenizer as they are."
    if by_trainer(case):
        end = "the Trainer hands them on as they are, and pads predictions likewise."
    return f"Labels are padded with -100 so that the loss ignores those positions; {end}"


def replaced_before(broken: NegativeIds, case: Case) -> Remedy | Fix:
    """In every call of the function whose ids are negative, too, or that the Trainer can pad."""
    negatives, source, (pad, number) = broken.negatives, case.source(broken.use), filler(broken)
    parts: list[ReplaceWith] = []
    for ids, known in broken.decoded if source is not None else ():
        new = instead(ids, known, case, pad) if known.below or by_trainer(case) else None
        if new is not None:
            lacks = source is not None and "np.where(" in new and not numpy_in(source)
            imports = ("numpy as np", None) if lacks else None
            parts.append(ReplaceWith(at=ids, text=new, words="", imports=imports))
    numbers, texts = listed(negatives.first), [part.at.text for part in parts if part.at]
    if broken.ids.use is None or broken.ids.use.text not in texts:
        way = "`np.where(ids != -100, ids, tokenizer.pad_token_id)`"
        return Fix(f"Replace {numbers} before decoding: {way}.")
    return Together(
        parts=tuple(parts),
        words=f"Put {code(pad) if pad else 'nothing'} in the place of {numbers} before decoding"
        f" {spoken(dict.fromkeys(map(code, texts)))}.",
        must=NothingNegativeDecoded(max(negatives.greatest, number)),
    )


def filler(broken: NegativeIds) -> tuple[str, int]:
    """What stands for no token: the pad token, or else the one that ends a text."""
    if broken.negatives.pad is not None:
        return f"{broken.tokenizer}.pad_token_id", broken.negatives.pad
    if broken.negatives.eos is not None:
        return f"{broken.tokenizer}.eos_token_id", broken.negatives.eos
    return "", 0


def instead(ids: Expression, known: Negatives, case: Case, pad: str) -> str | None:
    """Other ids, as their type allows."""
    source = case.source(ids)
    if source is None or not isinstance(case.node(ids), NAMED):
        return None
    text, only = ids.text, known.first in ([IGNORED], [])
    keep = "!= -100" if only else ">= 0"
    if known.kind == "list":
        return f"[token for token in {text} if token {keep}]"
    if known.kind == "lists":
        return f"[[token for token in row if token {keep}] for row in {text}]"
    if not pad:
        return None
    if known.kind == "tensor":
        return f"{text}.masked_fill({text} {'== -100' if only else '< 0'}, {pad})"
    return f"{numpy_in(source) or 'np'}.where({text} {keep}, {text}, {pad})"


def numpy_in(source: Source) -> str:
    """What the file calls NumPy; empty where it does not import it."""
    names = [name for statement in source.every(ast.Import) for name in statement.names]
    return next((name.asname or name.name for name in names if name.name == "numpy"), "")
