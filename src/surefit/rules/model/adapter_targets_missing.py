"""Adapters were to be put on layers that the model does not have.

## What happens
PEFT finds layers by the last part of their names. Every architecture has names of its own: `q_proj`
and `v_proj` in Llama, `c_attn` in GPT-2, `query` and `value` in BERT. And a list that a script
collects by `isinstance(module, nn.Linear)` is empty for GPT-2, whose projections are `Conv1D`.

## Why it matters
Names copied from a tutorial for another model match nothing. Where some of them match, PEFT says
nothing, and the others are simply not trained.

## What to do
Name layers that this model has; or leave `target_modules` out, and PEFT takes its own choice for a
known architecture; or `target_modules="all-linear"`, which knows `Conv1D`, too.

## How it is recognised
PEFT was putting adapters into a model, and none of the names asked for is the last part of the name
of one of its layers, or none was asked for at all.

In a script that is only read: `get_peft_model` is given a `LoraConfig` whose `target_modules` are
written out, and a model that is made in the file or is of an architecture that surefit knows, and
none of the names is among its layers.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.adapters import AdaptersMove
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, some, spoken
from surefit.interpreter import wording
from surefit.interpreter.violations import AdapterTargetsMissing
from surefit.source.edits import argument_removed, replaced, with_import
from surefit.source.reading import Source, called

RULE = Rule(
    "SF320",
    "adapter-targets-missing",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"[Tt]arget.modules .*(not found|passed)|No modules were targeted",
            "the names of the layers that the model has",
            passed=r"peft",
        ),
    ),
)

PEFT = "peft/"
ADAPTED = ("Linear", "Conv1D")
CONFIGS = ("LoraConfig", "AdaLoraConfig", "IA3Config", "LoHaConfig", "LoKrConfig", "OFTConfig")
CONV1D = "transformers.pytorch_utils"


@dataclass(frozen=True, slots=True)
class Targets:
    """What was asked for, and what there is."""

    model: str
    type: str = ""
    targets: tuple[str, ...] | str | None = None
    layers: dict[str, dict[str, int]] = field(default_factory=dict)
    """The last part of a layer's name -> its kind -> how many there are."""
    usual: tuple[str, ...] = ()
    """PEFT's own choice for such a model."""

    @property
    def asked(self) -> tuple[str, ...]:
        return (self.targets,) if isinstance(self.targets, str) else tuple(self.targets or ())

    @property
    def linear(self) -> dict[str, dict[str, int]]:
        found = {
            name: {kind: count for kind, count in kinds.items() if kind in ADAPTED}
            for name, kinds in self.layers.items()
        }
        return {name: kinds for name, kinds in found.items() if kinds}


@RULE.on(Crash)
def no_layer_has_such_a_name(crash: Crash, seen: Recording) -> Iterator[Finding]:
    targets = targets_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if targets is None or frame is None or matched(targets):
        return
    config = config_call(seen, frame.place)
    given = config[0].argument(config[1], "target_modules") if config else None
    collects = collecting_test(*config, given) if config and given else None
    chosen = None if given else names_chosen(targets, seen)
    yield RULE.finding(
        Place(chosen[0].file, chosen[1].lineno, chosen[1].end_lineno)
        if chosen
        else place_of(frame.place, config, collects),
        headline(targets),
        facts=tuple(facts(targets)),
        why=why(targets, collects is not None),
        fixes=tuple(fixes(targets, config, collects, chosen)),
        python_said=crash.said,
        about=crash.id,
    )


def targets_in(crash: Crash, seen: Recording) -> Targets | None:
    if not any(PEFT in frame.place.file.replace("\\", "/") for frame in crash.frames):
        return None
    said = seen.ask(Question("adapter-targets", crash.id))
    return msgspec.convert(said, Targets, strict=False) if said is not None else None


def matched(targets: Targets) -> bool:
    """Some name is that of a layer; a pattern is PEFT's own affair."""
    if isinstance(targets.targets, str):
        return targets.targets == "all-linear"
    last_parts = {one.rpartition(".")[2] for one in targets.asked}
    return bool(last_parts & targets.layers.keys())


def config_call(seen: Recording, place: Place) -> tuple[Source, ast.Call] | None:
    """The only call in the file that makes such a configuration."""
    source = seen.source(place)
    calls = [one for one in source.every(ast.Call) if called(one) in CONFIGS] if source else []
    return (source, calls[0]) if source and len(calls) == 1 else None


def has_names(source: Source, call: ast.Call) -> bool:
    """The call itself names `target_modules`; it can also come in a dictionary: `**settings`."""
    return source.argument(call, "target_modules") is not None


def names_chosen(targets: Targets, seen: Recording) -> tuple[Source, ast.List] | None:
    """The only list of just these names in the user's source."""
    found = [
        (source, node)
        for source in filter(None, (seen.source(one.file) for one in seen.all(Script)))
        for node in source.every(ast.List)
        if texts(node) == sorted(targets.asked)
    ]
    return found[0] if len(found) == 1 and targets.asked else None


def texts(node: ast.List) -> list[str] | None:
    values = [one.value for one in node.elts if isinstance(one, ast.Constant)]
    return sorted(map(str, values)) if len(values) == len(node.elts) else None


def collecting_test(source: Source, _call: ast.Call, given: ast.expr) -> ast.Call | None:
    """`isinstance(module, nn.Linear)` in the function that made the list of names."""
    made = source.value_of(given)
    if not isinstance(made, ast.Call):
        return None
    places: list[ast.AST] = list(source.definitions.get(called(made), ()))
    tests = [
        node
        for place in places
        for node in ast.walk(place)
        if isinstance(node, ast.Call) and called(node) == "isinstance" and len(node.args) == 2
    ]
    linear = [one for one in tests if source.segment(one.args[1]).rpartition(".")[2] == "Linear"]
    return linear[0] if len(linear) == 1 else None


def place_of(
    raised: Place, config: tuple[Source, ast.Call] | None, collects: ast.Call | None
) -> Place:
    if config is None:
        return raised
    node = collects or config[1]
    return Place(config[0].file, node.lineno, node.end_lineno)


def headline(targets: Targets) -> str:
    has = some(targets.linear)
    if not targets.asked:
        return f"`target_modules` is empty, and `{targets.model}` has layers to adapt: {has}."
    return f"`{targets.model}` has no layer named {spoken_names(targets)}; it has {has}."


def spoken_names(targets: Targets) -> str:
    names = [f"`{one}`" for one in targets.asked[:4]]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def facts(targets: Targets) -> Iterator[Fact]:
    asked = ", ".join(targets.asked) or "none"
    yield Fact("`target_modules`", asked)
    for name, kinds in list(targets.linear.items())[:6]:
        yield Fact(f"`{name}`", spoken([f"{count} of {kind}" for kind, count in kinds.items()]))
    if targets.usual:
        yield Fact(f"PEFT's own choice for {targets.type}", ", ".join(targets.usual))


def is_conv1d(targets: Targets) -> bool:
    return any("Conv1D" in kinds for kinds in targets.linear.values())


def why(targets: Targets, collects: bool) -> str:
    if collects and is_conv1d(targets):
        return (
            f"The projections of `{targets.model}` are `Conv1D` layers of transformers, not"
            " `nn.Linear`: the test that collects the names passes over every one of them."
        )
    return "PEFT matches the last part of a layer's name, and every architecture has its own names."


def fixes(
    targets: Targets,
    config: tuple[Source, ast.Call] | None,
    collects: ast.Call | None,
    chosen: tuple[Source, ast.List] | None = None,
) -> Iterator[Fix]:
    if config is not None and collects is not None and is_conv1d(targets):
        source, kind = config[0], collects.args[1]
        edit = replaced(source, kind, f"({source.segment(kind)}, Conv1D)")
        yield Fix(
            f"Collect `Conv1D` layers, too: {some(conv1d_names(targets))}.",
            with_import(edit, source, CONV1D, "Conv1D"),
            AdaptersMove(),
        )
        return
    names = spoken([f"`{one}`" for one in targets.usual])
    if targets.usual and chosen is not None:
        listed = ", ".join(f'"{one}"' for one in targets.usual)
        yield Fix(
            f"Name {names}, which PEFT itself chooses for {targets.type}.",
            replaced(*chosen, f"[{listed}]"),
            AdaptersMove(),
        )
    elif targets.usual and config is not None and has_names(*config):
        source, call = config
        yield Fix(
            f"Leave `target_modules` out, and PEFT takes {names}, its own choice for"
            f" {targets.type}.",
            argument_removed(source, call, "target_modules"),
            AdaptersMove(),
        )
    layers = counted(sum(sum(kinds.values()) for kinds in targets.linear.values()), "layer")
    yield Fix(
        f'Name layers that it has, or take all of them: `target_modules="all-linear"`, {layers}.',
        why_not_tried="only you know which layers are to be trained",
    )


def conv1d_names(targets: Targets) -> list[str]:
    return [name for name, kinds in targets.linear.items() if "Conv1D" in kinds]


@RULE.on(Script)
def targets_in_the_source_are_missing(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, AdapterTargetsMissing):
        has = sorted({name.rpartition(".")[2] for name in one.names})
        asked = spoken(f"`{name}`" for name in one.targets).replace(" and ", " or ")
        yield RULE.finding(
            wording.place_of(source, one.config),
            f"`{one.model}` has no layer named {asked}.",
            facts=(Fact("it has", spoken(f"`{name}`" for name in has[:6])),),
            why="PEFT finds layers by the last part of their names, and every architecture has"
            " names of its own.",
            fixes=(Fix("Name layers that the model has.", why_not_tried=wording.ONLY_READ),),
            severity=Severity.WARNING,
        )
