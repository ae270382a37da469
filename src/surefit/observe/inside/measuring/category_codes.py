"""Which number each category gets, wherever pandas numbers categories before training."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.category_codes import CategoryCodes, TwoNumberings
from surefit.observe.inside import events, finishing, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic
from surefit.observe.inside.training.drawing import own_stack
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST_TIMES = 64
MOST_CATEGORIES = 100_000
LONGEST = 40


@dataclass(slots=True)
class Numbering:
    """One time."""

    stack: tuple[Place, ...]
    numbers: dict[str, int]


@dataclass(slots=True)
class CodeState:
    """Of this process."""

    times: int = 0
    known: dict[str, Numbering] = field(default_factory=dict)
    """The first of each column."""
    changes: list[TwoNumberings] = field(default_factory=list)
    embeds: bool = False
    changed: bool = False


state = CodeState()


@after_import("pandas.core.arrays.categorical")
def categories(module: ModuleType) -> None:
    kind = module.CategoricalAccessor
    plain = vars(kind)["codes"]
    kind.codes = property(around(plain.fget, _numbers), doc=plain.__doc__)


def _numbers(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """Once a step was taken, what is numbered is another matter: a new fold, say."""
    if noted.steps or state.times >= MOST_TIMES:
        return False
    held = attributes(args[0])
    column, categorical = held.get("_name"), held.get("_parent")
    stack = own_stack(3)
    if type(column) is not str or categorical is None or not stack:
        return False
    names = categorical.categories.tolist()
    if len(names) <= MOST_CATEGORIES:
        state.times += 1
        state.changed = True
        _compare(column, Numbering(stack, {str(name): at for at, name in enumerate(names)}))
    return False


def _compare(column: str, later: Numbering) -> None:
    first = state.known.setdefault(column, later)
    if first is later:
        return
    shared = [name for name in later.numbers if name in first.numbers]
    moved = [name for name in shared if first.numbers[name] != later.numbers[name]]
    if not moved or any(change.column == column for change in state.changes):
        return
    example = moved[-1]
    state.changes.append(
        TwoNumberings(
            column=column,
            function="cat.codes",
            stack=first.stack,
            again=later.stack,
            first=len(first.numbers),
            second=len(later.numbers),
            shared=len(shared),
            moved=len(moved),
            example=example[:LONGEST],
            numbers=(first.numbers[example], later.numbers[example]),
        )
    )


@events.on(events.forward_begun)
def forward_begun(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    events.forward_begun.rest(forward_begun)
    if state.changes:
        kinds = [type(layer).__name__ for layer in module.modules()]
        state.embeds = any(kind.startswith("Embedding") for kind in kinds)


@finishing.at_end
@periodic.every_few_seconds
@guarded("numbers of categories")
def write() -> None:
    if not state.changed or not noted.steps:
        return
    state.changed = False
    spool.saw(
        CategoryCodes(
            process=spool.process(),
            steps=noted.steps,
            numbered=state.times,
            embeds=state.embeds,
            changes=tuple(state.changes),
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
