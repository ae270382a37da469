"""Predictions of batches that were padded to different widths are joined.

## What happens
Batches are padded to their own longest row, so that predictions, labels or logits of one batch are
(8, 31) and of the next (8, 40). `np.concatenate` and `torch.cat` join along rows and need the same
width.

## Why it matters
It comes after a whole evaluation, when everything is joined, and not at all if one batch holds all
rows.

## What to do
Pad each to the greatest width first, with -100 for ids and labels, as the Trainer and
`accelerator.pad_across_processes` do, and leave these positions out of the metric; or keep a list.

## How it is recognised
A call that joins a list of tensors or arrays failed, and their shapes differ on one axis that is
not the one they are joined along.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Question
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed, shape_of, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.joining import JoinedList, UnequalWidths
from surefit.remedies.change import Change
from surefit.remedies.statements import assigned_name
from surefit.source.edits import replaced
from surefit.source.patches import all_of
from surefit.source.reading import called

SYMPTOM = Symptom(
    r"except for the concatenation axis must match|Sizes of tensors must match except"
    r"|inhomogeneous shape|stack expects each tensor to be equal size",
    "whether the arrays of a list differ on one axis, padded by batches of their own width",
)
RULE = Rule("SF504", "batches-of-unequal-width", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

FILL = "-100"


@RULE.on(UnequalWidths)
def batches_have_different_widths(broken: UnequalWidths, case: Case) -> Finding:
    joined = broken.joined
    widths, shapes = joined.widths, joined.shapes.shapes
    other = next(shape for shape in shapes if shape[joined.axis] != widths[0])
    function = joined.call.text.partition("(")[0].rpartition(".")[2]
    return case.finding(
        joined.items.place,
        f"The {len(widths):,} batches in `{joined.items.text}` have {len(set(widths))} different"
        f" widths, and `{function}` joins only equal ones.",
        facts=(
            Fact(
                code(joined.items.text),
                f"{counted(len(widths), 'batch')}: {shape_of(shapes[0])}, {shape_of(other)}...",
            ),
            Fact(f"sizes of axis {joined.axis}", listed(widths)),
            Fact("joined along", f"axis {joined.along}"),
            Fact("dtype", ", ".join(joined.shapes.dtypes)),
        ),
        why="Each batch was padded to its own longest row.",
        remedies=remedies(broken, case),
    )


def remedies(broken: UnequalWidths, case: Case) -> Iterator[Remedy | Fix]:
    joined, tokenizer = broken.joined, decoder_in(broken, case)
    filler = f"{tokenizer}.pad_token_id" if tokenizer else FILL
    padded = [known for known in (joined, *broken.others) if pad_text(known, filler)]
    names = spoken(code(known.items.text) for known in (padded or [joined]))
    words = (
        f"Pad each batch of {names} to the greatest width, here {max(joined.widths)}, with"
        f" {filler}: all {joined.rows:,} rows stay."
    )
    if tokenizer is None:
        words += f" Leave these positions out of the metric, as those with labels of {FILL}."
    changes = [
        replaced(source, node, pad_text(known, filler))
        for known in (padded if joined in padded else ())
        if (source := case.source(known.items)) and (node := case.node(known.items)) is not None
    ]
    if not changes or (tokenizer is None and not is_left_out(broken, case)):
        yield Fix(words, choice=True)  # padding that is counted makes a wrong metric
    else:
        yield Change(to=all_of(changes), words=words, must=condition(joined, case))


def condition(joined: JoinedList, case: Case) -> All:
    """All elements are in the padded whole, which has the right shape where it has a name."""
    assert case.crash is not None
    about = {
        "frame": case.number,
        "text": ast.unparse(ast.parse(joined.items.text, mode="eval").body),
        "axis": joined.axis,
        "along": joined.along,
        "fill": int(FILL),
    }
    asked = Question("padded-together", case.crash.id, about)
    case.recording.ask(asked)
    equal = ReExecuted(asked, "the batches, and the same in the padded whole")
    name = assigned_name(case, joined.call)
    if name is None:
        return All((equal,))
    shaped = ValuesAt(joined.call.place, (Wanted(name, shape=joined.whole),), after=True)
    return All((equal, shaped))


def is_left_out(broken: UnequalWidths, case: Case) -> bool:
    """The source compares something with the filler."""
    source = case.source(broken.use)
    compared = [
        [node.left, *node.comparators] for node in (source.every(ast.Compare) if source else ())
    ]
    return any(ast.unparse(side) == FILL for sides in compared for side in sides)


def decoder_in(broken: UnequalWidths, case: Case) -> str | None:
    """The tokenizer that the same function decodes with: it skips its own padding."""
    source, node = case.source(broken.use), case.node(broken.joined.call)
    if source is None or node is None:
        return None
    scope = source.scope_of(node)
    for call in source.every(ast.Call):
        decodes = called(call) in ("batch_decode", "decode") and source.scope_of(call) is scope
        if decodes and isinstance(call.func, ast.Attribute):
            return source.segment(call.func.value)
    return None


def pad_text(joined: JoinedList, filler: str) -> str:
    """The list with each of its items as wide as the widest; empty where one call cannot do it."""
    text, axis = joined.items.text, joined.axis
    axes = len(joined.shapes.shapes[0])
    module = joined.call.text.partition("(")[0].rpartition(".")[0]
    missing = f"max(item.shape[{axis}] for item in {text}) - item.shape[{axis}]"
    if joined.shapes.kinds == ["array"] and module:
        widths = ", ".join(f"(0, {missing})" if at == axis else "(0, 0)" for at in range(axes))
        pad = f"{module}.pad(item, ({widths}), constant_values={filler})"
    elif joined.shapes.kinds == ["tensor"] and module == "torch":
        last = "0, 0, " * (axes - 1 - axis)
        pad = f"torch.nn.functional.pad(item, ({last}0, {missing}), value={filler})"
    else:
        return ""
    return f"[{pad} for item in {text}]"
