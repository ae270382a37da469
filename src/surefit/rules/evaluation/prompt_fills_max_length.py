"""`max_length` of a generation counts the prompt, and the prompt is as long already.

## What happens
For a model that only decodes (GPT-2, Llama), `max_length` is the length of prompt and answer
together. A prompt of 24 tokens leaves nothing of a `max_length` of 20, and `generate` raises.

## Why it matters
Short prompts do not fail; their answers are cut off, so that the metric is wrong before anything
fails.

## What to do
Say how many new tokens there may be: `max_new_tokens=20`. An encoder-decoder model (T5, BART)
counts only what it generates; there the two mean the same.

## How it is recognised
`generate` of a library's model failed where it compares lengths, and the prompt has as many tokens
as `max_length` or more.
"""

from surefit.doctor.conditions.generated import GeneratedMore
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written
from surefit.doctor.words import counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.generation import PromptTooLong
from surefit.laws.training.made_names import name_at
from surefit.laws.values.written_numbers import called_with
from surefit.remedies.arguments import RenameArgument, SetArgument

SYMPTOM = Symptom(
    r"Input length of \w+ is \d+, but `?max_length`? is set to",
    "whether the prompt has as many tokens as `max_length`",
    r"generation/utils\.py",
)
RULE = Rule("SF506", "prompt-fills-max-length", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))
LIMITS = ("max_length", "generation_max_length")
NEW = "max_new_tokens"


@RULE.on(PromptTooLong)
def prompt_leaves_no_room(broken: PromptTooLong, case: Case) -> Finding:
    in_call = case.argument(broken.use, LIMITS[0], None)
    settings = None if in_call else called_with(case, broken.limit, LIMITS)
    place: Written = settings or broken.use
    return case.finding(
        place.place,
        f"The prompt has {counted(broken.prompt, 'token')}, and `{LIMITS[0]}` lets prompt and"
        f" answer together have {broken.limit:,}.",
        facts=(
            Fact("prompt", counted(broken.prompt, "token")),
            Fact(f"`{LIMITS[0]}`", f"{broken.limit:,}"),
        ),
        why="A model that only decodes continues its prompt, and both are counted.",
        remedies=(new_tokens(broken, case, in_call),),
    )


def new_tokens(broken: PromptTooLong, case: Case, in_call: Written | None) -> Remedy:
    name = name_at(case.source(broken.use.place), broken.use.place)
    must = GeneratedMore(broken.use.place, name, broken.prompt) if name is not None else None
    up_to = f"up to {counted(broken.limit, 'new token')}"
    if in_call is not None:
        words = f"`{NEW}={in_call.text}`, which counts the answer alone: {up_to}."
        return RenameArgument(at=broken.use, name=LIMITS[0], to=NEW, words=words, must=must)
    return SetArgument(
        at=broken.use,
        name=NEW,
        value=str(broken.limit),
        words=f"Say in this call how many new tokens there may be: `{NEW}={broken.limit}`.",
        must=must,
        choice=True,
    )
