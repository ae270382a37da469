"""A key padding mask is given where attention takes an attention mask, or the other way round.

## What happens
Attention of torch takes two masks. `key_padding_mask` (N, S) hides the padding of each row;
`attn_mask` (L, S), called `mask` or `src_mask` in an encoder, hides positions from each other. One
in place of the other has another shape; and integers, as tokenizers give them, are no mask at all:
`only bool and floating types are supported`.

## Why it matters
Where there are as many rows as positions it runs, and every row hides positions of another one. And
True means the opposite of what it means in `attention_mask`: it hides.

## What to do
`encoder(x, src_key_padding_mask=ids == PAD)`; `attn(x, x, x, key_padding_mask=mask == 0)` for a
tokenizer's `attention_mask`; a causal mask as `mask=` or `attn_mask=`.

## How it is recognised
Torch's own attention failed on the shape or the dtype of a mask, and the shape is just that of the
other kind. Whether True marks padding is read from the ends of its rows.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.masks import MaskKind
from surefit.remedies.arguments import GiveAs
from surefit.source.edits import BINDS_TIGHTLY

SYMPTOM = Symptom(
    r"The shape of the 2D attn_mask is|Expected key_padd(ed|ing)_mask.shape"
    r"|key_padding_mask.shape\[\d\] should"
    r"|only bool and floating types of \w+ are supported",
    "the shapes of the mask, the rows and the positions, and what True means in it",
)
RULE = Rule("SF348", "mask-misplaced", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(MaskKind)
def a_mask_is_of_the_other_kind(broken: MaskKind, case: Case) -> Finding:
    meaning = "for padding" if broken.hides else "for what is no padding"
    told = (Fact("it is set", meaning),) if broken.is_padding and broken.hides is not None else ()
    return case.finding(
        broken.use.place,
        headline(broken),
        facts=(broken.mask.fact(), *told),
        why="Integers are neither True and False nor numbers to add to scores."
        if broken.true_keeps
        else "In both masks True hides; a key padding mask has a row for each row of the batch, an"
        " attention mask a row for each position, alike for all rows.",
        remedies=remedies(broken, case),
    )


def headline(broken: MaskKind) -> str:
    mask, argument = broken.mask, broken.argument
    if broken.meant == argument:
        return f"{mask.name} is {mask.dtype}, and `{argument}` takes True and False."
    kinds = ["a key padding mask, (N, S)", "an attention mask, (L, S)"]
    is_kind, takes = kinds if broken.is_padding else reversed(kinds)
    return (
        f"{mask.name} {mask.shape_words} is {is_kind}; `{argument}` takes {takes}, here"
        f" {broken.takes}."
    )


def remedies(broken: MaskKind, case: Case) -> Iterator[Remedy | Fix]:
    node = case.node(broken.mask.use)
    text = broken.mask.use.text if broken.mask.use else broken.mask.value.text
    inner = text if isinstance(node, BINDS_TIGHTLY) else f"({text})"
    integers = "int" in broken.mask.dtype
    sure = broken.hides is not None
    if broken.true_keeps:
        ways = [f"{inner}.bool()"]
    elif broken.meant == broken.argument and not broken.is_padding:
        ways, sure = [f"{inner}.bool()", f"{inner} == 0"], False
    elif integers:
        ways = [f"{inner} != 0", f"{inner} == 0"]
    else:
        ways = [text, f"~{inner}"]
    if sure and not broken.true_keeps:
        ways = ways[:1] if broken.hides else ways[1:]
    for way in ways:
        argument = code(f"{broken.meant}={way}")
        yield GiveAs(
            at=broken.use,
            name=broken.argument,
            value=broken.mask.use,
            to=broken.meant,
            text=way,
            words=f"Give it as {argument}."
            if sure
            else f"If this is True where positions are hidden, give it as {argument}.",
            must=broken.holds,
            choice=not sure,
        )
