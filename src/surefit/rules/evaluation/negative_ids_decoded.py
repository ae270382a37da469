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

In a script that is only read: the labels that a Trainer hands to `compute_metrics` are decoded as
they came, and the file has a collator or a line that puts -100 into labels.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.conditions.decoded import NothingNegativeDecoded
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, spoken
from surefit.evidence.decoded_ids import Decoding, decoding_of, other_decodings
from surefit.source.definitions import last_binding
from surefit.source.edits import replaced, with_import
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called, dotted

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


ONLY_READ = "the script was read, not run"


PUTS_MINUS_100 = (
    "transformers.DataCollatorForSeq2Seq",
    "transformers.DataCollatorForLanguageModeling",
)


@RULE.on(Script)
def labels_are_decoded_as_they_came(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    if source is None or not puts_marks(source):
        return
    for function in metrics_of(source):
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or called(call) not in ("decode", "batch_decode"):
                continue
            ids = call.args[0] if call.args else None
            if ids is None or not isinstance(call.func, ast.Attribute):
                continue
            if not are_labels(source, ids, function):
                continue
            text, tokenizer = source.segment(ids), source.segment(call.func.value)
            numpy = numpy_in(source)
            new = f"{numpy}.where({text} != {IGNORED}, {text}, {tokenizer}.pad_token_id)"
            yield RULE.finding(
                Place(source.file, call.lineno),
                f"`{text}` still contains -100, the mark of places that the loss ignores, and the"
                " tokenizer cannot decode a negative id.",
                why="Labels are padded with -100 so that the loss passes over those places; a"
                " Trainer hands them to `compute_metrics` as they are.",
                fixes=(
                    Fix(
                        f"Put `{tokenizer}.pad_token_id` in the place of -100 before decoding"
                        f" `{text}`.",
                        with_numpy(replaced(source, ids, new), source),
                        why_not_tried=ONLY_READ,
                    ),
                ),
                severity=Severity.WARNING,
            )


def puts_marks(source: Source) -> bool:
    """Something in the file makes labels -100."""
    written = any(
        isinstance(one.operand, ast.Constant) and one.operand.value == -IGNORED
        for one in source.every(ast.UnaryOp)
        if isinstance(one.op, ast.USub)
    )
    return written or any(True for _ in source.calls_of(*PUTS_MINUS_100))


def metrics_of(source: Source) -> Iterator[ast.FunctionDef]:
    """Functions that a Trainer is given for its metrics."""
    told: set[ast.AST] = set()
    for one in source.every(ast.keyword):
        if one.arg != "compute_metrics" or not isinstance(one.value, ast.Name):
            continue
        for function in source.bound_by(one.value):
            if isinstance(function, ast.FunctionDef) and function not in told:
                told.add(function)
                yield function


def are_labels(source: Source, node: ast.expr, function: ast.FunctionDef) -> bool:
    """The second of what the function is given, unchanged."""
    if not function.args.args:
        return False
    given = function.args.args[0].arg
    if isinstance(node, ast.Attribute):
        return node.attr == "label_ids" and dotted(node.value) == given
    if not isinstance(node, ast.Name) or is_filled(function, node.id):
        return False
    bound = source.bound_by(node)
    last = last_binding(source, bound, source.statement_of(node))
    if not isinstance(last, ast.Assign) or len(last.targets) != 1:
        return False
    target = last.targets[0]
    if isinstance(target, ast.Tuple) and dotted(last.value) == given:
        return len(target.elts) == 2 and dotted(target.elts[1]) == node.id
    return are_labels(source, last.value, function) if isinstance(target, ast.Name) else False


def is_filled(function: ast.FunctionDef, name: str) -> bool:
    """`labels[labels == -100] = pad`."""
    return any(
        isinstance(one, ast.Subscript)
        and not isinstance(one.ctx, ast.Load)
        and dotted(one.value) == name
        for one in ast.walk(function)
    )
