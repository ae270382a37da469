"""A batch is given to a model with keys that the call does not take.

## What happens
`model(**batch)` and `model.generate(**batch)` hand over every key. What `forward` has no argument
for raises `unexpected keyword argument`; `generate` checks them first and says that these
`model_kwargs` are not used. Usual ones are `token_type_ids`, which many tokenizers return and many
models do not take, `labels`, which only training needs, and numbers and texts of the rows.

## Why it matters
With another model the same script runs; a misspelled argument of `generate` looks the same.

## What to do
`return_token_type_ids=False` where texts are tokenized; give `generate` what it needs by name:
`model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])`.

## How it is recognised
In the frame of the library that checks the arguments, or by the signature of the model's own
`forward`: keys that the call gives and the model does not take.
"""

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Operand, fact_at
from surefit.doctor.words import code, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.forward_arguments import KeysNotTaken
from surefit.laws.training.made_names import name_at
from surefit.lineage.producers import Producer
from surefit.lineage.properties import has_key
from surefit.remedies.arguments import DropArgument, RenameArgument, SetArgument
from surefit.remedies.spread import GiveOnly, spread_of

SYMPTOM = Symptom(
    r"`model_kwargs` are not used by the model"
    r"|forward\(\) got an unexpected keyword argument",
    "which keys the call gives, and which of them the model takes",
)
RULE = Rule("SF508", "keys-not-taken", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

OF_A_TOKENIZER = {"token_type_ids": "return_token_type_ids"}
PROMPTS = ("input_ids", "inputs", "pixel_values", "input_features")
ALIKE = 0.8

GENERATION_SETTINGS = (
    *("max_new_tokens", "max_length", "min_length", "min_new_tokens", "do_sample", "num_beams"),
    *("temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty"),
    *("no_repeat_ngram_size", "num_return_sequences", "early_stopping", "pad_token_id"),
    *("eos_token_id", "bos_token_id", "use_cache", "output_scores", "return_dict_in_generate"),
    *("forced_bos_token_id", "num_beam_groups", "diversity_penalty", "bad_words_ids"),
)


@RULE.on(KeysNotTaken)
def keys_are_not_taken(broken: KeysNotTaken, case: Case) -> Finding | None:
    call = case.node(broken.use)
    if not isinstance(call, ast.Call):
        return None
    typo, batch = misspelled(broken, call), spread_of(call)
    created = tokenized_at(broken, batch, case) if batch is not None else None
    return case.finding(
        (created or broken.use).place,
        f"`{broken.function}` of `{broken.model}` is given {spoken(map(code, broken.strange))},"
        f" which it does not take{f': `{typo}` is' if typo else ''}.",
        facts=(
            Fact("it takes of these", ", ".join(map(code, broken.taken)) or "none"),
            *fact_at("given at", broken.use),
        ),
        why=why(batch, typo),
        remedies=remedies(broken, case, typo, batch, created),
    )


def why(batch: ast.keyword | None, typo: str) -> str:
    if typo:
        return "What is no setting of generation is handed on to the model, which has none either."
    if batch is not None:
        every = f"`**{ast.unparse(batch.value)}` hands over every key"
        return f"{every}, whether the model takes it or not."
    return "A model takes its inputs by name, and this one has no such argument."


def misspelled(broken: KeysNotTaken, call: ast.Call) -> str:
    """What the one strange argument of `generate` is written almost like."""
    words = [keyword.arg for keyword in call.keywords if keyword.arg in broken.strange]
    if broken.function != "generate" or len(words) != 1 or len(broken.strange) != 1:
        return ""
    return next(iter(get_close_matches(words[0] or "", GENERATION_SETTINGS, 1, ALIKE)), "")


def tokenized_at(broken: KeysNotTaken, batch: ast.keyword, case: Case) -> Producer | None:
    """The call of a tokenizer that returned the one strange key."""
    text = ast.unparse(batch.value)
    value = case.own.value(text) if case.own is not None else None
    if value is None or len(broken.strange) != 1 or broken.strange[0] not in OF_A_TOKENIZER:
        return None
    lineage = case.lineage(Operand(value=value, name=code(text), frame=case.number))
    birth = lineage.birth(of=has_key(broken.strange[0]))
    return birth if isinstance(case.node(birth), ast.Call) else None


def remedies(
    broken: KeysNotTaken, case: Case, typo: str, batch: ast.keyword | None, created: Producer | None
) -> Iterator[Remedy]:
    must = condition(broken, case)
    if typo:
        words = f"Write `{typo}`."
        yield RenameArgument(at=broken.use, name=broken.strange[0], to=typo, words=words, must=must)
    if created is not None:
        name = OF_A_TOKENIZER[broken.strange[0]]
        words = f"`{name}=False` where the texts are tokenized: the model has no use for them."
        yield SetArgument(at=created, name=name, value="False", words=words, must=must)
    if batch is not None and not typo:
        yield GiveOnly(at=broken.use, taken=broken.taken, strange=broken.strange, must=must)
    elif not typo:
        words = f"Leave {spoken(map(code, broken.strange))} out of the call."
        yield DropArgument(at=broken.use, name=broken.strange[0], words=words, must=must)


def condition(broken: KeysNotTaken, case: Case) -> Condition | None:
    """As many rows are generated as were given; of a forward, every key that is taken arrives."""
    if broken.function == "forward":
        return All(tuple(map(ColumnReachesModel, broken.taken))) if broken.taken else None
    name, rows = name_at(case.source(broken.use), broken.use.place), prompt_rows(case)
    if name is None or rows is None or "num_return_sequences" in broken.use.text:
        return None
    return ValuesAt(broken.use.place, (Wanted(name, rows=rows),), after=True)


def prompt_rows(case: Case) -> int | None:
    for value in case.own.values if case.own is not None else ():
        for name, member in value.members.items():
            if name in PROMPTS and member.shape:
                return member.shape[0]
        if value.text.endswith(("input_ids", "input_ids']")) and value.shape:
            return value.shape[0]
    return None
