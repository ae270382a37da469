"""A call gives an argument by a name that the installed version of the library does not take.

## What happens
Libraries rename and drop arguments: `evaluation_strategy` became `eval_strategy`, the Trainer's
`tokenizer` became `processing_class`. A script that was written for another version stops with
`got an unexpected keyword argument`; a misspelled name does the same.

## Why it matters
Python names one argument at a time: after one is mended, the next one fails. And the message says
neither which version is installed nor what the argument is called now.

## What to do
Write the name that the installed version takes. What has no successor, take out.

## How it is recognised
The failing expression is a call, and the signature of the installed function or class has no
argument of a name that the call gives, and does not take any others. What `**settings` gives is
followed back to the key of the dictionary, through arguments, attributes and other dictionaries.
The new name is told only if the signature has it. The text of the exception is not looked at.

In a script that is only read: the same, by the source of the installed library, which is not
imported. Passed over are functions that take any name, calls in a `try`, and calls under an `if`
that asks for a version or a signature.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.conditions.arguments import ArgumentsFit
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, spoken
from surefit.evidence.dictionary_keys import keys_of
from surefit.evidence.tried_first import is_tried_first
from surefit.source.dictionary_edits import entries_removed
from surefit.source.edits import argument_added, argument_removed, both
from surefit.source.fields import is_changed
from surefit.source.installed import arguments_taken, is_shadowed, version
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source, called, dotted
from surefit.source.spans import Span

RULE = Rule(
    "SF851",
    "argument-not-taken",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"TypeError: .*got an unexpected keyword argument",
            "what the function of the installed version takes",
        ),
    ),
)

RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "warmup_ratio": "warmup_steps",
    "push_to_hub_model_id": "hub_model_id",
    "push_to_hub_token": "hub_token",
    "tokenizer": "processing_class",
    "torch_dtype": "dtype",
    "use_auth_token": "token",
    "max_seq_length": "max_length",
    "learning_rate": "lr",
    "lr": "learning_rate",
    "epochs": "num_train_epochs",
    "num_epochs": "num_train_epochs",
    "workers": "num_workers",
}
"""Names that libraries have given up, or that others use -> the name; the signature decides."""

WITH_VALUE = {
    "group_by_length": ("train_sampling_strategy", '"group_by_length"'),
    "adafactor": ("optim", '"adafactor"'),
    "include_inputs_for_metrics": ("include_for_metrics", '["inputs"]'),
}
"""What was True under the first name is a value of another argument now."""

HUGGING_FACE = ("transformers", "trl")
DROPPED = {
    "overwrite_output_dir": (HUGGING_FACE, "a folder that exists is written into without it"),
    "save_safetensors": (HUGGING_FACE, "weights are always saved as safetensors"),
    "logging_dir": (HUGGING_FACE, "`TENSORBOARD_LOGGING_DIR` sets the folder of TensorBoard"),
    "use_mps_device": (HUGGING_FACE, "the device is found without it"),
    "verbose": (("torch",), "nothing is printed any more; `get_last_lr()` gives the rate"),
}
"""Names without a successor, whose effect needs no argument any more, by package."""

ONLY_READ = "the script was read, not run"
ALIKE = 0.8
"""From here on two spellings are taken for one name."""


@dataclass(frozen=True, slots=True)
class Function:
    """What the installed function takes."""

    name: str
    package: str
    version: str
    takes: tuple[str, ...]
    question: Question | None = None
    """Where it was asked; None where the library was only read."""


@dataclass(frozen=True, slots=True)
class Strange:
    """One argument that the function does not take, and what to do with it."""

    name: str
    keyword: ast.keyword | ast.Constant
    new: str = ""
    value: str = ""
    gone: str = ""
    moved_to: ast.Call | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A call with arguments that its function does not take."""

    call: ast.Call
    function: Function
    strange: list[Strange]
    known: dict[str, ast.keyword | ast.Constant]

    @property
    def explained(self) -> bool:
        return all(one.new or one.gone for one in self.strange)


Functions = dict[str, Function]


@RULE.on(Crash)
def a_name_was_not_taken(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    if frame is None or crash.kind != "TypeError" or not is_cause(crash, seen):
        return
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source and frame.span else None
    if source is None or not isinstance(call, ast.Call) or not call.keywords:
        return
    functions = taken(crash, frame, source, call, seen)
    wrong = wrong_in(source, call, functions, frame)
    if wrong is None:
        return
    others = [
        other
        for one in source.every(ast.Call)
        if one is not call and (other := wrong_in(source, one, functions)) and other.explained
    ]
    yield RULE.finding(
        Place(source.file, min(one.keyword.lineno for one in wrong.strange)),
        headline(wrong.function, wrong.strange),
        facts=tuple(facts(source, wrong, others)),
        why="The script was written for another version of the library, or the name is misspelled;"
        " Python names one such argument at a time, and all of the script are listed here.",
        fixes=tuple(fixes(source, wrong, others)),
        python_said=crash.said,
        about=crash.id,
    )


def taken(crash: Crash, frame: Frame, source: Source, call: ast.Call, seen: Recording) -> Functions:
    """By the text of each: what the functions take that this call and others of the file run.

    Those of the user's own and those that take any name are not among them.
    """
    imported = [one for one in source.every(ast.Call) if source.imported(one.func)]
    texts = dict.fromkeys(source.segment(one.func) for one in (call, *imported) if one.keywords)
    about = {"frame": crash.frames.index(frame), "texts": list(texts)}
    asked = Question("signature", crash.id, about)
    said = seen.ask(asked) or {}
    return {
        text: Function(
            str(one["name"]),
            str(one["package"]),
            str(one["version"]),
            tuple(str(name) for name in one["takes"]),
            asked,
        )
        for text, one in said.get("functions", {}).items()
        if not one["any"] and one["package"]
    }


def wrong_in(
    source: Source, call: ast.Call, functions: Functions, frame: Frame | None = None
) -> Wrong | None:
    """`frame`: in which the call failed."""
    function = functions.get(source.segment(call.func))
    known = dict(given(source, call, frame)) if function else {}
    if function is None:
        return None
    strange = [
        explained(source, call, functions, function, name, known)
        for name in known
        if name not in function.takes
    ]
    return Wrong(call, function, strange, known) if strange else None


def given(
    source: Source, call: ast.Call, frame: Frame | None = None
) -> Iterator[tuple[str, ast.keyword | ast.Constant]]:
    """Names of arguments, also of dictionaries of the file that are given with two stars: by the
    source or, of the call that failed, by what the dictionary held."""
    for one in call.keywords:
        if one.arg is not None:
            yield one.arg, one
            continue
        written = list(keys_of(source, one.value))
        yield from written or held(source, one, frame)


def keys_in(node: ast.Dict) -> Iterator[tuple[str, ast.Constant]]:
    for key in node.keys:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, key


def held(
    source: Source, unpacked: ast.keyword, frame: Frame | None
) -> Iterator[tuple[str, ast.keyword | ast.Constant]]:
    """What a frame has for the dictionary, each name with its key where just one in the file has
    the same names."""
    text = ast.unparse(unpacked.value)
    values = [one for one in frame.values if one.text == text] if frame else []
    names = list(values[0].members) if values and values[0].kind == "dict" else []
    written = [dict(keys_in(one)) for one in source.every(ast.Dict)]
    same = [one for one in written if set(one) == set(names)]
    keys: dict[str, ast.Constant] = same[0] if len(same) == 1 else {}
    yield from ((name, keys.get(name, unpacked)) for name in names)


def explained(
    source: Source,
    call: ast.Call,
    functions: Functions,
    function: Function,
    name: str,
    known: dict[str, ast.keyword | ast.Constant],
) -> Strange:
    keyword = known[name]
    new, value = WITH_VALUE.get(name, ("", ""))
    if new in function.takes and new not in known and is_true(keyword):
        return Strange(name, keyword, new, value)
    near = get_close_matches(name, function.takes, 1, ALIKE)
    for one in (RENAMED.get(name, ""), *near):
        if one in function.takes and one not in known:
            return Strange(name, keyword, one)
    packages, gone = DROPPED.get(name, ((), ""))
    if function.package in packages:
        return Strange(name, keyword, gone=gone)
    moved = moved_to(source, call, functions, name)
    return Strange(name, keyword, moved[1], moved_to=moved[0]) if moved else Strange(name, keyword)


def is_true(keyword: ast.keyword | ast.Constant) -> bool:
    value = keyword.value if isinstance(keyword, ast.keyword) else None
    return isinstance(value, ast.Constant) and value.value is True


def moved_to(
    source: Source, call: ast.Call, functions: Functions, name: str
) -> tuple[ast.Call, str] | None:
    """Another call whose value this one is given, such as that of its settings, takes it."""
    for one in (*call.args, *(keyword.value for keyword in call.keywords)):
        value = source.value_of(one)
        other = functions.get(source.segment(value.func)) if isinstance(value, ast.Call) else None
        for new in (name, RENAMED.get(name, "")):
            if isinstance(value, ast.Call) and other and new in other.takes:
                return value, new
    return None


def headline(function: Function, strange: list[Strange]) -> str:
    names = spoken(code(one.name) for one in strange)
    installed = f"{function.package} {function.version}".strip()
    said = f"`{function.name}` of {installed} takes no {names}"
    single = strange[0] if len(strange) == 1 else None
    if single and single.moved_to:
        return f"{said}: it is `{single.new}` of `{called(single.moved_to)}` there."
    return f"{said}: it is called `{single.new}` there." if single and single.new else f"{said}."


def facts(source: Source, wrong: Wrong, others: list[Wrong]) -> Iterator[Fact]:
    for one in wrong.strange:
        yield Fact(code(one.name), what_became(one, wrong.function))
    for other in others:
        for one in other.strange:
            at = f"{source.file}:{one.keyword.lineno}"
            became = what_became(one, other.function)
            yield Fact(f"also {code(one.name)}", f"of `{other.function.name}`, {at}, {became}")


def what_became(one: Strange, function: Function) -> str:
    if one.moved_to:
        return f"is `{one.new}` of `{called(one.moved_to)}`"
    if one.new:
        return f"is `{one.new}={one.value}`" if one.value else f"is `{one.new}`"
    if one.gone:
        return f"is gone: {one.gone}"
    near = get_close_matches(one.name, function.takes, 3, 0.5)
    like = f"; the nearest are {spoken(map(code, near))}" if near else ""
    return f"has no argument like it{like}"


def fixes(source: Source, wrong: Wrong, others: list[Wrong]) -> Iterator[Fix]:
    every = [*wrong.strange, *(one for other in others for one in other.strange)]
    text = ", ".join(dict.fromkeys(advice(one) for one in every))
    text = f"{text[0].upper()}{text[1:]}."
    if not wrong.explained:
        why_not = "only you know what an argument of no known successor was meant to do"
        yield Fix(text, why_not_tried=why_not)
        return
    edit = changed(source, every)
    old = {one.name for one in wrong.strange}
    stay = [name for name in wrong.known if name not in old]
    new = [one.new for one in wrong.strange if one.new and one.moved_to is None]
    statement = source.statement_of(wrong.call)
    if wrong.function.question is None:
        yield Fix(text, edit, why_not_tried=ONLY_READ)
        return
    must = ArgumentsFit(
        wrong.function.question,
        source.segment(wrong.call.func),
        (*stay, *new),
        Place(source.file, statement.lineno),
    )
    yield Fix(text, edit, must, "" if edit else "the argument does not stand in the call itself")


def advice(one: Strange) -> str:
    if one.moved_to:
        return f"give `{one.new}` to `{called(one.moved_to)}` in place of `{one.name}`"
    if one.new:
        written = f"{one.new}={one.value}" if one.value else one.new
        return f"write `{written}` in place of `{one.name}`"
    return f"take out `{one.name}`"


def changed(source: Source, strange: list[Strange]) -> Edit | None:
    edit = Edit(source.file, ())
    for one in strange:
        more = change(source, one)
        if more is None:
            return None
        edit = both(edit, more)
    return edit


def change(source: Source, one: Strange) -> Edit | None:
    owner = source.parents[one.keyword]
    if isinstance(one.keyword, ast.Constant):
        if one.gone and isinstance(owner, ast.Dict):
            return entries_removed(source, owner, [one.name])
        if not one.new or one.value or one.moved_to:
            return None
        return Edit(source.file, (Replace(source.span(one.keyword), f'"{one.new}"'),))
    if not isinstance(owner, ast.Call) or one.keyword.arg is None:
        return None
    if one.moved_to is not None:
        value = source.segment(one.keyword.value)
        taken = argument_removed(source, owner, one.name)
        return both(taken, argument_added(source, one.moved_to, one.new, value))
    if not one.new:
        return argument_removed(source, owner, one.name)
    span = source.span(one.keyword)
    if one.value:
        return Edit(source.file, (Replace(span, f"{one.new}={one.value}"),))
    name = Span(span.line, span.column, span.line, span.column + len(one.name))
    return Edit(source.file, (Replace(name, one.new),))


@RULE.on(Script)
def a_name_is_not_taken(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    functions = read_functions(source) if source else {}
    for call in source.every(ast.Call) if source and functions else ():
        assert source is not None
        wrong = wrong_in(source, call, functions) if call.keywords else None
        if wrong is None or is_tried_first(source, call) or can_be_taken_out(source, wrong):
            continue
        yield RULE.finding(
            Place(source.file, min(one.keyword.lineno for one in wrong.strange)),
            headline(wrong.function, wrong.strange),
            facts=tuple(facts(source, wrong, [])),
            why="The script was written for another version of the library, or the name is"
            " misspelled.",
            fixes=tuple(fixes(source, wrong, [])),
            severity=Severity.WARNING,
        )


def read_functions(source: Source) -> Functions:
    """By the text of each: what imported functions take that calls of the file give names to."""
    found: Functions = {}
    for name, calls in source.imported_calls.items():
        package = name.partition(".")[0]
        named = [one for one in calls if one.keywords]
        takes = arguments_taken(name) if named and package else None
        if takes is None or is_shadowed(package, source.file):
            continue
        if all(key in takes for one in named for key in dict(given(source, one))):
            continue
        last = name.rpartition(".")[2]
        function = Function(last, package, version(package), tuple(sorted(takes)))
        found |= {source.segment(one.func): function for one in named}
    return found


def can_be_taken_out(source: Source, wrong: Wrong) -> bool:
    """An argument that comes from a dictionary which the file changes somewhere."""
    stars = [one.value for one in wrong.call.keywords if one.arg is None and dotted(one.value)]
    own = {one.arg for one in wrong.call.keywords}
    return any(
        one.name not in own and is_changed(source, star, one.name)
        for one in wrong.strange
        for star in stars
    )
