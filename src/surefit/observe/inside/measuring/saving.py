"""State dicts that are kept, saved and loaded: whether they are still what they were.

`state_dict()` gives the live tensors. Of each is noted where they lie and how often they had been
written to; when they are used later, both are compared. No tensor is kept for that.
"""

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.saving import LiveState, LoadSeen, SavingSeen, TieSeen
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import state_tensors
from surefit.observe.inside.measuring.state_tensors import Tensors
from surefit.observe.inside.training import backward, periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 64
"""Different lines of each kind that are told of."""
MOST_TAKEN = 256
"""State dicts that are remembered."""
NEARLY_ALL = 0.9

budget = Budget(share=0.002, opening=0.2)


@dataclass(slots=True, eq=False)
class Taken:
    """A state dict as it was when it was taken."""

    model: str
    place: Place | None
    step: int
    backwards: int
    """Backward passes before it."""
    lies: dict[str, tuple[int, int]]
    """Name -> address, and times that it had been written to."""


@dataclass(slots=True, eq=False)
class LoadedFile:
    """Entries that `torch.load` gave."""

    file: str
    place: Place | None
    shapes: dict[str, tuple[int, ...]]


@dataclass(slots=True)
class StatesSoFar:
    """All so far."""

    state_dicts: int = 0
    saves: int = 0
    loads: dict[object, LoadSeen] = field(default_factory=dict)
    live: dict[object, LiveState] = field(default_factory=dict)
    ties: dict[object, TieSeen] = field(default_factory=dict)
    best_looks: int = 0
    tied: int = 0
    taken: dict[int, tuple[Any, Taken]] = field(default_factory=dict)
    """Id of a tensor of a state dict -> weak reference to it, and the dict."""
    recent: dict[tuple[str, Place | None], Taken] = field(default_factory=dict)
    """The last of each line, also of those that are gone."""
    files: dict[int, tuple[Any, LoadedFile]] = field(default_factory=dict)
    last_file: LoadedFile | None = None
    loading: list[tuple[Any, ...]] = field(default_factory=list)
    optimizers: set[int] = field(default_factory=set)
    trained: set[int] = field(default_factory=set)
    """Addresses of what an optimizer has changed."""


so_far = StatesSoFar()


@after_import("torch.nn.modules.module")
def modules(module: ModuleType) -> None:
    kind = module.Module
    kind.state_dict = around(kind.state_dict, _takes, _took)
    kind.load_state_dict = around(kind.load_state_dict, _loads, _loaded)


@after_import("torch.serialization")
def files(module: ModuleType) -> None:
    vars(module)["save"] = around(vars(module)["save"], _saves)
    vars(module)["load"] = around(vars(module)["load"], _reads, _read)


@after_import("safetensors.torch")
def safetensors_files(module: ModuleType) -> None:
    vars(module)["save_file"] = around(vars(module)["save_file"], _saves)
    vars(module)["load_file"] = around(vars(module)["load_file"], _reads, _read)


@events.on(events.step_ended)
def stepped(optimizer: Any) -> None:
    """The tensors of an optimizer that is new here, and at times of all, as one can grow."""
    key, step = identity(optimizer), noted.steps
    events.step_ended.rest(stepped, events.before_power_of_two(step))
    if key in so_far.optimizers and step & (step - 1):
        return
    so_far.optimizers.add(key)
    if budget.allows() and readable.can_look():
        with budget, readable.looking():
            every = [tensor for group in optimizer.param_groups for tensor in group["params"]]
            plain = (readable.plain(tensor) for tensor in every[: state_tensors.MOST])
            so_far.trained |= {tensor.data_ptr() for tensor in plain if tensor is not None}


@events.on(events.optimizer_came)
def optimizer_came(_optimizer: Any) -> None:
    events.step_ended.wake(stepped)


def _takes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Not of a part of a module whose state is being taken."""
    return "destination" not in kwargs and len(args) == 1 and budget.allows()


def _took(args: tuple[Any, ...], state: Any) -> None:
    if state is None or not readable.can_look():
        return
    so_far.state_dicts += 1
    with budget, readable.looking():
        tensors = state_tensors.in_mapping(state)
        if not tensors:
            return
        kind, place = type(args[0]).__name__, own_code.own_place()
        taken = Taken(kind, place, noted.steps, backward.seen.count, _lies(tensors))
        if len(so_far.recent) < MOST or (kind, place) in so_far.recent:
            so_far.recent[kind, place] = taken
        for tensor in (state[next(iter(tensors))], state):
            _remember(so_far.taken, tensor, taken)


def _remember(table: dict[int, tuple[Any, Any]], thing: Any, about: Any) -> None:
    key = identity(thing)

    def gone(reference: object) -> None:
        known = table.get(key)
        if known is not None and known[0] is reference:
            del table[key]

    if len(table) >= MOST_TAKEN:
        del table[next(iter(table))]
    try:
        table[key] = weakref.ref(thing, gone), about
    except TypeError:  # a plain dict: its tensors are remembered
        return


def _known(table: dict[int, tuple[Any, Any]], state: Any, tensors: Tensors) -> Any:
    """By the mapping itself or by its first tensor, which a copy of the mapping has, too."""
    for thing in (state, *(state[name] for name in list(tensors)[:1])):
        reference, about = table.get(identity(thing), (None, None))
        if reference is not None and reference() is thing:
            return about
    return None


def _lies(tensors: Tensors) -> dict[str, tuple[int, int]]:
    return {name: (tensor.data_ptr(), tensor._version) for name, tensor in tensors.items()}


def _taken_of(state: Any, tensors: Tensors) -> Taken | None:
    """Where copies of the tensors hide which state dict it was, the last that lies there: if even
    that was changed since, all were."""
    known: Taken | None = _known(so_far.taken, state, tensors)
    if known is not None:
        return known
    name = next(iter(tensors))
    at = tensors[name].data_ptr()
    every = [taken for taken in so_far.recent.values() if taken.lies.get(name, (0, 0))[0] == at]
    return max(every, key=lambda taken: taken.step, default=None)


def _loads(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    module = args[0]
    state = args[1] if len(args) > 1 else kwargs.get("state_dict")
    strict = args[2] if len(args) > 2 else kwargs.get("strict", True)
    if not isinstance(state, Mapping) or not readable.can_look():
        return False
    with budget, readable.looking():
        entries = state_tensors.in_mapping(state)
        own = state_tensors.of_module(module)
        is_own = _look_at_live(state, entries, own) if entries else False
        ties = state_tensors.ties(own)
    so_far.loading.append((identity(module), state, bool(strict), entries, is_own, ties))
    return True


def _look_at_live(state: Any, entries: Tensors, own: Tensors) -> bool:
    """Notes what is no longer what it was; whether it is the module's own, unchanged."""
    shared = [
        name
        for name, tensor in entries.items()
        if name in own and own[name].data_ptr() == tensor.data_ptr()
    ]
    itself = len(shared) >= NEARLY_ALL * len(entries)
    taken = _taken_of(state, entries) if itself else _known(so_far.taken, state, entries)
    if taken is None:
        return itself
    now = own if itself else entries
    changed = _changed(taken, now)
    if changed and (itself or taken.step):
        _note_live("loaded", taken, len(entries), changed, itself)
    return itself and not changed


def _changed(taken: Taken, now: Tensors) -> int:
    """Tensors that lie where they did, and were written to since; none where that was not done by
    training, but by the user's own hand."""
    if backward.seen.count == taken.backwards:
        return 0
    changed = [
        at
        for name, (at, version) in taken.lies.items()
        if name in now and at == now[name].data_ptr() and version != now[name]._version
    ]
    by_training = not so_far.trained or not so_far.trained.isdisjoint(changed)
    return len(changed) if by_training else 0


def _note_live(how: str, taken: Taken, tensors: int, changed: int, itself: bool) -> None:
    place = own_code.own_place()
    key = how, taken.place, place
    if key in so_far.live or len(so_far.live) >= MOST:
        return
    so_far.live[key] = LiveState(
        how=how,
        model=taken.model,
        taken_at=taken.place,
        taken_step=taken.step,
        used_at=place,
        used_step=noted.steps,
        tensors=tensors,
        changed=changed,
        itself=itself,
    )


def _loaded(args: tuple[Any, ...], result: Any) -> None:
    if not so_far.loading:
        return
    key, state, strict, entries, is_own, ties = so_far.loading.pop()
    if result is None or key != identity(args[0]):
        so_far.loading.clear()
        return
    place = own_code.own_place()
    if (place, key) in so_far.loads:
        known = so_far.loads[place, key]
        so_far.loads[place, key] = replace(known, times=known.times + 1)
        return
    if len(so_far.loads) >= MOST:
        return
    with budget, readable.looking():
        own = state_tensors.of_module(args[0])
        _note_load(args[0], place, key, state, strict, entries, own, is_own)
        _note_ties(args[0], place, ties, own, entries)


def _note_load(
    module: Any,
    place: Place | None,
    key: int,
    state: Any,
    strict: bool,
    entries: Tensors,
    own: Tensors,
    is_own: bool,
) -> None:
    file: LoadedFile | None = _known(so_far.files, state, entries) if entries else None
    shapes = {name: tuple(tensor.shape) for name, tensor in entries.items()}
    if is_own and file is None and so_far.last_file is not None:
        file, shapes = so_far.last_file, so_far.last_file.shapes
    targets = {name: tuple(tensor.shape) for name, tensor in own.items()}
    drop, add, would = state_tensors.best_prefix(shapes, targets)
    unknown = [name for name in shapes if name not in targets]
    missing = [name for name in targets if name not in shapes]
    so_far.loads[place, key] = LoadSeen(
        place=place,
        model=type(module).__name__,
        step=noted.steps,
        times=1,
        strict=strict,
        given=len(shapes),
        matched=len(shapes) - len(unknown),
        missing=len(missing),
        first_given=tuple(unknown[:3]),
        first_missing=tuple(missing[:3]),
        drop=drop,
        add=add,
        would_match=would,
        own=is_own,
        file=file.file if file is not None else "",
        read_at=file.place if file is not None else None,
    )


def _note_ties(
    module: Any,
    place: Place | None,
    before: frozenset[frozenset[str]],
    own: Tensors,
    entries: Tensors,
) -> None:
    after = state_tensors.ties(own)
    so_far.tied = max(so_far.tied, len(after))
    together = [(group, False) for group in before]
    together += [(group, True) for group in state_tensors.ties(entries)]
    for group, in_file in together:
        parted = group <= own.keys() and not any(group <= other for other in after)
        if parted and len(so_far.ties) < MOST:
            so_far.ties.setdefault(
                (identity(module), group),
                TieSeen(
                    model=type(module).__name__,
                    names=tuple(sorted(group)),
                    place=place,
                    step=noted.steps,
                    in_file=in_file,
                ),
            )


def _saves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    saved = args[0] if args else kwargs.get("obj", kwargs.get("tensors"))
    so_far.saves += 1
    if not budget.allows() or not readable.can_look():
        return False
    with budget, readable.looking():
        for state in _states_in(saved):
            tensors = state_tensors.in_mapping(state)
            taken = _known(so_far.taken, state, tensors) if tensors else None
            changed = _changed(taken, tensors) if taken is not None else 0
            if taken is not None and changed and taken.step:
                _note_live("saved", taken, len(tensors), changed, False)
    return False


def _states_in(saved: Any) -> Iterator[Mapping[str, Any]]:
    """What is saved, where it is a state dict, and those that it holds."""
    if not isinstance(saved, dict):
        return
    yield saved
    for inside in list(saved.values())[: state_tensors.MOST]:
        if isinstance(inside, dict):
            yield inside


def _reads(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    so_far.loading.append((None, args[0] if args else kwargs.get("f", kwargs.get("filename"))))
    return True


def _read(_args: tuple[Any, ...], result: Any) -> None:
    if not so_far.loading or so_far.loading[-1][0] is not None:
        return
    file = so_far.loading.pop()[1]
    if result is None or not readable.can_look():
        return
    with budget, readable.looking():
        for state in _states_in(result):
            tensors = state_tensors.in_mapping(state)
            if len(tensors) < 2 and state is not result:
                continue
            if tensors:
                shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
                name = (
                    str(file)
                    if isinstance(file, str | bytes) or hasattr(file, "__fspath__")
                    else ""
                )
                read = LoadedFile(name, own_code.own_place(), shapes)
                so_far.last_file = read
                for thing in (state[next(iter(tensors))], state):
                    _remember(so_far.files, thing, read)


@finishing.at_end
@periodic.every_few_seconds
@spool.guarded("what is saved")
def write() -> None:
    if so_far.state_dicts or so_far.saves or so_far.loads or so_far.best_looks:
        spool.saw(
            SavingSeen(
                process=spool.process(),
                state_dicts=so_far.state_dicts,
                saves=so_far.saves,
                loads=tuple(so_far.loads.values()),
                live=tuple(so_far.live.values()),
                ties=tuple(so_far.ties.values()),
                best_looks=so_far.best_looks,
                tied=so_far.tied,
            )
        )


@finishing.after_fork
def forget_parent() -> None:
    global so_far
    so_far = StatesSoFar()
