"""Learning rates step by step, schedulers and when they are stepped."""

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.rates import LearningRates, PlateauSeen, RateCourse, ScheduleSeen
from surefit.observe.inside import events, finishing, origins, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import resumed
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

MOST = 64
"""Optimizers and schedulers that are followed."""
MOST_METRICS = 512
POINTS = 128
"""Of a course that are kept; twice as many, and every second one is dropped."""
STEADY, SELDOM = 64, 8
"""After so many equal rates of the only optimizer, it is asked once in so many steps."""
LOW = 1e-3
LENGTHS = (
    *("T_max", "T_0", "total_steps", "total_iters", "step_size", "_milestones", "step_size_up"),
    *("num_training_steps", "num_warmup_steps", "max_steps"),
)
"""Attributes of schedulers that count their own steps."""


class Course:
    """The rate of one optimizer so far."""

    def __init__(self, optimizer: Any) -> None:
        self.alive = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        self.serial = origins.number(optimizer)
        self.made_at = origins.made_at(optimizer)
        groups = optimizer.param_groups
        tensors = groups[0]["params"] if groups else []
        self.parameters = origins.number(tensors[0]) if tensors else 0
        self.base = max((_base(group, optimizer) for group in groups), default=0.0)
        self.keeps_state = any(_keeps_state(group) for group in groups)
        self.steps = self.low = self.low_from = self.fallen = 0
        self.highest = self.last = 0.0
        self.is_low = False
        self.points: list[tuple[int, float]] = []
        self.every = 1
        self.equal = 0
        """Steps since the rate has last changed."""
        self.rests_from = 0
        """The number of the event after which it is not asked; 0 if it is asked now."""

    def add(self, rate: float) -> None:
        if self.steps and rate < self.last:
            self.fallen += 1
        self.equal = self.equal + 1 if rate == self.last else 0
        self.highest = max(rate, self.highest)
        self.is_low = rate < LOW * self.highest
        if self.is_low:
            self.low_from = self.low_from or self.steps
            self.low += 1
        if not self.steps % self.every:
            self.points.append((self.steps, rate))
            if len(self.points) >= 2 * POINTS:
                del self.points[1::2]
                self.every *= 2
        self.last = rate
        self.steps += 1

    def rest(self) -> None:
        """Until a point of the course is due, or a scheduler is stepped."""
        passed_over = min(SELDOM - 1, -self.steps % self.every)
        if passed_over:
            self.rests_from = events.step_begun.count
            events.step_begun.rest(before_the_step, passed_over)

    def catch_up(self) -> None:
        """Counts the steps at which it was not asked; it is the only one then."""
        if self.rests_from:
            self.steps += max(0, events.step_begun.count - self.rests_from)
            self.rests_from = events.step_begun.count

    def as_seen(self) -> RateCourse:
        self.catch_up()
        last = [(self.steps - 1, self.last)] if self.steps else []
        points = self.points if self.points[-1:] == last else [*self.points, *last]
        return RateCourse(
            kind=self.kind,
            serial=self.serial,
            made_at=self.made_at,
            steps=self.steps,
            base=self.base,
            highest=self.highest,
            last=self.last,
            low=self.low,
            low_from=self.low_from,
            fallen=self.fallen,
            course=tuple(points),
            parameters=self.parameters,
            keeps_state=self.keeps_state,
        )


class Schedule:
    """One scheduler so far."""

    def __init__(self, scheduler: Any) -> None:
        self.alive: Callable[[], Any] = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.serial = origins.number(scheduler)
        self.made_at = origins.made_at(scheduler)
        self.optimizer = _innermost(vars(scheduler).get("optimizer"))
        self.steps_then = _steps_of(self.optimizer)
        self.steps_before = self.steps_then
        self.all_before = noted.steps
        self.calls = self.unheard = 0
        self.at: Place | None = None
        self.inner = False
        self.plan: tuple[tuple[str, int], ...] = ()
        self.position = 0
        self.plateau = Plateau(scheduler) if self.kind == "ReduceLROnPlateau" else None

    def called(self) -> None:
        own, every = _steps_of(self.optimizer), noted.steps
        if own == self.steps_before and every > self.all_before:
            if self.belongs_to_a_wrapper():
                own = _steps_of(self.optimizer)
            else:
                self.unheard += 1
        self.steps_before, self.all_before = own, every
        self.calls += 1
        if self.at is None:
            self.at = own_code.own_place()
            self.read()

    def belongs_to_a_wrapper(self) -> bool:
        """An optimizer that steps shares its rates, or steps it: from now on it is that one's."""
        scheduled = vars(self.alive() or self).get("optimizer")
        for course in list(seen.by_serial.values()):
            stepping = course.alive()
            if course.serial == self.optimizer or stepping is None:
                continue
            if _share_groups(stepping, scheduled) or _holds(stepping, scheduled):
                self.optimizer, self.steps_then = course.serial, 0
                return True
        return False

    def read(self) -> None:
        scheduler = self.alive()
        if scheduler is not None:
            self.plan = _plan(scheduler)

    def as_seen(self) -> ScheduleSeen:
        self.read()
        return ScheduleSeen(
            kind=self.kind,
            serial=self.serial,
            made_at=self.made_at,
            optimizer=self.optimizer,
            optimizer_steps=_steps_of(self.optimizer) - self.steps_then,
            calls=self.calls,
            at=self.at,
            unheard=self.unheard,
            plan=self.plan,
            position=self.position,
            plateau=self.plateau.as_seen() if self.plateau is not None else None,
            inner=self.inner,
        )


class Plateau:
    """What a scheduler that waits for a metric was given so far."""

    def __init__(self, scheduler: Any) -> None:
        held = vars(scheduler)
        self.mode = str(held.get("mode"))
        self.patience = int(held.get("patience", 0))
        self.threshold = float(held.get("threshold", 0.0))
        self.relative = held.get("threshold_mode") == "rel"
        self.before: tuple[float, float] | None = None
        """The metric of a call that runs, and the rate before it."""
        self.calls: list[tuple[float, bool, int]] = []
        """The metric, whether the rate became lower by it, and the steps before it."""

    def begin(self, scheduler: Any, metric: Any) -> None:
        self.before = _number(metric), _highest_rate(scheduler)

    def end(self, scheduler: Any) -> None:
        if self.before is not None and len(self.calls) < MOST_METRICS:
            metric, rate = self.before
            self.calls.append((metric, _highest_rate(scheduler) < rate, noted.steps))
        self.before = None

    def as_seen(self) -> PlateauSeen:
        return PlateauSeen(
            mode=self.mode,
            patience=self.patience,
            threshold=self.threshold,
            relative=self.relative,
            numbers=tuple(number for number, _, _ in self.calls),
            reduced=tuple(at for at, (_, lower, _) in enumerate(self.calls) if lower),
            steps=tuple(steps for _, _, steps in self.calls),
        )


def _highest_rate(scheduler: Any) -> float:
    groups = getattr(vars(scheduler).get("optimizer"), "param_groups", ())
    return max((_number(group.get("lr")) for group in groups), default=0.0)


class Rates:
    """All of a process."""

    def __init__(self) -> None:
        self.courses: dict[int, Course] = {}
        self.by_serial: dict[int, Course] = {}
        self.schedules: dict[int, Schedule] = {}
        self.every_schedule: list[Schedule] = []
        self.depth = 0
        """Schedulers whose `step` runs."""
        self.came: set[int] = set()
        """Datasets of the batches since the last backward pass."""
        self.learned: set[int] = set()
        """Datasets from whose batches such a pass came, since the last end of one of them."""
        self.epochs = 0
        self.datasets: set[int] = set()
        """That these epochs went through."""
        self.complete = False


seen = Rates()


@events.on(events.step_begun)
def before_the_step(optimizer: Any) -> None:
    course = seen.courses.get(identity(optimizer))
    if course is None or course.alive() is not optimizer:
        if len(seen.by_serial) >= MOST:
            return
        course = seen.courses[identity(optimizer)] = Course(optimizer)
        seen.by_serial[course.serial] = course
    if course.rests_from:
        course.steps += max(0, events.step_begun.count - course.rests_from - 1)
        course.rests_from = 0
    rate = 0.0
    for group in optimizer.param_groups:
        value = group.get("lr", 0.0)
        if type(value) is not float:
            value = _number(value)
        if value > rate:
            rate = value
    if rate == course.last and course.steps % course.every and not course.is_low:
        course.steps += 1
        course.equal += 1
    else:
        course.add(rate)
    if course.equal >= STEADY and len(seen.by_serial) == 1 and not course.is_low:
        course.rest()
    if resumed.seen.waiting:
        resumed.stepped(course.serial, rate)


@events.on(events.optimizer_came)
def optimizer_came(_optimizer: Any) -> None:
    _wake()


def _wake() -> None:
    for course in seen.by_serial.values():
        course.catch_up()
        course.equal = course.rests_from = 0
    events.step_begun.wake(before_the_step)


@events.on(events.backward_ended)
def after_the_pass() -> None:
    seen.learned |= seen.came
    seen.came.clear()
    events.backward_ended.rest(after_the_pass)


@events.on(events.batch_came)
def comes_a_batch(iterator: Any, batch: Any) -> None:
    """A loader that reads ahead is at its end before the last batch is learned from."""
    dataset = identity(vars(iterator).get("_dataset"))
    if batch is not None:
        if dataset not in seen.came:
            seen.came.add(dataset)
            events.backward_ended.wake(after_the_pass)
    elif dataset not in seen.learned:
        seen.came.discard(dataset)
    else:
        seen.epochs += 1
        seen.datasets.add(dataset)
        seen.learned.clear()
        seen.came = {dataset}
        events.backward_ended.wake(after_the_pass)


@after_import("torch.optim.lr_scheduler")
def schedulers(module: ModuleType) -> None:
    kinds: list[Any] = [kind for kind in vars(module).values() if isinstance(kind, type)]
    for kind in kinds:
        if "step" in vars(kind) and hasattr(kind, "load_state_dict"):
            kind.step = around(kind.step, _steps, _stepped)


def _steps(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    _wake()
    scheduler = args[0]
    known = seen.schedules.get(identity(scheduler))
    if known is None or known.alive() is not scheduler:
        if len(seen.every_schedule) >= MOST:
            return False
        known = seen.schedules[identity(scheduler)] = Schedule(scheduler)
        seen.every_schedule.append(known)
        for part in vars(scheduler).get("_schedulers", ()):
            inner = seen.schedules.get(identity(part))
            if inner is not None:
                inner.inner = True
    held = vars(scheduler)
    if not held.get("_is_initial") and held.get("_step_count", 1):
        if seen.depth:
            known.inner = True
        else:
            known.called()
    if known.plateau is not None:
        known.plateau.begin(scheduler, args[1] if len(args) > 1 else kwargs.get("metrics"))
    seen.depth += 1
    return True


def _stepped(args: tuple[Any, ...], _result: Any) -> None:
    seen.depth = max(0, seen.depth - 1)
    position = vars(args[0]).get("last_epoch")
    known = seen.schedules.get(identity(args[0]))
    if known is not None and known.plateau is not None:
        known.plateau.end(args[0])
    if known is not None and type(position) is int:
        known.position = position


def _innermost(optimizer: Any) -> int:
    """Serial of the optimizer inside those that `accelerate` puts around it."""
    for _ in range(3):
        inner = getattr(optimizer, "__dict__", {}).get("optimizer")
        if inner is None or "param_groups" not in getattr(inner, "__dict__", {}):
            break
        optimizer = inner
    return origins.number(optimizer) if optimizer is not None else 0


def _share_groups(optimizer: Any, other: Any) -> bool:
    """As sharpness-aware and averaging optimizers do with the one that they are put around."""
    groups = {identity(group) for group in getattr(optimizer, "param_groups", ())}
    return any(identity(group) in groups for group in getattr(other, "param_groups", ()))


def _holds(optimizer: Any, other: Any) -> bool:
    held = vars(optimizer).values()
    return any(
        value is other or (type(value) in (list, tuple) and any(part is other for part in value))
        for value in held
    )


def _steps_of(serial: int) -> int:
    course = seen.by_serial.get(serial)
    if course is None:
        return 0
    course.catch_up()
    return course.steps


def _base(group: dict[str, Any], optimizer: Any) -> float:
    """What a schedule rises to; a program that sets rates itself begins with that of the
    optimizer."""
    for name in ("max_lr", "initial_lr"):
        if name in group:
            return _number(group[name])
    return max(_number(group.get("lr")), _number(optimizer.defaults.get("lr")))


def _keeps_state(group: dict[str, Any]) -> bool:
    return "betas" in group or any(_number(group.get(name)) > 0 for name in ("momentum", "alpha"))


def _number(rate: Any) -> float:
    if type(rate) in (float, int):
        return float(rate)
    device = getattr(rate, "device", None)
    if device is None or device.type != "cpu" or not readable.can_look():
        return 0.0
    with readable.looking():
        return float(rate)


def _plan(scheduler: Any) -> tuple[tuple[str, int], ...]:
    """Lengths among its attributes, and among the numbers that its functions close over."""
    held = vars(scheduler)
    found = {name: held[name] for name in LENGTHS if type(held.get(name)) is int}
    milestones = held.get("milestones", held.get("_milestones"))
    if milestones:
        found["milestones"] = max(milestones)
    for function in held.get("lr_lambdas", ()):
        found |= _numbers_in(function)
    return tuple((name, value) for name, value in found.items() if type(value) is int)


def _numbers_in(function: Any) -> dict[str, int]:
    held = dict(getattr(function, "keywords", {}) or {})
    plain = getattr(function, "func", function)
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None) or ()
    around_it = getattr(plain, "__globals__", {})
    held |= {name: around_it.get(name) for name in getattr(code, "co_names", ())}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return {name: value for name, value in held.items() if type(value) is int and value > 1}


@finishing.at_end
def finish() -> None:
    stops_early = spool.number(spool.STOP_AFTER) is not None and not spool.in_proof()
    seen.complete = not stops_early
    write()


@periodic.every_few_seconds
@guarded("learning rates")
def write() -> None:
    if not seen.by_serial:
        return
    spool.saw(
        LearningRates(
            process=spool.process(),
            steps=noted.steps,
            epochs=seen.epochs,
            datasets=len(seen.datasets),
            optimizers=tuple(course.as_seen() for course in seen.by_serial.values()),
            schedules=tuple(schedule.as_seen() for schedule in seen.every_schedule),
            checkpoints=tuple(resumed.as_seen(noted.steps)),
            weights_set=resumed.seen.weights_set,
            complete=seen.complete,
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
