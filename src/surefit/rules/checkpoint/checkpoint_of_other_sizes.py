"""A checkpoint has the names of the model, and some of its tensors have other shapes.

## What happens
Names agree, sizes do not: the model is created with another number of classes, another vocabulary,
another width or another adapter rank than the one that was saved.

## Why it matters
The message lists tensors, not the setting that differs. Leaving the tensors out (or
`ignore_mismatched_sizes=True`) keeps random weights in their place without saying so again.

## What to do
Create the model with the sizes that were saved; resize its embeddings before an adapter is loaded;
or, for a new task, leave those layers out on purpose and train them.

## How it is recognised
`load_state_dict` was given a tensor of another shape for a name that the model has.
"""

from collections import Counter
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.state_dicts import StateDictNames, by_layer
from surefit.laws.values.written_numbers import written_in_model
from surefit.remedies.replace import ReplaceWith
from surefit.remedies.statements import Insert
from surefit.remedies.wrap import Wrap

SYMPTOM = Symptom("size mismatch for", "which sizes the model had when it was saved")
RULE = Rule("SF903", "checkpoint-of-other-sizes", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

Shape = tuple[int, ...]
MOST = 4
TABLES = ("embed", "wte", "lm_head", "word_embeddings", "shared")
"""Names of tables with a row for each token, and of heads that are tied to them."""


@RULE.on(StateDictNames)
def tensors_have_other_shapes(broken: StateDictNames, case: Case) -> Finding | None:
    names, loading = broken.of_other_shape, broken.loading
    if not names:
        return None
    saved, own = sizes_that_differ(broken)
    number = written_in_model(case, own)
    created = loading.made_at if case.read else None
    place = number.place if number is not None else created or broken.use.place
    verb = "has another shape" if len(names) == 1 else "have other shapes"
    return case.finding(
        broken.use.place if is_vocabulary(broken) else place,
        f"The checkpoint was saved with {saved} where `{loading.kind}` has {own}:"
        f" {counted(len(names), 'tensor')} of {some(by_layer(names))} {verb}.",
        facts=facts(broken),
        why=why(broken),
        remedies=remedies(broken, case, saved, own),
    )


def pairs(broken: StateDictNames) -> dict[str, tuple[Shape, Shape]]:
    """Of each name both shapes: saved, and in the model."""
    given, own = broken.loading.given, broken.loading.own
    return {name: (given[name], own[name]) for name in broken.of_other_shape}


def sizes_that_differ(broken: StateDictNames) -> tuple[int, int]:
    """The pair of sizes that differs most often."""
    shapes = list(pairs(broken).values())
    sizes = [pair for given, own in shapes for pair in zip(given, own, strict=False)]
    other = Counter(pair for pair in sizes if pair[0] != pair[1]).most_common(1)
    return other[0][0] if other else (len(shapes[0][0]), len(shapes[0][1]))


def facts(broken: StateDictNames) -> Iterator[Fact]:
    loading, names = broken.loading, broken.of_other_shape
    for name, (given, own) in [*pairs(broken).items()][:MOST]:
        yield Fact(code(name), f"saved {shape_of(given)}, here {shape_of(own)}")
    fitting = len(loading.own) - len(names) - len(broken.missing)
    yield Fact("tensors that fit", f"{fitting:,} of {len(loading.own):,}")
    if loading.made_at is not None:
        yield Fact(f"`{loading.kind}` is created at", str(loading.made_at))


def why(broken: StateDictNames) -> str:
    if is_vocabulary(broken):
        return "Tokens were added before it was saved: the embeddings here must be resized again."
    if of_another_base(broken):
        return "These are adapters of the same rank: they were trained on another base model."
    if all("lora_" in name for name in broken.of_other_shape):
        return "These are adapters: the rank `r` that they were trained with is another."
    return "The tensors of a checkpoint have the sizes of the model that was saved."


def is_vocabulary(broken: StateDictNames) -> bool:
    """Only rows of tables for tokens differ, and all of them by the same number."""
    shapes = pairs(broken)
    rows = {(given[:1], own[:1]) for given, own in shapes.values()}
    same_width = all(given[1:] == own[1:] for given, own in shapes.values())
    tables = all(any(table in name for table in TABLES) for name in shapes)
    return same_width and tables and len(rows) == 1


def of_another_base(broken: StateDictNames) -> bool:
    """The rank, the first size of each `lora_A`, the second of each `lora_B`, is the same."""
    return all(
        ("lora_A" in name and given[:1] == own[:1]) or ("lora_B" in name and given[1:] == own[1:])
        for name, (given, own) in pairs(broken).items()
    )


def remedies(
    broken: StateDictNames, case: Case, saved: int, own: int
) -> Iterator[Remedy | Fix | None]:
    base = case.argument(broken.use, "model", 0)
    if is_vocabulary(broken) and base is not None and base.text.isidentifier():
        text = f"{base.text}.resize_token_embeddings({saved})"
        words = f"Add the rows of the new tokens before it is loaded: {code(text)}."
        yield Insert(at=broken.use, where="before", text=text, words=words)
    if of_another_base(broken):
        yield Fix(f"Load the adapter into the base model that has {saved}, not {own}.", choice=True)
        return
    number = written_in_model(case, own)
    words = f"If {saved} is right, create the model with it, as it was saved."
    right = ReplaceWith(at=number, text=str(saved), words=words, choice=True)
    yield right if number is not None else Fix(words, choice=True)
    call = broken.call(case)
    owner = case.owner(call)
    if owner is not None:  # the tensors of another shape keep what they have
        yield Wrap(
            at=case.argument(call, "state_dict", 0),
            before=f"{owner.text}.state_dict() | {{name: tensor for name, tensor in ",
            after=f".items() if tensor.shape == {owner.text}.state_dict()[name].shape}}",
            words=f"For a new task, leave {some(by_layer([*pairs(broken)]))} out, and train it.",
            choice=True,
            alike=False,
        )
