"""`max_length` of a generation counts the prompt, and the prompt is as long already.

## What happens
For a model that only decodes (GPT-2, Llama), `max_length` is the length of prompt and answer
together. A prompt of 24 tokens leaves nothing of a `max_length` of 20, and `generate` raises.

## Why it matters
Short prompts go through with answers cut off, so that the metric is wrong before anything fails.

## What to do
Say how many new tokens are wanted: `max_new_tokens=20`. An encoder-decoder model (T5, BART) counts
only what it generates; there the two are alike.

## How it is recognised
`generate` of a library's model failed where it compares lengths, and the prompt has as many tokens
as `max_length` or more.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.generated import GeneratedMore
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted
from surefit.evidence.known_numbers import number_of, numbers_in
from surefit.evidence.made_names import name_at
from surefit.evidence.set_sizes import keywords
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called

RULE = Rule(
    "SF506",
    "prompt-fills-max-length",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Input length of \w+ is \d+, but `?max_length`? is set to",
            "whether the prompt has as many tokens as `max_length`",
            r"generation/utils\.py",
        ),
    ),
)

LIMIT = "max_length"


@RULE.on(Crash)
def prompt_leaves_no_room(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    lengths = lengths_in(crash) if is_cause(crash, seen) else None
    if frame is None or lengths is None:
        return
    prompt, limit = lengths
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    call = node if isinstance(node, ast.Call) and called(node) == "generate" else None
    keyword = next((one for one in call.keywords if one.arg == LIMIT), None) if call else None
    yield RULE.finding(
        place_of(crash, frame, keyword, limit, seen),
        f"The prompt has {counted(prompt, 'token')}, and `{LIMIT}` lets prompt and answer together"
        f" have {limit:,}.",
        facts=(Fact("prompt", counted(prompt, "token")), Fact(f"`{LIMIT}`", f"{limit:,}")),
        why="A model that only decodes goes on from its prompt, and both are counted.",
        fixes=(fix(frame, source, keyword, prompt, limit),),
        python_said=crash.said,
        about=crash.id,
    )


def lengths_in(crash: Crash) -> tuple[int, int] | None:
    """Of the prompt, and what is allowed, from the library's own frames below `generate`."""
    names = [frame.function.rpartition(".")[2] for frame in crash.frames]
    if "generate" not in names:
        return None
    values = {value.text: value.scalar for value in crash.frames[-1].values}
    prompt = values.get("input_ids_length")
    limit = values.get(f"generation_config.{LIMIT}")
    if type(prompt) is not int or type(limit) is not int or prompt < limit:
        return None
    return prompt, limit


def place_of(
    crash: Crash, frame: Frame, keyword: ast.keyword | None, limit: int, seen: Recording
) -> Place:
    """The call that says it; otherwise the settings that do."""
    if keyword is not None:
        return frame.place
    known = numbers_in(crash)
    for source, _, one in keywords(seen, LIMIT, "generation_max_length"):
        if number_of(source, one.value, known) == limit:
            return Place(source.file, one.lineno)
    return frame.place


def fix(
    frame: Frame, source: Source | None, keyword: ast.keyword | None, prompt: int, limit: int
) -> Fix:
    if source is None or keyword is None:
        return Fix(
            f"Say how many new tokens are wanted: `generate(..., max_new_tokens={limit})`.",
            why_not_tried="how long answers shall be only you know",
        )
    new = f"max_new_tokens={source.segment(keyword.value)}"
    edit = Edit(source.file, (Replace(source.span(keyword), new),))
    name = name_at(source, frame.place)
    text = f"`{new}`, which counts the answer alone: up to {counted(limit, 'new token')}."
    if name is None:
        return Fix(text, edit, why_not_tried="the result has no name at which it could be measured")
    return Fix(text, edit, GeneratedMore(frame.place, name, prompt))
