"""How a value came to be: asked of a second run, which records every operation on tensors.

The environment holds the questions. A process that has answered all of them ends at once: what it
would have done afterwards was done by the first run.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Frame, Json, Question
from surefit.lineage.producers import ARGUMENT_OF, LINEAGE, TARGET_OF
from surefit.observe.inside import events, own_code
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy import questions
from surefit.observe.inside.autopsy.values import is_tensor, untouched
from surefit.observe.inside.lineage import libraries, records, regions
from surefit.observe.inside.lineage.records import Records
from surefit.observe.inside.spool import guarded, process, saw
from surefit.observe.inside.stories import gradient_births
from surefit.observe.inside.stories.gradient_births import OF_CUTS, OF_GRADIENT, OF_VALUE, Births
from surefit.observe.inside.stories.graphs import OF_GRAPH, Graphs, watch
from surefit.observe.inside.stories.own_functions import OF_FUNCTION, OwnFunctions
from surefit.observe.inside.stories.recorder import Recorder, note_arrays, recording_mode
from surefit.observe.inside.stories.telling import story
from surefit.observe.inside.training import hanging, readable
from surefit.observe.inside.training.named_tensors import named_tensors

STORY = "SUREFIT_STORY"
"""Environment: {"until_step": n or null, "questions": [...], "fault": null or a turn of a loop}, as
`Asked` and an answer about a lineage write them."""
OF_LOSS = "story-of-loss"
SILENT = (OF_LOSS, OF_GRAPH, OF_GRADIENT, OF_CUTS, LINEAGE)
"""What is asked about runs that do not crash, too."""
OF_CRASHES = (OF_GRAPH, OF_VALUE, OF_FUNCTION, LINEAGE)
"""What is asked about crashes, beside what probes answer."""
MOST_PASSES = 2_000
"""Backward passes after which nobody waits for a bad gradient any more."""
LEFT_OUT = "left_out"
"""In the answer about a lineage: the turn of a loop that was not noted, and has the fault."""
FIRST_STEPS = 2
"""In which operations are recorded, also if another step is asked about."""

Stood = tuple[str, str, int]
"""A function, the last part of its file (a second run stands in another folder), a line."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and how to know its crash and its frame again in another run."""

    question: Question
    kind: str = ""
    swallowed: bool = False
    raised: Stood | None = None
    """The innermost frame of the user's own code."""
    frame: Stood | None = None
    """The frame that is asked about; the recorder's own frames move the numbers."""

    def is_about(self, crash: Crash) -> bool:
        own = stood(crash.own_frame) if crash.own_frame else None
        return (crash.kind, crash.swallowed, own) == (self.kind, self.swallowed, self.raised)

    def here(self, crash: Crash) -> Question:
        """The same question in the numbers of this run."""
        found = [at for at, one in enumerate(crash.frames) if stood(one) == self.frame]
        if not found:
            return self.question
        return replace(self.question, about={**self.question.about, "frame": found[-1]})


def stood(frame: Frame) -> Stood:
    return frame.function, os.path.basename(frame.place.file), frame.place.line or 0


class Stories:
    """What this process was asked, and the operations that answer it."""

    def __init__(
        self,
        asked: Sequence[Asked],
        until_step: int | None,
        fault: dict[str, int] | None = None,
    ) -> None:
        self.open = list(asked)
        self.until_step = until_step
        steps = (one.question.about.get("step") for one in asked)
        self.steps_asked = {until_step or 0, *(step for step in steps if isinstance(step, int))}
        self.fault = fault
        """The turn of a loop in which the fault comes, where an earlier run told that."""
        self.steps = 0
        self.recorder: Recorder | None = None
        self.lineage: Records | None = None
        self.graphs: Graphs | None = None
        self.births: Births | None = None
        self.functions: OwnFunctions | None = None

    def record(self, torch: Any) -> None:
        kinds = {asked.question.kind for asked in self.open}
        if OF_GRAPH in kinds:
            self.graphs = watch(torch)
        if kinds & set(gradient_births.KINDS):
            self.births = Births(torch)
            self.births.values = any(
                asked.question.about.get("what") == "nan" for asked in self.open
            )
            alone = kinds & set(gradient_births.KINDS) == {OF_VALUE}
            self.births.resting = alone and self.begins() > 0
            gradient_births.noting_mode(torch, self.births).__enter__()
        if kinds <= {*gradient_births.KINDS, OF_FUNCTION}:
            return
        self.recorder = Recorder(torch, self.lineage, stories=kinds != {LINEAGE})
        note_arrays(self.recorder)
        recording_mode(self.recorder).__enter__()

    def begins(self) -> int:
        """Steps before which no operation needs to be noted."""
        steps = (asked.question.about.get("from_step") for asked in self.open)
        return min((step for step in steps if isinstance(step, int)), default=0)

    def of_loss(self, loss: Any) -> None:
        """Said when `backward` is about to run on a loss."""
        for asked in list(self.open):
            if asked.question.crash or asked.question.about.get("step") != self.steps:
                continue
            if asked.question.kind == OF_LOSS:
                self.answer(asked, loss)
            elif asked.question.kind == OF_GRAPH:
                self.settle(asked, Answer(asked.question, self.of_leaf(loss)))
            elif asked.question.kind == OF_CUTS:
                self.tell_cut(asked, loss)
        self.watch_gradients(loss)

    def of_leaf(self, loss: Any) -> dict[str, Json] | None:
        """How a loss came to be without a graph, on which `backward` runs all the same."""
        if self.graphs is None or self.recorder is None or not is_tensor(loss):
            return None
        with self.recorder.pause(), untouched():
            return self.graphs.story_of_leaf(loss)

    def tell_cut(self, asked: Asked, loss: Any) -> None:
        names = asked.question.about.get("names")
        if self.births is None or not isinstance(names, list):
            return
        with readable.looking():
            said = self.births.cut(loss, map(str, names))
        self.settle(asked, Answer(asked.question, said))

    def watch_gradients(self, loss: Any) -> None:
        """Of the first question that is open: the others are asked of the next run."""
        asked = self.about_gradients()
        about = asked.question.about if asked is not None else {}
        if about.get("what") == "zero" and self.steps < int(str(about.get("step", 0))):
            return
        if self.births is None or self.births.resting:
            return
        if asked is not None and is_tensor(loss):
            self.births.wanted = str(asked.question.about.get("what"))
            with readable.looking():
                self.births.begin(loss)

    def after_backward(self, loss: Any) -> None:
        asked = self.about_gradients()
        if asked is None or self.births is None or self.births.resting or not is_tensor(loss):
            return
        with readable.looking():
            self.births.end()
            names = asked.question.about.get("names")
            wanted = list(map(str, names)) if isinstance(names, list) else None
            said = self.births.birth(self.steps, loss, wanted)
            self.births.keep_birth(said, loss)
        if asked.question.kind == OF_VALUE:
            return
        if said is not None:
            self.settle(asked, Answer(asked.question, said))
        elif self.births.passes > MOST_PASSES:
            self.settle(asked, Answer(asked.question, None, "every gradient was good"))

    def about_gradients(self) -> Asked | None:
        kinds = (OF_GRADIENT, OF_VALUE)
        return next((asked for asked in self.open if asked.question.kind in kinds), None)

    def of_crash(self, crash: Crash, frames: Sequence[FrameType]) -> None:
        """Lineage, and what a probe answers while the frames of a swallowed one live."""
        for asked in [one for one in self.open if one.is_about(crash)]:
            here = asked.here(crash)
            if asked.question.kind == OF_GRAPH:
                self.settle(asked, Answer(asked.question, self.of_graph(frames)))
            elif asked.question.kind == LINEAGE:
                self.tell_lineage(asked, crash, frames)
            elif asked.question.kind == OF_VALUE:
                self.settle(asked, Answer(asked.question, self.of_value(here, frames)))
            elif asked.question.kind == OF_FUNCTION:
                said = self.functions.told() if self.functions is not None else None
                self.settle(asked, Answer(asked.question, said))
            else:
                self.settle(asked, replace(questions.answer(here, frames), question=asked.question))

    def of_graph(self, frames: Sequence[FrameType]) -> dict[str, Json] | None:
        if self.graphs is None or self.recorder is None:
            return None
        with self.recorder.pause(), untouched():
            return self.graphs.story(frames)

    def of_value(self, here: Question, frames: Sequence[FrameType]) -> dict[str, Json] | None:
        if self.births is None:
            return None
        with readable.looking(), untouched():
            return self.births.value_birth(frames, here.about)

    def stepped(self, optimizer: Any = None) -> None:
        self.steps += 1
        if self.births is not None:
            self.births.stepped()
            self.births.resting = self.births.resting and self.steps < self.begins()
        if self.lineage is not None:
            self.lineage.stepped(self.steps, self.steps_asked)
            if self.recorder is not None and not self.recorder.stories:
                self.recorder.idle = self.steps >= FIRST_STEPS and not self.lineage.everything
        if self.graphs is not None:
            self.graphs.steps = self.steps
            self.graphs.stepped.append(optimizer)
        if self.until_step is not None and self.steps > self.until_step:
            os._exit(0)

    def answer(self, asked: Asked, loss: Any) -> None:
        recorder = self.recorder
        if recorder is None or not is_tensor(loss):
            self.settle(asked, Answer(asked.question, None, "it is no tensor in the second run"))
            return
        with recorder.pause():
            said = story(recorder, loss, bool(asked.question.about.get("beside")))
        self.settle(asked, Answer(asked.question, said))

    def tell_lineage(self, asked: Asked, crash: Crash, frames: Sequence[FrameType]) -> None:
        from surefit.observe.inside.lineage import answering

        if self.lineage is None:
            self.settle(asked, Answer(asked.question, None, "no lineage was recorded"))
            return
        try:
            said = answering.of_crash(self.lineage, crash, frames)
        except Exception as error:
            self.settle(asked, Answer(asked.question, None, f"{type(error).__name__}: {error}"))
            raise
        turn = regions.left_out(frames)
        again: dict[str, Json] = {LEFT_OUT: {**turn}} if turn is not None else {}
        self.settle(asked, Answer(asked.question, {**said, **again}))

    def wait_for_expressions(self, file: str) -> None:
        """A module has been wrapped: expressions in it may be those that are asked about."""
        from surefit.observe.inside.lineage import answering

        for asked in self.open:
            about = asked.question.about
            if asked.question.kind != LINEAGE or asked.question.crash or self.lineage is None:
                continue
            if TARGET_OF in about or ARGUMENT_OF in about:
                continue
            if os.path.basename(str(about["file"])) != os.path.basename(file):
                continue
            at = int(about["line"]), str(about["text"])
            if not about.get("step"):  # of a later step everything is noted
                regions.note_always(os.path.abspath(file), at[0])
            for number in answering.expressions_at(str(about["file"]), *at):
                self.lineage.wanted[number] = partial(self.tell_expression, asked)

    def tell_expression(self, asked: Asked, serial: int) -> None:
        from surefit.observe.inside.lineage import answering

        about = asked.question.about
        if self.lineage is None or asked not in self.open or self.steps != about.get("step", 0):
            return
        said = answering.of_value(self.lineage, serial, str(about["text"]))
        self.settle(asked, Answer(asked.question, said))

    def tell_target(self, loss: str, target: Any, place: Place | None, grad: bool) -> None:
        """Said when a loss is about to be computed, also by a library."""
        for asked in list(self.open):
            if asked.question.about.get(TARGET_OF) == loss and self.is_here(asked, place, grad):
                self.tell_value(asked, target, loss)

    def tell_argument(self, module: Any, args: Any, kwargs: Any, grad: bool) -> None:
        """Said when a model is about to be called, also by a library."""
        kind = type(hanging.unwrapped(module)).__name__
        for asked in list(self.open):
            about = asked.question.about
            if about.get(ARGUMENT_OF) != kind or self.steps != about.get("step", 0):
                continue
            frame = own_code.own_frame(depth=1)
            place = own_code.place(frame) if frame is not None else None
            named = dict(named_tensors(module, args, kwargs))
            given = named.get(str(about["argument"]))
            if given is not None and self.is_here(asked, place, grad):
                self.tell_value(asked, given, str(about["argument"]))

    def is_here(self, asked: Asked, place: Place | None, grad: bool) -> bool:
        about = asked.question.about
        here = (os.path.basename(place.file), place.line) if place is not None else None
        there = os.path.basename(str(about["file"])), about["line"]
        when = self.steps, grad
        return here == there and when == (about.get("step", 0), about.get("grad", True))

    def tell_value(self, asked: Asked, value: Any, name: str) -> None:
        from surefit.observe.inside.lineage import answering

        if self.lineage is not None:
            said = answering.of_target(self.lineage, value, name)
            self.settle(asked, Answer(asked.question, said))

    def settle(self, asked: Asked, answer: Answer) -> None:
        saw(answer)
        self.open.remove(asked)
        if not self.open:
            os._exit(0)


stories: Stories | None = None


def asked_here() -> Stories | None:
    raw = os.environ.get(STORY)
    if not raw:
        return None
    document = json.loads(raw)
    asked = [read(one) for one in document["questions"]]
    return Stories(asked, document["until_step"], document.get("fault"))


def read(raw: dict[str, Any]) -> Asked:
    places = {name: tuple(raw[name]) for name in ("raised", "frame") if raw.get(name)}
    return Asked(**{**raw, **places, "question": Question(**raw["question"])})


@guarded("how a value came to be")
def about_crash(crash: Crash, frames: Sequence[FrameType]) -> None:
    """Said by the autopsy, at its end: answers what was asked about this crash."""
    if stories is not None:
        stories.of_crash(crash, frames)


def install() -> None:
    """In every process of a second run; in all others nothing is recorded."""
    global stories
    stories = asked_here()
    if stories is None:
        return
    if any(asked.question.kind == LINEAGE for asked in stories.open):
        stories.lineage = records.start(stories.fault)
        libraries.install()
        stories.lineage.wrapped = stories.wait_for_expressions
    if any(TARGET_OF in asked.question.about for asked in stories.open):
        events.on(events.loss_begun)(_of_target)
    if any(ARGUMENT_OF in asked.question.about for asked in stories.open):
        events.on(events.forward_begun)(_of_argument)
    after_import("torch")(_record)
    after_import("torch.autograd")(_watch_backward)
    after_import("torch.optim.optimizer")(_count_steps)
    if any(asked.question.kind == OF_FUNCTION for asked in stories.open):
        stories.functions = OwnFunctions()
        after_import("torch.autograd.function")(stories.functions.watch)


def _record(torch: Any) -> None:
    if stories is not None:
        stories.record(torch)


@guarded("where the targets came from")
def _of_target(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], place: Place | None, grad: bool
) -> None:
    target = args[1] if len(args) > 1 else kwargs.get("target")
    if stories is not None and process().rank in (None, 0):
        stories.tell_target(name, target, place, grad)


@guarded("where the inputs came from")
def _of_argument(module: Any, args: Any, kwargs: Any) -> None:
    if stories is not None and process().rank in (None, 0):
        stories.tell_argument(module, args, kwargs, readable.torch().is_grad_enabled())


def _watch_backward(autograd: Any) -> None:
    plain = autograd.backward

    @wraps(plain)
    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        _of_loss(tensors)
        result = plain(tensors, *args, **kwargs)
        _after_backward(tensors)
        return result

    autograd.backward = backward


@guarded("the story of the loss")
def _of_loss(tensors: Any) -> None:
    if stories is not None and process().rank in (None, 0):
        stories.of_loss(first_of(tensors))


@guarded("where a gradient became bad")
def _after_backward(tensors: Any) -> None:
    if stories is not None and process().rank in (None, 0):
        stories.after_backward(first_of(tensors))


def first_of(tensors: Any) -> Any:
    return tensors if not isinstance(tensors, tuple | list) else tensors[0]


def _count_steps(module: Any) -> None:
    def stepped(optimizer: Any, *_: Any) -> None:
        if stories is not None:
            stories.stepped(optimizer)

    module.register_optimizer_step_post_hook(stepped)
