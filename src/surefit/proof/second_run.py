"""How values came to be, found out by running the script once more with a recorder in a copy."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from surefit.doctor.findings import Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Ended,
    Json,
    Passed,
    Question,
    Watchpoint,
)
from surefit.doctor.progress import steps_before
from surefit.doctor.recording import Recording
from surefit.lineage.producers import LINEAGE
from surefit.observe.inside import watchpoints
from surefit.observe.inside.autopsy.questions import probes
from surefit.observe.inside.lineage.libraries import WITH_WORKERS
from surefit.observe.inside.stories.gradient_births import OF_VALUE
from surefit.observe.inside.stories.own_functions import OF_FUNCTION
from surefit.observe.inside.stories.stories import (
    LEFT_OUT,
    OF_CRASHES,
    SILENT,
    STORY,
    Asked,
    stood,
)
from surefit.observe.inside.watchpoints import WATCH
from surefit.observe.script import Launch
from surefit.observe.script import watch as watch_script
from surefit.proof.sandbox import CannotTry, Snapshot, Watch, attempt, refuse_outside

EARLIER = "earlier"
"""A question about a crash: values at the failing line at all earlier evaluations."""
SPARE_BYTES = 1 << 30
"""Beside twice what the first run had resident: the recorder keeps notes, not tensors."""


def answer_by_second_run(
    questions: Sequence[Question],
    seen: Recording,
    launch: Launch,
    before: Snapshot | None,
    *,
    seconds: float,
    watch: Watch = watch_script,
) -> list[Answer]:
    """An answer to each question, also where it is that there is none; where a value's birth is
    asked for, to that alone: what comes of it makes most others needless, and they cost more."""
    first = (OF_VALUE, OF_FUNCTION)
    questions = [asked for asked in questions if asked.kind in first] or questions
    earlier = [question for question in questions if question.kind == EARLIER]
    asked = [one for question in questions if (one := recognisable(question, seen)) is not None]
    if not asked and not earlier:
        return [Answer(question, None, "the process had ended") for question in questions]
    answers: dict[tuple[str, str, str], Answer] = {}
    missing = "the second run did not come to it"

    def run(open_: Sequence[Asked], environment: Mapping[str, str], fault: Json = None) -> None:
        environment = {
            STORY: as_environment(open_, seen, fault),
            WATCH: json.dumps([line_of(question) for question in earlier]),
            **environment,
        }
        watched = attempt(
            launch,
            before,
            {},
            environment={**environment, "TORCHDYNAMO_DISABLE": "1"},
            seconds=seconds,
            bytes_=most_bytes(seen),
            watch=watch,
        )
        answers.update({key(one.question): one for one in watched.recording.all(Answer)})
        for question in earlier:
            answers[key(question)] = Answer(
                question, {"passed": [asdict(point) for point in watched.recording.all(Passed)]}
            )

    try:
        refuse_outside(seen)
        run(asked, {})
        left = [one for one in asked if key(one.question) not in answers]
        about_workers = [one for one in left if needs_workers(one.question, seen)]
        workers = {WITH_WORKERS: "1"} if about_workers else {}
        if about_workers:
            run(about_workers, workers)
        for one in asked:
            answer = answers.get(key(one.question))
            turn = (answer.said or {}).get(LEFT_OUT) if answer is not None else None
            if turn is not None:
                run([one], workers if one in about_workers else {}, turn)
    except CannotTry as reason:
        missing = str(reason)
    return [answers.get(key(question), Answer(question, None, missing)) for question in questions]


def line_of(question: Question) -> dict[str, object]:
    """The failing line, where values are written down before each evaluation."""
    line = int(question.about["line"])
    point = Watchpoint(Place(question.about["file"], line), tuple(question.about["texts"]))
    return watchpoints.as_environment(point, range(line, line + 1))


def needs_workers(question: Question, seen: Recording) -> bool:
    """A lineage is recorded without loaders' workers first; what is about them needs them."""
    crash = seen.crash(question.crash)
    return question.kind == LINEAGE and crash is not None and in_loader(crash)


def in_loader(crash: Crash) -> bool:
    files = (frame.place.file.replace("\\", "/") for frame in crash.frames)
    return any("torch/utils/data" in file or "multiprocessing" in file for file in files)


def recognisable(question: Question, seen: Recording) -> Asked | None:
    """The question with what tells its crash and frame in another run; None where nothing does."""
    if question.kind in SILENT and not question.crash:
        return Asked(question)
    crash = seen.crash(question.crash)
    if crash is None or question.kind not in (*OF_CRASHES, *probes()):
        return None
    own, number = crash.own_frame, question.about.get("frame")
    known = isinstance(number, int) and 0 <= number < len(crash.frames)
    meant = crash.frames[number] if known and isinstance(number, int) else None
    return Asked(
        question,
        crash.kind,
        crash.swallowed,
        stood(own) if own else None,
        stood(meant) if meant else None,
    )


def as_environment(asked: Sequence[Asked], seen: Recording, fault: Json = None) -> str:
    """The recorder needs not go on beyond the last step that is asked about."""
    steps = [last_step(one.question, seen) for one in asked]
    questions = [asdict(one) for one in asked]
    until = max(steps, default=None)
    return json.dumps({"until_step": until, "questions": questions, "fault": fault})


def last_step(question: Question, seen: Recording) -> int:
    crash = seen.crash(question.crash)
    step = question.about.get("step")
    if crash is not None:
        return steps_before(crash, seen)
    return step if isinstance(step, int) else 0


def most_bytes(seen: Recording) -> int | None:
    peaks = [one.peak for one in seen.all(Ended) if one.peak]
    return 2 * max(peaks) + SPARE_BYTES if peaks else None


def key(question: Question) -> tuple[str, str, str]:
    return question.kind, question.crash, json.dumps(question.about, sort_keys=True)
