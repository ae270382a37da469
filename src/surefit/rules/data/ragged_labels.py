"""Label rows of different lengths reach a collator that does not pad labels.

## What happens
A tensor cannot have rows of different lengths. The tokenizer pads the columns that it made itself
(`input_ids`, `attention_mask`); a `labels` column passes through as it came. Python says `expected
sequence of length 512 at dim 1 (got 468)`, or advises truncation and padding, which were not it.

## Why it matters
It can wait for hours: a batch whose rows happen to be equally long goes through. And a padded
tokenization only hides it: `DataCollatorForLanguageModeling` then puts a copy of `input_ids` in the
place of your labels without a word.

## What to do
Use a collator that pads `labels` with -100, the value that cross entropy ignores. Copying the lists
changes nothing, in whatever way they are copied: a copy is as long as the list.

## How it is recognised
The rows that the failing collator was given have `labels` of several lengths, and `labels` is not
among the columns that this collator pads. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.labels import LabelsArrive, LabelsReachModel
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, listed, spoken
from surefit.evidence.handed_collators import Handed, handed
from surefit.evidence.padding_edits import fillings, is_at, padded_instead, stacks
from surefit.evidence.ragged_columns import ragged_columns
from surefit.source.edits import argument_added, call_becomes, with_import
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF201",
    "ragged-labels",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"expected sequence of length \d+ at dim \d+ \(got \d+\)"
            r"|Unable to create tensor, you should|setting an array element with a sequence",
            "whether `labels` of the failing batch have several lengths, and whether its collator"
            " pads `labels`",
        ),
    ),
)

LABELS = "labels"
PADS_LABELS = "DataCollatorForSeq2Seq"
PADS_FIRST = "with_padded_labels"
PADS_CLASSES = "DataCollatorForTokenClassification"
LANGUAGE_MODELING = "DataCollatorForLanguageModeling"
TAKE_A_TOKENIZER = (LANGUAGE_MODELING, "DataCollatorWithPadding")
KEEP = ("tokenizer", "padding", "max_length", "pad_to_multiple_of", "return_tensors")
ALSO_PADDED = ("attention_mask", "token_type_ids", "special_tokens_mask")
"""Columns that `tokenizer.pad` knows, whether or not the model wants them."""
PADDED = """\
    longest = max(len(row["labels"]) for row in rows)
    gaps = [[-100] * (longest - len(row["labels"])) for row in rows]
    padded = [{{**row, "labels": row["labels"] + gap}} for row, gap in zip(rows, gaps)]
    return {collator}(padded)"""


@RULE.on(Crash)
def labels_could_not_be_stacked(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or not is_cause(crash, seen):
        return
    ragged = unpadded(collator)
    if LABELS not in ragged or str_columns(collator) or not is_about_labels(crash, collator):
        return
    if len(ragged) > 1 and not collator.own and not collator.pads:
        return  # nothing is padded at all: see ragged-rows
    source = seen.source(collator.made_at)
    call = constructor(source, collator) if source else None
    given = handed(seen, collator.kind) if not collator.own and collator.made_at is None else None
    place = given.place if given else place_of(crash, collator, call)
    if place is None:
        return
    lengths = collator.lengths[LABELS]
    yield RULE.finding(
        place,
        headline(crash, collator, lengths),
        facts=tuple(facts(collator, lengths, ragged)),
        ruled_out=(copying(collator),),
        why=why(collator),
        fixes=tuple(fixes(crash, collator, source, call, ragged, seen)),
        python_said=first_said(crash),
        about=crash.id,
    )


def unpadded(collator: CollatorSeen) -> list[str]:
    """Columns of several lengths that this collator passes on as they are."""
    pads = () if collator.own or not collator.pads else (*collator.pads, *ALSO_PADDED)
    return [
        column
        for column, lengths in collator.lengths.items()
        if len(set(lengths)) > 1 and column not in pads and "str" not in collator.kinds[column]
    ]


def str_columns(collator: CollatorSeen) -> list[str]:
    """Text, of which no tensor can be made either, and first of all."""
    return [column for column, kinds in collator.kinds.items() if "str" in kinds]


def is_about_labels(crash: Crash, collator: CollatorSeen) -> bool:
    """A function of the user's can fail for many reasons: its failing line must name the column,
    or have handed the rows to `tokenizer.pad`."""
    frame = crash.own_frame
    if not collator.own or frame is None:
        return not collator.own
    padded = any(one.function.endswith(".pad") for one in crash.frames)
    return padded or LABELS in (frame.expression or frame.line)


def headline(crash: Crash, collator: CollatorSeen, lengths: tuple[int, ...]) -> str:
    name, what = subject(crash, collator)
    different = f"{len(set(lengths))} different lengths"
    rows = counted(collator.rows, "row")
    return f"`{name}` {what}, and the {rows} of this batch have `labels` of {different}."


def subject(crash: Crash, collator: CollatorSeen) -> tuple[str, str]:
    """What does not pad, and what it does not pad."""
    frame = crash.own_frame
    if collator.own and frame is not None and frame.expression:
        return " ".join(frame.expression.split()), "does not pad `labels`"
    return collator.kind, "does not pad `labels`" if collator.pads else "pads no column"


def facts(collator: CollatorSeen, lengths: tuple[int, ...], ragged: list[str]) -> Iterator[Fact]:
    if collator.pads and not collator.own:
        yield Fact("it pads", ", ".join(collator.pads))
    yield Fact("lengths of `labels`", listed(lengths))
    real, longest = sum(lengths), max(lengths)
    places = longest * len(lengths) - real
    yield Fact("places to fill", f"{places:,}, beside {counted(real, 'real label')}")
    others = [column for column in ragged if column != LABELS]
    if others and collator.pads and not collator.own:
        yield Fact("nor does it pad", spoken(f"`{column}`" for column in others))


def copying(collator: CollatorSeen) -> Fact:
    """A copy is as long as the list; where nothing is shared, there is nothing to copy."""
    if collator.shared == 0:
        return Fact("shared rows", "no two rows share a list; a copy changes nothing")
    shared = counted(collator.shared, "list")
    return Fact("shared rows", f"{shared} of these rows are shared, and a copy is just as long")


def why(collator: CollatorSeen) -> str:
    if collator.own or not collator.pads:
        return "A tensor needs rows of one length, and nothing here makes them so."
    said = "`labels` came from your dataset; the tokenizer pads only what it made itself."
    if collator.kind == LANGUAGE_MODELING:
        said += (
            f" And `{LANGUAGE_MODELING}` makes labels of its own from `input_ids`: yours would"
            " be lost even if they were all of one length."
        )
    return said


def first_said(crash: Crash) -> str:
    """The first exception of a chain says what happened; later ones advise."""
    return crash.chain[0].said if crash.chain else crash.said


def constructor(source: Source, collator: CollatorSeen) -> ast.Call | None:
    """The call at the collator's line that makes it, or that makes a Trainer which does."""
    line = collator.made_at.line if collator.made_at else None
    calls = list(source.calls_in(line)) if line else []
    makes = [call for call in calls if names_of(source, call) & {collator.kind}]
    trains = [call for call in calls if called(call).endswith("Trainer")]
    return next(iter(makes or trains), None)


def names_of(source: Source, call: ast.Call) -> set[str]:
    """As written, and as imported."""
    return {called(call), source.imported(call.func).rpartition(".")[2]}


def place_of(crash: Crash, collator: CollatorSeen, call: ast.Call | None) -> Place | None:
    """Where the collator was chosen; for a function of the user's, its line that failed."""
    frame = crash.own_frame
    if collator.own:
        return frame.place if frame else collator.made_at
    if collator.made_at is None:
        return collator.chosen_at or (frame.place if frame else None)
    if call is None or call.end_lineno == collator.made_at.line:
        return collator.made_at
    return Place(collator.made_at.file, call.lineno, call.end_lineno)


def fixes(
    crash: Crash,
    collator: CollatorSeen,
    source: Source | None,
    call: ast.Call | None,
    ragged: list[str],
    seen: Recording,
) -> Iterator[Fix]:
    if collator.own:
        yield own_fix(crash, collator, seen)
        return
    if len(ragged) > 1 and collator.pads:
        yield Fix(
            f"Take out {spoken(f'`{one}`' for one in ragged if one != LABELS)} or pad it in a"
            f" collator of your own; for `labels` use `{PADS_LABELS}`.",
            why_not_tried="what padding means in a column of yours only you know",
        )
        return
    if masks_tokens(source, call, collator):
        yield from choices()
        return
    given = handed(seen, collator.kind) if collator.made_at is None else None
    if given is not None and collator.tokenizer is None:
        yield padded_before(given, collator)
        return
    better = PADS_CLASSES if labels_tokens(collator, seen) else PADS_LABELS
    edit = change(source, call, collator, better) if source and call else None
    yield Fix(
        f"Use `{better}`, which pads `labels` too, with -100.",
        edit,
        condition(crash, collator, better, seen) if edit else None,
        "" if edit else "the call that chose the collator was not found in your source",
    )


def padded_before(given: Handed, collator: CollatorSeen) -> Fix:
    """Without a tokenizer, which the collators that pad labels need."""
    body = PADDED.format(collator=given.name.id)
    lists = collator.kinds.get(LABELS) == ("list",)
    edit = given.behind(PADS_FIRST, body) if lists else None
    expected = collator.supervised.get(LABELS, sum(collator.lengths[LABELS]))
    return Fix(
        f"Pad `labels` with -100 before `{given.name.id}` gets the rows; `{PADS_LABELS}` would do"
        " the same, and needs a tokenizer.",
        edit,
        LabelsReachModel(expected, collator.rows) if edit else None,
        "" if edit else "how labels that are no lists are padded only you know",
    )


def own_fix(crash: Crash, collator: CollatorSeen, seen: Recording) -> Fix:
    """In a collator of the user's: the calls that make tensors of ragged columns pad them."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    calls = stacks(source, frame, ragged_columns(collator)) if source and frame else []
    if source is None or frame is None or not any(is_at(source, one, frame) for one, _ in calls):
        return Fix(
            "Pad `labels` with -100 before they become a tensor, or use"
            f" `{PADS_LABELS}(tokenizer)`, which does.",
            why_not_tried="the collator is your own code, and how its parts belong together only"
            " you know",
        )
    edit = padded_instead(source, *calls[0])
    for call, column in calls[1:]:
        edit = both(edit, padded_instead(source, call, column))
    columns = [column for _, column in calls]
    expected = collator.supervised.get(LABELS, sum(collator.lengths[LABELS]))
    return Fix(
        "Fill the rows up to the longest with `pad_sequence(..., batch_first=True)`:"
        f" {fillings(source, columns)}.",
        edit,
        LabelsReachModel(expected, collator.rows),
    )


def condition(crash: Crash, collator: CollatorSeen, better: str, seen: Recording) -> Condition:
    expected = collator.supervised.get(LABELS, sum(collator.lengths[LABELS]))
    in_a_run = LabelsReachModel(expected, collator.rows)
    if crash.swallowed:
        return in_a_run
    asked = Question("collate", crash.id, {"kind": better, "expected": expected})
    seen.ask(asked)
    return LabelsArrive(in_a_run, ReExecuted(asked, f"the labels that `{better}` makes of them"))


def masks_tokens(source: Source | None, call: ast.Call | None, collator: CollatorSeen) -> bool:
    """Masked language modelling: its labels are the tokens that it masks, never yours."""
    if collator.kind != LANGUAGE_MODELING or source is None or call is None:
        return False
    if collator.kind not in names_of(source, call):
        return False
    given = source.argument(call, "mlm", 1)
    return not (isinstance(given, ast.Constant) and given.value is False)


def choices() -> Iterator[Fix]:
    why_not = "only you know which labels are meant"
    yield Fix(
        "If the model shall guess masked tokens, do not make `labels`: this collator makes them.",
        why_not_tried=why_not,
    )
    yield Fix(
        f"If it shall learn your `labels`, use `{PADS_LABELS}`, which pads them with -100.",
        why_not_tried=why_not,
    )


def labels_tokens(collator: CollatorSeen, seen: Recording) -> bool:
    """Each token has a label of its own, and the script trains a classifier of tokens."""
    same = collator.lengths.get("input_ids") == collator.lengths[LABELS]
    return same and any("ForTokenClassification" in script.text for script in seen.all(Script))


def change(source: Source, call: ast.Call, collator: CollatorSeen, better: str) -> Edit | None:
    """The collator's constructor becomes another; one that a Trainer chose is given to it."""
    names = names_of(source, call)
    if collator.kind in TAKE_A_TOKENIZER and collator.kind in names:
        return call_becomes(source, call, better, "transformers", keep=KEEP)
    tokenizer = source.argument(call, "processing_class") or source.argument(call, "tokenizer")
    if tokenizer is None or not called(call).endswith("Trainer"):
        return None
    edit = argument_added(source, call, "data_collator", f"{better}({source.segment(tokenizer)})")
    return with_import(edit, source, "transformers", better)
