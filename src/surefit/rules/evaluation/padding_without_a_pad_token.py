"""Texts are to be padded to one length by a tokenizer that has no token for padding.

## What happens
Tokenizers of models that only decode (GPT-2, Llama) often have no pad token. `padding=True`, a
collator that pads, and batched generation need one.

## Why it matters
A single text does not fail, and in some versions texts of one length do not, either.

## What to do
`tokenizer.pad_token = tokenizer.eos_token` where the tokenizer is created; the attention mask says
which positions are padding. In training, make the labels of these positions -100 by the attention
mask, and not by the id, or the model never learns to end. A token of its own
(`add_special_tokens`) needs `model.resize_token_embeddings`.

## How it is recognised
A tokenizer failed while it was asked to pad, and its `pad_token_id` is None.
"""

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.tables import IdsFit
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Script
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.padding import NoPadToken
from surefit.laws.training.made_names import name_at
from surefit.laws.values.creations import Creation, creation_of
from surefit.remedies.statements import Insert

SYMPTOM = Symptom(
    r"does not have a padding token",
    "where the tokenizer is made that has no pad token",
    r"tokenization_\w+\.py",
)
RULE = Rule("SF507", "padding-without-a-pad-token", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoPadToken)
def nothing_to_pad_with(broken: NoPadToken, case: Case) -> Finding:
    created = creation_of(case, broken.tokenizer)
    state = broken.state
    end = f"`{state.eos_token}`, id {state.eos}" if state.eos_token else "none"
    return case.finding(
        (created or broken.use).place,
        f"`{created.name if created else 'the tokenizer'}` is asked to pad, and has no pad token.",
        facts=(
            Fact("pad token", "none"),
            Fact("end of text", end),
            *fact_at("asked to pad at", broken.use),
        ),
        why="Rows of different lengths are filled up with the pad token's id.",
        remedies=(end_of_text(broken, case, created),),
    )


def end_of_text(broken: NoPadToken, case: Case, created: Creation | None) -> Remedy | Fix:
    if broken.state.eos_token is None:
        text = "Name a token that pads: `tokenizer.pad_token = ...`; there is none for the end of a"
        return Fix(f"{text} text, either.", choice=True)
    name = created.name if created else "tokenizer"
    line = f"{name}.pad_token = {name}.eos_token"
    words = f"`{line}`; the attention mask says which positions are padding."
    texts = [script.text for script in case.recording.all(Script)]
    if any(".backward(" in text or "Trainer(" in text for text in texts):
        words += " Labels that are masked by the pad id lose the ends of texts, too."
    return Insert(
        at=created.expression if created else None,
        where="after",
        text=line,
        words=words,
        must=condition(broken, case),
    )


def condition(broken: NoPadToken, case: Case) -> Condition:
    """As many rows as texts, or, where that cannot be measured, ids that all have a row."""
    batch = name_at(case.source(broken.use), broken.use.place)
    if batch is not None and broken.texts and "return_tensors" in broken.use.text:
        wanted = Wanted(f'{batch}["input_ids"]', shape=(broken.texts, None), least=0)
        return ValuesAt(broken.use.place, (wanted,), after=True)
    return IdsFit(width=0, rows=0)
