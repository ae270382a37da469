"""A batch is given to a model with keys that the call does not take.

## What happens
`model(**batch)` and `model.generate(**batch)` hand over every key. What `forward` has no argument
for raises `unexpected keyword argument`; `generate` looks through them first and says that these
`model_kwargs` are not used. Usual ones are `token_type_ids`, which many tokenizers give and many
models do not take, `labels`, which only training needs, and numbers and texts of the rows.

## Why it matters
With another model the same script runs; a misspelled argument of `generate` looks the same.

## What to do
`return_token_type_ids=False` where texts are tokenized; to `generate` give what it needs by name:
`model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])`.

## How it is recognised
In the frame of the library that looks through the arguments, or by the signature of the model's own
`forward`: keys that the call gives and the model does not take. The text of the exception is not
looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.evidence.made_names import name_at
from surefit.evidence.tokenizer_calls import encoding_calls
from surefit.source.edits import Edit, Replace, argument_added, argument_removed
from surefit.source.reading import Source
from surefit.source.spans import Span

RULE = Rule(
    "SF508",
    "keys-not-taken",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"`model_kwargs` are not used by the model"
            r"|forward\(\) got an unexpected keyword argument",
            "which keys the call gives, and which of them the model takes",
        ),
    ),
)

LOOKS_THROUGH = "_validate_model_kwargs"
OF_A_TOKENIZER = {"token_type_ids": "return_token_type_ids"}
OF_GENERATION = (
    *("max_new_tokens", "max_length", "min_length", "min_new_tokens", "do_sample", "num_beams"),
    *("temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty"),
    *("no_repeat_ngram_size", "num_return_sequences", "early_stopping", "pad_token_id"),
    *("eos_token_id", "bos_token_id", "use_cache", "output_scores", "return_dict_in_generate"),
    *("forced_bos_token_id", "num_beam_groups", "diversity_penalty", "bad_words_ids"),
)
ALIKE = 0.8
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Given:
    """A call of the user's, and the keys of it that are not taken."""

    frame: Frame
    source: Source
    call: ast.Call
    strange: tuple[str, ...]
    taken: tuple[str, ...]
    """Keys that are."""
    model: str
    function: str

    @property
    def spread(self) -> ast.keyword | None:
        """`**batch`, if there is just one."""
        found = [one for one in self.call.keywords if one.arg is None]
        return found[0] if len(found) == 1 else None


@RULE.on(Crash)
def keys_were_not_taken(crash: Crash, seen: Recording) -> Iterator[Finding]:
    given = given_in(crash, seen) if is_cause(crash, seen) else None
    if given is None:
        return
    place, fix = mended(given, seen)
    yield RULE.finding(
        place,
        headline(given),
        facts=tuple(facts(given)),
        why=why(given),
        fixes=(fix,),
        python_said=crash.said,
        about=crash.id,
    )


def given_in(crash: Crash, seen: Recording) -> Given | None:
    frame, last = crash.own_frame, crash.frames[-1] if crash.frames else None
    if frame is None or last is None or frame is last or frame.span is None:
        return None
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source else None
    if source is None or not isinstance(call, ast.Call):
        return None
    if last.function.endswith(LOOKS_THROUGH):
        strange = tuple(texts_in(value_in(last, "unused_model_args")))
        every = value_in(last, "model_kwargs")
        taken = tuple(one for one in (every.members if every else {}) if one not in strange)
        model = last.layer.kind if last.layer else "the model"
        return Given(frame, source, call, strange, taken, model, "generate") if strange else None
    return given_to_forward(crash, seen, frame, source, call, last)


def given_to_forward(
    crash: Crash, seen: Recording, frame: Frame, source: Source, call: ast.Call, last: Frame
) -> Given | None:
    """A call that could not be made: the innermost frame only passes arguments on."""
    keys = value_in(last, "kwargs")
    if not last.function.endswith("_call_impl") or keys is None or last.layer is None:
        return None
    said = seen.ask(Question("forward", crash.id))
    if not said or said["open"] or said["kind"] != last.layer.kind:
        return None
    takes = tuple(map(str, said["takes"]))
    strange = tuple(one for one in keys.members if one not in takes)
    taken = tuple(one for one in keys.members if one in takes)
    if not strange:
        return None
    return Given(frame, source, call, strange, taken, str(said["kind"]), "forward")


def value_in(frame: Frame, text: str) -> Value | None:
    return next((one for one in frame.values if one.text == text), None)


def texts_in(value: Value | None) -> Iterator[str]:
    for one in value.members.values() if value else ():
        if isinstance(one.scalar, str):
            yield one.scalar


def headline(given: Given) -> str:
    names = spoken(map(code, given.strange))
    said = f"`{given.function}` of `{given.model}` is given {names}, which it does not take"
    typo = misspelled(given)
    return f"{said}: `{typo[1]}` is." if typo else f"{said}."


def misspelled(given: Given) -> tuple[ast.keyword, str] | None:
    """The one argument of `generate` that is written almost like another."""
    words = [one for one in given.call.keywords if one.arg in given.strange and one.arg]
    if given.function != "generate" or len(words) != 1 or len(given.strange) != 1:
        return None
    near = get_close_matches(words[0].arg or "", OF_GENERATION, 1, ALIKE)
    return (words[0], near[0]) if near else None


def facts(given: Given) -> Iterator[Fact]:
    if given.taken:
        yield Fact("it takes of these", ", ".join(map(code, given.taken)))
    yield Fact("given at", f"{given.frame.place}  {' '.join(given.frame.line.split())}")


def why(given: Given) -> str:
    if misspelled(given):
        return "What is no setting of generation is handed on to the model, which does not know it."
    if given.spread is not None:
        text = f"**{ast.unparse(given.spread.value)}"
        return f"{code(text)} hands over every key, whether the model takes it or not."
    return "A model takes its inputs by name, and this one has no such argument."


def mended(given: Given, seen: Recording) -> tuple[Place, Fix]:
    here = Place(given.source.file, given.frame.place.line)
    typo = misspelled(given)
    if typo is not None:
        keyword, name = typo
        edit = Edit(given.source.file, (Replace(name_span(given.source, keyword), name),))
        return Place(here.file, keyword.lineno), Fix(f"Write `{name}`.", edit, *tried(given))
    tokenized = by_tokenizer(given, seen)
    if tokenized is not None:
        return tokenized
    if given.spread is not None:
        return here, by_name(given, given.spread)
    words = [one for one in given.call.keywords if one.arg in given.strange]
    text = f"Leave {spoken(map(code, given.strange))} out of the call."
    if len(words) != len(given.strange):
        return here, Fix(text, why_not_tried="where the keys come from was not found")
    edit = argument_removed(given.source, given.call, str(words[0].arg))
    if len(words) > 1:
        return here, Fix(text, why_not_tried="several arguments have to go")
    return Place(here.file, words[0].lineno), Fix(text, edit, *tried(given))


def name_span(source: Source, keyword: ast.keyword) -> Span:
    span = source.span(keyword)
    return Span(span.line, span.column, span.line, span.column + len(keyword.arg or ""))


def by_tokenizer(given: Given, seen: Recording) -> tuple[Place, Fix] | None:
    """What one call of a tokenizer gives, and nothing in the script reads."""
    calls = list(encoding_calls(seen))
    wanted = [OF_A_TOKENIZER.get(one) for one in given.strange]
    if len(calls) != 1 or len(wanted) != 1 or wanted[0] is None:
        return None
    source, call = calls[0]
    reads = [one for one in source.every(ast.Constant) if one.value == given.strange[0]]
    if reads or source.argument(call, wanted[0]) is not None:
        return None
    text = f"`{wanted[0]}=False` where the texts are tokenized: the model has no use for them."
    edit = argument_added(source, call, wanted[0], "False")
    return Place(source.file, call.lineno), Fix(text, edit, *tried(given))


def by_name(given: Given, spread: ast.keyword) -> Fix:
    """What the call needs, by name; of many keys, all but the strange ones."""
    of = given.source.segment(spread.value)
    plain = isinstance(spread.value, ast.Name | ast.Attribute)
    named = {one.arg for one in given.call.keywords}
    own = [one for one in given.taken if one not in named]
    if plain and 0 < len(own) <= MOST_NAMED:
        text = ", ".join(f'{one}={of}["{one}"]' for one in own)
    else:
        left = spoken_list(given.strange)
        text = f"**{{key: value for key, value in {of}.items() if key not in {left}}}"
    edit = Edit(given.source.file, (Replace(given.source.span(spread), text),))
    return Fix(f"Give only what it takes: {code(text)}.", edit, *tried(given))


def spoken_list(names: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{one}"' for one in names) + ("," if len(names) == 1 else "") + ")"


def tried(given: Given) -> tuple[Condition | None, str]:
    """As many rows are generated as were given; of a forward, every key that is taken arrives."""
    if given.function == "forward":
        if not given.taken:
            return None, "nothing that the model takes was given by name"
        return All(tuple(ColumnReachesModel(one) for one in given.taken)), ""
    name = name_at(given.source, given.frame.place)
    rows = rows_of(given)
    if (
        name is None
        or rows is None
        or any(one.arg == "num_return_sequences" for one in given.call.keywords)
    ):
        return None, "the result has no name at which its rows could be counted"
    return ValuesAt(given.frame.place, (Wanted(name, rows=rows),), after=True), ""


def rows_of(given: Given) -> int | None:
    """Of the prompt."""
    for value in given.frame.values:
        for name, one in value.members.items():
            if name in ("input_ids", "inputs", "pixel_values", "input_features") and one.shape:
                return one.shape[0]
        if value.text.endswith(("input_ids", "input_ids']")) and value.shape:
            return value.shape[0]
    return None
