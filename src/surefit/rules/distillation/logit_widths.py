"""Teacher and student give logits of different widths, and a loss compares them entry by entry.

## What happens
Models of one family can have tables of different widths (151,936 and 152,064 entries): the larger
one is padded, or the tokenizers differ. `kl_div` and `mse_loss` then say `The size of tensor a
(152064) must match the size of tensor b (151936) at non-singleton dimension 2`.

## Why it matters
Cutting the wider one is right only where the rest is padding that no token uses. If the tokenizers
differ, entry 5,000 is another token in each, and the student silently learns nonsense.

## What to do
If both use the same tokenizer, cut the padding off where the logits are computed:
`teacher(ids).logits[..., :student.config.vocab_size]`. If not, distil through text, or with a loss
that matches tokens by their strings.

## How it is recognised
A loss that compares entry by entry failed on two tensors whose shapes are equal but for the last
axis, and the two come from two models. A second run shows where the wider one is computed. In a
script that is only read, the widths that two models give are derived from its source.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, fact_at
from surefit.doctor.words import code
from surefit.laws.along import along
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.losses import OF_DISTANCE, TargetShape
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import size
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)",
    "whether two models' logits differ in their last axis alone",
    "kl_div|mse_loss",
)
RULE = Rule("SF951", "logit-widths", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

NARROWEST = 3
"""Classes; below that a width is a single score or a pair."""


@RULE.on(TargetShape)
def widths_of_two_models_differ(broken: TargetShape, case: Case) -> Finding | None:
    sides = broken.predictions, broken.target
    if broken.loss not in ("kl_div", *OF_DISTANCE) or not differ_in_width(*sides):
        return None
    lineages = [case.lineage(side) for side in sides]
    models = [model_of(lineage, case) for lineage in lineages]
    if not case.read and not are_two(lineages, models, broken.loss):
        return None
    number = 0 if sides[0].shape[-1] > sides[1].shape[-1] else 1
    wide, narrow = sides[number], sides[1 - number].shape[-1]
    own, other = lineages[number], lineages[1 - number]
    places = () if case.read else logits_in(own, other, wide.shape[-1])
    names = [name_of(side, case) for side in sides]
    return case.finding(
        (places[0] if places else broken.use).place,
        f"{names[0]} is {sides[0].shape[-1]:,} wide and {names[1]} is"
        f" {sides[1].shape[-1]:,}: {broken.called} compares them entry by entry.",
        facts=(
            *(
                replace(side.fact(by(model)), name=name)
                for side, model, name in zip(sides, models, names, strict=True)
            ),
            Fact("more entries", f"{wide.shape[-1] - narrow:,}"),
            *fact_at("compared at", broken.use if places else None),
        ),
        why="Both must mean the same by the same entry: one vocabulary, or the same classes.",
        remedies=remedies(broken, wide, narrow, places),
    )


def differ_in_width(predictions: Operand, target: Operand) -> bool:
    first, second = predictions.shape, target.shape
    if len(first) != len(second) or len(first) < 2 or first[:-1] != second[:-1]:
        return False
    return first[-1] != second[-1] and min(first[-1], second[-1]) >= NARROWEST


def name_of(side: Operand, case: Case) -> str:
    """`given` for `log_softmax(given, -1)`: the user's name for what is as wide."""
    node = case.node(side.use)
    for part in ast.walk(node) if node is not None and case.own is not None else ():
        text = ast.unparse(part) if isinstance(part, ast.Name | ast.Attribute) else ""
        value = case.own.value(text) if case.own else None
        if value is not None and (value.shape or ())[-1:] == side.shape[-1:]:
            return code(text)
    return side.name


def logits_in(lineage: Lineage, other: Lineage, width: int) -> tuple[Producer, ...]:
    """Where the wide one is computed and handed on, up to the softmax: what is cut after it sums to
    less than one. Not in code that the other one came through, too."""
    places = along(lineage, of=size(-1, width))
    shared = {(str(producer.place), producer.span) for producer in other.all}
    alone = [at for at in places if (str(at.place), at.span) not in shared] or list(places)
    return tuple(at for at in alone if not is_normalised(at.value)) or tuple(alone[:1])


def is_normalised(value: Value) -> bool:
    """Probabilities, or their logarithms."""
    least, greatest = value.least, value.greatest
    if least is None or greatest is None:
        return False
    return greatest <= 0 or 0 <= least < greatest <= 1


def model_of(lineage: Lineage, case: Case) -> Value | None:
    """The module whose call a value came through last."""
    modules = {value.text: value for value in case.values() if value.layer is not None}
    for producer in lineage.producers:
        if producer.kind is ProducerKind.CALL and producer.name in modules:
            return modules[producer.name]
    return None


def are_two(lineages: list[Lineage], models: list[Value | None], loss: str) -> bool:
    """Each has modules of its own; a divergence compares distributions, wherever they are from."""
    first, second = (modules_in(lineage) for lineage in lineages)
    if first and second:
        return bool(first - second) and bool(second - first)
    if models[0] is not None and models[1] is not None:
        return models[0].identity != models[1].identity
    return loss == "kl_div"


def modules_in(lineage: Lineage) -> set[int]:
    values = (producer.value for producer in lineage.all)
    return {value.identity for value in values if value.layer is not None and value.identity}


def by(model: Value | None) -> str:
    if model is None or model.layer is None:
        return ""
    created = f", created at {model.layer.made_at}" if model.layer.made_at else ""
    return f"by {code(model.text)}, {model.kind}{created}"


def remedies(
    broken: TargetShape, wide: Operand, narrow: int, places: tuple[Producer, ...]
) -> Iterator[Remedy | Fix]:
    """Each is a choice, because entries are lost."""
    shape, cut = (*wide.shape[:-1], narrow), f"[..., :{narrow}]"
    padding = "If both use one vocabulary and the rest is padding, cut it off"
    predicted = broken.predicted if wide is broken.target else None
    must = replace(broken.holds(shape, shape), supervised=None, total=None, predictions=predicted)
    for at in places:
        yield Append(
            at=at,
            suffix=cut,
            words=f"{padding}, {at.place}: {code(at.text + cut)}.",
            must=must,
            choice=True,
            alike=False,
        )
    if not places:
        yield Fix(f"{padding} before the softmax: {code(cut)}.", choice=True)
    yield Fix(
        "If the tokenizers or the classes differ, take a teacher that has the student's, or distil"
        " from the teacher's text.",
        choice=True,
    )
    if broken.loss != "kl_div":
        linear = f"`nn.Linear({broken.predictions.shape[-1]}, {broken.target.shape[-1]})`"
        yield Fix(f"If these are hidden states, learn a projection: {linear}.", choice=True)
