"""Most names in `target_modules` match no layer of the model, and PEFT says nothing, as one does.

## What happens
PEFT looks for layers whose name ends in one of `target_modules`. Names of another architecture, or
misspelt ones, match nothing. PEFT complains only where not a single name matches.

## Why it matters
Adapters are on a few layers instead of all that were asked for. The loss falls a little, and the
run looks like one with a rate that is too low.

## What to do
Name the layers that this model has, or `target_modules="all-linear"`.

## How it is recognised
When training begins, the layers that have an adapter are held against the names that were asked
for. Reported if more names match nothing than match something, or if one that matches nothing is
nearly the name of a layer. A list with some names of other architectures is left alone.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.adapter_targets import UnmatchedTargets
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import Source

RULE = Rule("SF332", "adapter-targets-partly-missing", Severity.ERROR, __doc__)

TARGETS = "target_modules"


@RULE.on(UnmatchedTargets)
def most_names_match_no_layer(broken: UnmatchedTargets, case: Case) -> Finding:
    adapter = broken.adapter
    config, names = configuration(case, broken)
    at = names or config or broken.use
    left = {name: n for name, n in adapter.layers.items() if name not in adapter.adapted}
    return case.finding(
        at.place,
        broken.said,
        facts=(
            Fact("match no layer", spoken(map(code, broken.unmatched))),
            Fact("match", spoken(map(code, broken.matched))),
            Fact("layers without an adapter", listed(left)),
        ),
        why="PEFT puts adapters on layers whose name ends in one of these, and complains only where"
        " none matches. Every architecture has its own names.",
        remedies=tuple(remedies(broken, config, names)),
    )


def listed(layers: dict[str, int]) -> str:
    return spoken(f"{count:,} of `{name}`" for name, count in sorted(layers.items()))


def remedies(
    broken: UnmatchedTargets, config: Expression | None, names: Expression | None
) -> Iterator[Remedy]:
    must = law_holds(broken)
    if broken.misspelt and names is not None and len(broken.misspelt) == len(broken.unmatched):
        asked = [broken.misspelt.get(name, name) for name in broken.adapter.asked]
        text = f"[{', '.join(repr_of(name) for name in dict.fromkeys(asked))}]"
        words = f"Write {some(broken.misspelt.values())}."
        yield ReplaceWith(at=names, text=text, words=words, must=must)
    if config is not None:
        count = counted(sum(broken.adapter.layers.values()), "layer")
        words = f'Adapt all linear layers but the head: `{TARGETS}="all-linear"`, of {count}.'
        yield SetArgument(
            at=config, name=TARGETS, value='"all-linear"', words=words, must=must, choice=True
        )
    usual = broken.adapter.usual
    if names is not None and usual:
        text = f"[{', '.join(map(repr_of, usual))}]"
        words = f"Name {some(usual)}, which PEFT itself chooses for {broken.adapter.type}."
        yield ReplaceWith(at=names, text=text, words=words, must=must, choice=True)


def repr_of(name: str) -> str:
    return f'"{name}"'


def configuration(
    case: Case, broken: UnmatchedTargets
) -> tuple[Expression | None, Expression | None]:
    """The call with these names, and the list itself where it is written out."""
    for source, call in case.recording.every(ast.Call):
        value = source.argument(call, TARGETS)
        if value is None:
            continue
        names = list_of(source, value)
        if names is None or strings(names) == set(broken.adapter.asked):
            written = case.expression(source, names) if names is not None else None
            return case.expression(source, call), written
    return None, None


def list_of(source: Source, value: ast.expr) -> ast.List | ast.Tuple | ast.Set | None:
    followed = source.value_of(value)
    return followed if isinstance(followed, ast.List | ast.Tuple | ast.Set) else None


def strings(names: ast.List | ast.Tuple | ast.Set) -> set[str]:
    return {str(item.value) for item in names.elts if isinstance(item, ast.Constant)}
