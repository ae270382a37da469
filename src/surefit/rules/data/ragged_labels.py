"""Label rows of different lengths reach a collator that does not pad labels.

## What happens
A tensor cannot have rows of different lengths. The tokenizer pads the columns that it created; a
`labels` column is passed on as it is. Python says `expected sequence of length 512 at dim 1 (got
468)`, or suggests truncation and padding; neither is the cause.

## Why it matters
A batch whose rows happen to be equally long works, for hours. Padding in the tokenizer only hides
it: `DataCollatorForLanguageModeling` then silently replaces your labels by a copy of `input_ids`.

## What to do
Use a collator that pads `labels` with -100, the value that cross entropy ignores. Copying the lists
changes nothing: a copy is as long as the list.

## How it is recognised
The rows that the failing collator was given have `labels` of several lengths, and `labels` is not
among the columns that this collator pads.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.labels import LabelsArrive, LabelsReachModel
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Question
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import code, counted, listed, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import RowColumn, UnequalLengths
from surefit.laws.rows.collators import (
    KEEP,
    LANGUAGE_MODELING,
    SEQ2SEQ,
    TAKE_A_TOKENIZER,
    TOKEN_CLASSES,
    constructor_of,
    handed_over,
    names_of,
)
from surefit.remedies.arguments import call_at
from surefit.remedies.collators import GiveCollator, GiveFunction
from surefit.remedies.padding import PadWhereStacked, fillings
from surefit.remedies.replace import ReplaceCallee

SYMPTOM = Symptom(
    r"expected sequence of length \d+ at dim \d+ \(got \d+\)"
    r"|Unable to create tensor, you should|setting an array element with a sequence",
    "whether `labels` of the failing batch have several lengths, and whether its collator"
    " pads `labels`",
)
RULE = Rule("SF201", "ragged-labels", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

PADS_FIRST = "with_padded_labels"
PADDED = """\
def with_padded_labels(rows):
    longest = max(len(row["labels"]) for row in rows)
    gaps = [[-100] * (longest - len(row["labels"])) for row in rows]
    padded = [{{**row, "labels": row["labels"] + gap}} for row, gap in zip(rows, gaps)]
    return {collator}(padded)"""


@RULE.on(UnequalLengths)
def labels_cannot_be_stacked(broken: UnequalLengths, case: Case) -> Finding | None:
    labels = next((column for column in broken.wrong if column.name == "labels"), None)
    if labels is None or broken.collator is None or not labels.lengths:
        return None
    if len(broken.wrong) > 1 and not broken.pads and not broken.own:
        return None  # nothing is padded at all: see ragged-rows
    if broken.own and broken.calls and broken.calls[0][1] is not labels:
        return None
    chosen = chosen_at(broken, case)
    by = chosen.text if broken.own and chosen is broken.use else broken.by
    pads = "does not pad `labels`" if broken.own or broken.pads else "pads no column"
    real, places = sum(labels.lengths), max(labels.lengths) * broken.rows
    others = spoken(column.words for column in broken.wrong if column is not labels)
    facts = (
        Fact("it pads", ", ".join(broken.pads)),
        Fact("lengths of `labels`", listed(labels.lengths)),
        Fact("positions to pad", f"{places - real:,}, beside {counted(real, 'real label')}"),
        Fact("nor does it pad", others if broken.pads else ""),
    )
    return case.finding(
        chosen.place,
        f"{code(by)} {pads}, and the {counted(broken.rows, 'row')} of this batch have `labels` of"
        f" {len(set(labels.lengths))} different lengths.",
        facts=(fact for fact in facts if fact.value),
        ruled_out=(Fact("shared rows", copying(broken.collator.shared)),),
        why=why(broken),
        remedies=remedies(broken, labels, chosen, case, others),
    )


def chosen_at(broken: UnequalLengths, case: Case) -> Written:
    """Where the collator was chosen; for a function of the user's, its line that failed."""
    assert broken.collator is not None
    if broken.own:
        return broken.calls[0][0] if broken.calls else broken.use
    find = handed_over if broken.collator.made_at is None else constructor_of
    return find(case, broken.collator) or broken.use


def copying(shared: int) -> str:
    if shared == 0:
        return "no two rows share a list; a copy changes nothing"
    return f"{counted(shared, 'list')} of these rows are shared, and a copy is just as long"


def why(broken: UnequalLengths) -> str:
    if not broken.pads:
        return "A tensor needs rows of one length, and nothing here pads them."
    said = "`labels` comes from your dataset; the tokenizer pads only the columns it created."
    if broken.by != LANGUAGE_MODELING:
        return said
    return (
        f"{said} And `{LANGUAGE_MODELING}` makes labels of its own from `input_ids`: yours would be"
        " lost even if they were all of one length."
    )


def remedies(
    broken: UnequalLengths, labels: RowColumn, chosen: Written, case: Case, others: str
) -> Iterator[Remedy | Fix]:
    assert broken.collator is not None
    expected = labels.supervised if labels.supervised is not None else sum(labels.lengths)
    must = LabelsReachModel(expected, broken.rows)
    source, call = call_at(case, chosen)
    if broken.own and source is not None and broken.calls:
        said = fillings(source, [column for _, column in broken.calls])
        yield PadWhereStacked(calls=broken.calls, must=must, fillings=said)
        return
    if broken.own:
        text = f"Pad `labels` with -100 before they become a tensor, or use `{SEQ2SEQ}(tokenizer)`"
        yield Fix(f"{text}, which does.", choice=True)
        return
    if others and broken.pads:
        text = f"Take out {others} or pad it in a collator of your own; for `labels` use"
        yield Fix(f"{text} `{SEQ2SEQ}`.", choice=True)
        return
    mlm = source.argument(call, "mlm", 1) if source and call else None
    masks = call is not None and broken.by == LANGUAGE_MODELING and not is_false(mlm)
    if masks:  # its labels are the tokens that it masks, never yours
        text = "If the model should predict masked tokens, do not create `labels`: this collator"
        yield Fix(f"{text} does.", choice=True)
    if broken.collator.tokenizer is None:
        yield GiveFunction(
            at=handed_over(case, broken.collator) if labels.kinds == ("list",) else None,
            name=PADS_FIRST,
            text=PADDED.format(collator=broken.by),
            words=f"Pad `labels` with -100 before {code(broken.by)} gets the rows.",
            must=must,
        )
        return
    better = TOKEN_CLASSES if labels_tokens(broken, labels, case) else SEQ2SEQ
    words = f"Use `{better}`, which pads `labels` too, with -100."
    arrive = condition(case, must, better)
    if broken.by in TAKE_A_TOKENIZER and call and source and broken.by in names_of(source, call):
        module = "transformers"
        yield ReplaceCallee(
            at=chosen, name=better, module=module, words=words, keep=KEEP, must=arrive, choice=masks
        )
    else:
        yield GiveCollator(at=chosen, name=better, words=words, must=arrive)


def is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def condition(case: Case, must: LabelsReachModel, better: str) -> Condition:
    """Where the model is not given labels, what the other collator makes of the very rows."""
    if case.crash is None or case.crash.swallowed:
        return must
    asked = Question("collate", case.crash.id, {"kind": better, "expected": must.expected})
    case.recording.ask(asked)
    return LabelsArrive(must, ReExecuted(asked, f"the labels that `{better}` makes of them"))


def labels_tokens(broken: UnequalLengths, labels: RowColumn, case: Case) -> bool:
    """Each token has a label of its own, and the script trains a classifier of tokens."""
    ids = next((column for column in broken.columns if column.name == "input_ids"), None)
    same = ids is not None and ids.shapes == labels.shapes
    return same and any(
        "ForTokenClassification" in source.text for source in case.recording.sources()
    )
