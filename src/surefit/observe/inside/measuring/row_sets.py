"""Which rows each model is trained on, and which it is evaluated on: by content."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_sets import (
    EvaluatedRows,
    FreshRows,
    LoaderSeen,
    RowSets,
    TrainedRows,
)
from surefit.observe.inside import epochs, events, finishing, origins, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import near_rows, periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.model_rows import rows_of
from surefit.observe.inside.training.row_prints import RowPrints
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around

MOST_ROWS = 20_000
MOST_MODELS = 4
MOST_STREAMS = 16
MOST_PENDING = 8
MOST_ROUNDS = 12
FEW_WEIGHTS = 4
"""Parameters, and elements of each, that tell whether weights were set."""
REST = 14
"""Calls in training that are passed over where there is no time for one."""
DEEPEST = 5
WRAPPERS = ("DistributedDataParallel", "DataParallel", "OptimizedModule")
EVALUATING = ("evaluation_loop", "prediction_loop", "_run_validation", "validation_step")

training_budget = Budget(share=0.001, opening=0.1)
evaluation_budget = Budget(share=0.001, opening=0.15)


@dataclass(slots=True)
class TrainingSet:
    """Rows that a model was trained on."""

    exact: set[int] = field(default_factory=set)
    orderless: set[int] = field(default_factory=set)
    sketches: list[Any] = field(default_factory=list)
    rows: int = 0
    width: int = 0
    continuous: bool = True
    pairs: int = 0
    equal_pairs: int = 0
    loaders: dict[Place | None, LoaderSeen] = field(default_factory=dict)
    place: Place | None = None
    batches: int = 0
    different: int = 0
    last: int = 0
    starts_again: bool = False
    made_at: Place | None = None
    idle_weights: tuple[int, list[float]] = (-1, [])
    """At the last evaluation: optimizer steps before it, and some of the weights."""
    renewed: int = 0

    def add(self, rows: RowPrints, call: "ModelCall") -> None:
        if self.starts_again:  # weights were loaded: what it learned from before is forgotten
            made_at, renewed = self.made_at, self.renewed
            self.__init__(made_at=made_at, renewed=renewed + 1)  # type: ignore[misc]
        self.batches += 1
        self.place = self.place or (call.stack[0] if call.stack else None)
        if call.loader is not None and len(self.loaders) < MOST_STREAMS:
            self.loaders[call.loader.place] = call.loader
        whole = hash(tuple(rows.exact))
        self.different += whole != self.last
        self.last = whole
        if len(self.exact) >= MOST_ROWS:
            return
        count = len(rows.exact)
        distinct = set(rows.exact)
        self.rows += count
        self.pairs += count * (count - 1) // 2
        if len(distinct) < count:
            times = [rows.exact.count(known) for known in distinct]
            self.equal_pairs += sum(known * (known - 1) // 2 for known in times)
        self.width = rows.width
        self.continuous = self.continuous and rows.continuous
        if rows.sketch is not None and not distinct <= self.exact:
            fresh = [at for at, known in enumerate(rows.exact) if known not in self.exact]
            self.sketches.append(rows.sketch[fresh])
        self.exact |= distinct
        self.orderless.update(rows.orderless)


@dataclass(slots=True)
class Round:
    """Rows that are evaluated for the first time."""

    step: int
    renewed: int
    sketches_before: int
    """Projections of training batches until then."""
    first: int
    """Of its own projections, among those of the evaluation."""
    rows: int = 0
    equal: int = 0


@dataclass(slots=True)
class EvaluationSet:
    """Rows that a model was evaluated on from one place."""

    stack: tuple[Place, ...]
    library: str
    loader: LoaderSeen | None
    known: dict[int, str] = field(default_factory=dict)
    """Row -> how it stood to what the model was trained on before."""
    sketches: list[Any] = field(default_factory=list)
    calls: int = 0
    evaluating: int = 0
    cycles: int = 0
    last_step: int = -1
    step: int = -1
    trained_batch: bool = False
    rounds: list[Round] = field(default_factory=list)

    def add(self, rows: RowPrints, trained: TrainingSet, evaluating: bool) -> None:
        self.calls += 1
        self.evaluating += evaluating
        self.cycles += noted.steps != self.last_step
        self.last_step = noted.steps
        self.trained_batch |= hash(tuple(rows.exact)) == trained.last
        if len(self.known) >= MOST_ROWS or not trained.exact:
            return
        self.step = noted.steps if self.step < 0 else self.step
        fresh: list[int] = []
        unknown = [known for known in rows.exact if known not in self.known]
        if 2 * len(unknown) > len(rows.exact):
            self._note_round(unknown, trained)
        for at, (exact, orderless) in enumerate(zip(rows.exact, rows.orderless, strict=True)):
            before = self.known.get(exact)
            if exact in trained.exact:
                self.known[exact] = "equal"
            elif before is None:
                fresh.append(at)
                same = orderless in trained.orderless and rows.continuous
                self.known[exact] = "rearranged" if same else ""
        if rows.sketch is not None and fresh:
            self.sketches.append(rows.sketch[fresh])

    def _note_round(self, unknown: list[int], trained: TrainingSet) -> None:
        if not self.rounds or self.rounds[-1].step != noted.steps:
            if len(self.rounds) >= MOST_ROUNDS:
                return
            renewed, before = trained.renewed, len(trained.sketches)
            self.rounds.append(Round(noted.steps, renewed, before, len(self.sketches)))
        self.rounds[-1].rows += len(unknown)
        self.rounds[-1].equal += sum(known in trained.exact for known in unknown)


@dataclass(slots=True)
class ModelCall:
    """A call of a model whose phase is not known until a backward pass comes, or does not."""

    model: int
    rows: RowPrints
    stack: tuple[Place, ...]
    library: str
    loader: LoaderSeen | None
    evaluating: bool
    made_at: Place | None


class SetState:
    """Of this process."""

    def __init__(self) -> None:
        self.trained: dict[int, TrainingSet] = {}
        self.evaluated: dict[tuple[Any, ...], EvaluationSet] = {}
        self.pending: list[ModelCall] = []
        self.loader: LoaderSeen | None = None
        self.loaders: dict[int, tuple[int, LoaderSeen]] = {}
        self.changed = False


state = SetState()


@events.on(events.batch_came)
def batch_came(iterator: Any, batch: Any) -> None:
    if batch is None:
        state.loader = None
        return
    held = attributes(iterator)
    sampler, dataset = held.get("_index_sampler"), held.get("_dataset")
    key = object.__hash__(sampler)
    known = state.loaders.get(key)
    number = origins.number(dataset)
    if known is None or known[0] != number:
        seen = LoaderSeen(place=epochs.made_at(sampler), dataset=number)
        known = state.loaders[key] = number, seen
        if len(state.loaders) > MOST_STREAMS:
            del state.loaders[next(iter(state.loaders))]
    state.loader = known[1]


@events.on(events.forward_begun)
def called(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not (now.grad and now.training):
        return
    if training_budget.allows():
        _look(module, args, kwargs, training_budget)
    else:
        events.forward_begun.rest(called, REST)


@events.on(events.idle_begun)
def idles(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    budget = training_budget if now.grad else evaluation_budget
    if budget.allows():
        _look(module, args, kwargs, budget)


def _look(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], budget: Budget) -> None:
    if not readable.can_look():
        return
    with budget:
        with readable.looking():
            rows = rows_of(args, kwargs)
        if rows is None:
            return
        stack, library = _stack()
        evaluating = vars(module).get("training") is False
        own = _unwrapped(module)
        number = origins.number(own)
        call = ModelCall(
            number, rows, stack, library, state.loader, evaluating, origins.made_at(own)
        )
        state.changed = True
        if not now.grad:
            _evaluated(call)
        elif len(state.pending) < MOST_PENDING:
            state.pending.append(call)
            events.backward_begun.wake(backward)
        elif evaluating:
            _evaluated(state.pending.pop(0))
            state.pending.append(call)


@events.on(events.backward_begun)
def backward(_loss: Any) -> None:
    if not state.pending:
        events.backward_begun.rest(backward)
        return
    calls, state.pending = state.pending, []
    some_train = any(not call.evaluating for call in calls)
    with training_budget:
        for call in calls:
            if call.evaluating and some_train:
                _evaluated(call)
            elif call.model in state.trained or len(state.trained) < MOST_MODELS:
                trained = state.trained.get(call.model)
                if trained is None:
                    trained = state.trained[call.model] = TrainingSet(made_at=call.made_at)
                trained.add(call.rows, call)


@events.on(events.idle_begun)
def weights_at_rest(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    """Weights that change from an evaluation to the next training call without an optimizer's step
    were set: a model that begins again, as each fold of a cross validation needs it."""
    model = _unwrapped(module)
    trained = state.trained.get(origins.serial(model))
    if trained is not None and trained.idle_weights[0] != noted.steps:
        trained.idle_weights = noted.steps, _some_weights(model)
        events.forward_begun.wake(weights_at_work)


@events.on(events.forward_begun)
def weights_at_work(module: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if not (now.grad and now.training):
        return
    model = _unwrapped(module)
    trained = state.trained.get(origins.serial(model))
    if trained is not None:
        step, before = trained.idle_weights
        trained.renewed += step == noted.steps and before != _some_weights(model)
        trained.idle_weights = -1, []
    if all(known.idle_weights[0] != noted.steps for known in state.trained.values()):
        events.forward_begun.rest(weights_at_work)


def _some_weights(model: Any) -> list[float]:
    with readable.looking():
        every = [readable.plain(parameter) for parameter in model.parameters()]
        plain = [known for known in every if known is not None and known.is_cpu]
        spread = plain[:: max(1, len(plain) // FEW_WEIGHTS)]
        return [
            float(value)
            for known in spread
            for value in known.detach().reshape(-1)[:FEW_WEIGHTS].tolist()
        ]


def _evaluated(call: ModelCall) -> None:
    key = call.model, call.stack, call.library, call.loader and call.loader.place
    known = state.evaluated.get(key)
    if known is None:
        if len(state.evaluated) >= MOST_STREAMS:
            return
        known = state.evaluated[key] = EvaluationSet(call.stack, call.library, call.loader)
    trained = state.trained.get(call.model)
    known.add(call.rows, trained if trained is not None else TrainingSet(), call.evaluating)


def _stack() -> tuple[tuple[Place, ...], str]:
    """The user's lines, innermost first, and the function of a library that evaluates."""
    frame: FrameType | None = sys._getframe(3)
    found: list[Place] = []
    library = ""
    while frame is not None and len(found) < DEEPEST:
        if own_code.own(frame.f_code):
            found.append(own_code.place(frame))
        elif frame.f_code.co_name in EVALUATING:
            library = frame.f_code.co_name
        frame = frame.f_back
    return tuple(found), library


def _unwrapped(module: Any) -> Any:
    for _ in range(3):
        if type(module).__name__ not in WRAPPERS:
            return module
        inside = attributes(module).get("_modules", {})
        module = inside.get("module", inside.get("_orig_mod", module))
    return module


@after_import("torch.nn.modules.module")
def loading(module: ModuleType) -> None:
    """Folds that share one model begin by loading its first weights, or by drawing new ones."""
    kind = module.Module
    kind.load_state_dict = around(kind.load_state_dict, _begins_again)
    kind.apply = around(kind.apply, _begins_again)


def _begins_again(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    trained = state.trained.get(origins.serial(args[0])) if state.trained else None
    if trained is not None:
        trained.starts_again = True
    return False


@finishing.at_end
@periodic.every_few_seconds
@guarded("rows of training and evaluation")
def write() -> None:
    if not state.changed:
        return
    state.changed = False
    if state.trained:
        spool.saw(_measure())


def _measure() -> RowSets:
    with readable.looking():
        return RowSets(
            process=spool.process(),
            steps=noted.steps,
            trained=tuple(_trained(model, known) for model, known in state.trained.items()),
            evaluated=tuple(
                _rows_evaluated(key[0], known) for key, known in state.evaluated.items()
            ),
        )


def _trained(model: int, known: TrainingSet) -> TrainedRows:
    return TrainedRows(
        model=model,
        rows=known.rows,
        distinct=len(known.exact),
        width=known.width,
        continuous=known.continuous,
        pairs=known.pairs,
        equal_pairs=known.equal_pairs,
        loaders=tuple(known.loaders.values()),
        place=known.place,
        batches=known.batches,
        different_batches=known.different,
        made_at=known.made_at,
    )


def _rows_evaluated(model: int, known: EvaluationSet) -> EvaluatedRows:
    trained = state.trained.get(model)
    near = near_rows.NOTHING
    if trained is not None and trained.continuous:
        near = near_rows.compared(known.sketches, trained.sketches)
    relations = list(known.known.values())
    return EvaluatedRows(
        model=model,
        stack=known.stack,
        library=known.library,
        calls=known.calls,
        evaluating=known.evaluating,
        cycles=known.cycles,
        rows=len(relations),
        equal=relations.count("equal"),
        rearranged=relations.count("rearranged"),
        near_looked=near.looked,
        near=near.near,
        copies=near.copies,
        near_distance=near.distance,
        next_distance=near.next_distance,
        loader=known.loader,
        step=max(known.step, 0),
        trained_batch=known.trained_batch,
        rounds=tuple(_rounds(known, trained)) if trained is not None else (),
    )


def _rounds(known: EvaluationSet, trained: TrainingSet) -> Iterator[FreshRows]:
    """Where folds are standardised each for itself, rows are not equal and yet the same."""
    ends = [later.first for later in known.rounds[1:]] + [len(known.sketches)]
    for fresh, end in zip(known.rounds, ends, strict=False):
        near = near_rows.NOTHING
        if trained.continuous and len(known.rounds) > 1:
            sketches = known.sketches[fresh.first : end]
            near = near_rows.compared(sketches, trained.sketches[: fresh.sketches_before])
        share = near.near / near.looked if near.looked else 0.0
        yield FreshRows(
            step=fresh.step,
            rows=fresh.rows,
            trained=max(fresh.equal, int(share * fresh.rows)),
            renewed=fresh.renewed,
        )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
