"""A running child, and what its parent sees of it until it has ended."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from surefit.doctor.observations import (
    Answer,
    Crash,
    Death,
    Ended,
    NotObserved,
    Observation,
    Question,
    Steps,
)
from surefit.doctor.recording import Recording, as_line, latest, read
from surefit.observe.asking import Asker
from surefit.observe.child import Child, Start, end_of
from surefit.observe.deaths import Remains
from surefit.observe.growing import Growing
from surefit.observe.inside.autopsy import stacks
from surefit.observe.inside.spool import GOAL
from surefit.observe.inside.training.last_event import read_last
from surefit.observe.launch import Launch, observed_environment
from surefit.observe.launched import PATIENCE, Seat
from surefit.observe.process_tree import Kernel, resident, tree
from surefit.observe.signals import PassedOn

POLL = 0.02
SAMPLE = 0.25
"""Seconds between looks at memory and progress."""
NEWS, NEWS_COST = 1.0, 20
"""Seconds between looks at what was recorded, and times that such a look takes."""
INTERRUPTED = (10.0, 5.0)
"""Seconds that a script has to end after what Ctrl-C would send, and after the same again: a script
may miss the first one, as it was seen to once."""
FINDING = "finding"

Result = TypeVar("Result")
Ask = Callable[[Sequence[Question]], Iterable[Answer]]
OnCrash = Callable[[Recording, Ask], None]
OnNews = Callable[[Recording], bool]
"""Is given what was recorded so far, while the run goes on; whether that ends it."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a run left: its observations, its exit code as a shell would say it, its time."""

    recording: Recording
    code: int
    seconds: float
    stopped: str = ""
    """Why the watcher itself ended it: `time`, `memory`, `hang`, `rank` or `finding`."""
    later: Recording | None = None
    """All of it, where the run came to the steps that it was made for and went on: the recording
    and the code are those of that moment."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a child before its time."""

    seconds: float | None = None
    bytes_: int | None = None
    hang_after: float | None = None


class Watch:
    """One child; a failure of surefit is noted, and never ends it."""

    def __init__(
        self,
        launch: Launch,
        folder: Path,
        limits: Limits,
        quiet: bool = False,
        on_crash: OnCrash | None = None,
        seat: Seat | None = None,
        output: IO[bytes] | None = None,
        start: Start | None = None,
        on_news: OnNews | None = None,
    ) -> None:
        self.launch = launch
        self.folder = folder
        self.limits = limits
        self.quiet = quiet
        self.on_crash = on_crash
        self.seat = seat
        self.output = output
        self.start_child = start
        self.on_news = on_news
        self.growing = Growing(folder, launch.cwd)
        self.next_news = 0.0
        self.answers: list[Answer] = []
        self.seen: list[Observation] = []
        self.peak = 0
        self.kernel = Kernel()
        self.asker = Asker(folder if on_crash is not None else None)
        self.leaving = ExitStack()
        self.other_failed = 0.0
        """When it was seen that another rank has, or 0."""

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.asker.close()
        self.leaving.close()

    def start(self, extra: Mapping[str, str]) -> None:
        given = {**self.launch.environment, **extra}
        environment = observed_environment(self.folder, given)
        if self.limits.hang_after is not None:
            environment[stacks.WANTED] = "1"
        nothing = subprocess.DEVNULL if self.quiet else None
        printed = nothing if self.output is None else self.output.fileno()
        self.began = self.ended = time.monotonic()
        self.progress = 0, self.began
        how: dict[str, Any] = {
            "cwd": self.launch.cwd,
            "env": environment,
            "stdin": nothing,
            "stdout": printed,
            "stderr": printed,
            "start_new_session": self.quiet,
        }
        child = self.start_child(self.launch.command, **how) if self.start_child else None
        self.child: Child = child or subprocess.Popen(self.launch.command, **how)
        self.leaving.callback(self._end_for_good)
        if not self.quiet:
            self.leaving.enter_context(PassedOn(self.child))

    def until_it_ends(self) -> str:
        """Gives why the watcher ended it, or nothing."""
        looked = 0.0
        stopped = ""
        with end_of(self.child) as end, self.asker.also(end):
            while self.child.poll() is None and not stopped:
                self._answer_crashes(POLL)
                now = time.monotonic()
                if now - looked >= SAMPLE:
                    looked = now
                    stopped = self._guarded("the running script", self._too_much, now) or ""
                    stopped = stopped or self._news(now)
        if stopped:
            self._stop(stopped)
        self.child.wait()
        self.ended = time.monotonic()
        return stopped

    def _too_much(self, now: float) -> str:
        limits = self.limits
        self.peak = max(self.peak, resident(self.child.pid))
        if limits.seconds is not None and now - self.began > limits.seconds:
            return "time"
        if limits.bytes_ is not None and self.peak > limits.bytes_:
            return "memory"
        if limits.hang_after is not None and self._stands_still(now, limits.hang_after):
            return "hang"
        if self.seat is not None and self.seat.reports and self.seat.failed():
            self.other_failed = self.other_failed or now
            if now - self.other_failed > PATIENCE:
                return "rank"
        return ""

    def _news(self, now: float) -> str:
        """Looks at what was recorded since the last time, seldom enough to cost little."""
        if self.on_news is None or now < self.next_news:
            return ""
        ends = self._guarded("the growing recording", self._look_at_news, self.on_news)
        cost = time.monotonic() - now
        self.next_news = now + max(NEWS, NEWS_COST * cost)
        return FINDING if ends else ""

    def _look_at_news(self, on_news: OnNews) -> bool:
        recording = self.growing.news()
        return recording is not None and on_news(recording)

    def _stands_still(self, now: float, seconds: float) -> bool:
        events = sum(last.events for last in map(read_last, self.folder.glob("*.last")) if last)
        if events != self.progress[0]:
            self.progress = events, now
        return now - self.progress[1] > seconds

    def _stop(self, why: str) -> None:
        if why == "hang":
            death = self._guarded("the stacks", self._remains().by_standing_still, self.child.pid)
            self.seen += [death] if death is not None else []
        if why in ("hang", "rank"):
            self._end(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(5)
        for patience in INTERRUPTED if why == FINDING else ():
            self._end(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(patience)
                break
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        for pid in reversed(tree(self.child.pid)):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _end_for_good(self) -> None:
        if self.child.poll() is None:
            self._end(signal.SIGKILL)
            self.child.wait()
        if self.quiet:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, signal.SIGKILL)

    def _answer_crashes(self, patience: float) -> None:
        try:
            for crashed in self.asker.crashed(patience):
                try:
                    if self.on_crash is not None:
                        self.on_crash(self._recording(), crashed.ask)
                finally:
                    self.answers += crashed.answers
                    crashed.close()
        except Exception as error:  # noqa: BLE001 - see _guarded
            self._could_not("questions to a crashed process", error)
            time.sleep(patience)

    def leave_word(self, stopped: str) -> None:
        """In a launched run: for the rank that reports; and that one waits here for the others."""
        number = -(self.child.returncode or 0)
        if number > 0 and not stopped:
            by_signal = self._remains().by_signal
            death = self._guarded("the end of the process", by_signal, self.child.pid, number)
            self.seen += [death] if death is not None else []
        if self.seat is None:
            return
        self._guarded("this rank", self.seat.has_ended, self._code(stopped), self.seen)
        self.seen = []
        ends = time.monotonic() + PATIENCE if self._code(stopped) else float("inf")
        while self.seat.reports and self.seat.running() and time.monotonic() < ends:
            self._answer_crashes(POLL)

    def _remains(self) -> Remains:
        return Remains(self.folder, self.launch.cwd, self.kernel, self.peak)

    def _code(self, stopped: str) -> int:
        """As a shell would say it; that of the rank that failed, where this one was only ended."""
        if stopped == "rank" and self.seat is not None:
            return self.seat.failed() or 1
        if stopped == FINDING:
            return 1
        code = self.child.returncode or 0
        return code if code >= 0 else 128 - code

    def result(self, stopped: str) -> Watched:
        code = self._code(stopped)
        whole = found = self._guarded("the run", self._recording) or Recording([])
        goal = self._guarded("the steps it was to take", self._goal)
        if goal:
            found = self._guarded("the run", self._recording, goal) or found
            if all(crash.swallowed for crash in found.all(Crash)):
                code, stopped = 0, ""
        later = whole if goal else None
        known = [one for one in found.observations if self._matters(one, code)]
        known = [self._with_remains(one) if isinstance(one, Death) else one for one in known]
        known += self._guarded("all processes", self._unobserved) or []
        known += [one for one in self.seen if isinstance(one, NotObserved) and one not in known]
        steps = max((one.steps for one in known if isinstance(one, Steps)), default=0)
        seconds = self.ended - self.began
        launch = self.launch
        ended = Ended(launch.command, launch.script, code, seconds, self.peak or None, steps)
        return Watched(Recording(latest([*known, ended])), code, seconds, stopped, later)

    def _goal(self) -> dict[str, int]:
        """By process: the bytes it had written when it came to the steps that were asked for."""
        return {file.stem: int(file.read_text()) for file in self.folder.glob(f"*{GOAL}")}

    def _recording(self, up_to: Mapping[str, int] | None = None) -> Recording:
        lines: list[str] = []
        for file in sorted(self.folder.glob("*.jsonl")):
            written = file.read_bytes()[: (up_to or {}).get(file.stem)]
            lines += written.decode("utf-8", "replace").splitlines()
        recorded = read([*lines, *map(as_line, self.seen)], self.launch.cwd)
        recorded.observations += self.answers
        return recorded

    def _matters(self, one: Observation, code: int) -> bool:
        """What a script starts may end as it likes, as long as the script itself ends well."""
        if not isinstance(one, Death) or one.how == "hang" or one.process.pid == self.child.pid:
            return True
        return bool(code or (self.seat.failed() if self.seat else 0))

    def _with_remains(self, death: Death) -> Death:
        return self._guarded("the end of a process", self._remains().told, death) or death

    def _unobserved(self) -> list[NotObserved]:
        file = self.folder / "unobserved"
        lines = file.read_text().splitlines() if file.is_file() else []
        found = [NotObserved("a Python process", line) for line in dict.fromkeys(lines)]
        if not any(self.folder.glob("*.jsonl")) and not lines:
            why = "it started no Python that reads PYTHONPATH (-I, -E or -S, or another program)"
            found.append(NotObserved("the whole run", why))
        return found

    def _guarded(self, what: str, work: Callable[..., Result], *given: Any) -> Result | None:
        try:
            return work(*given)
        except Exception as error:  # noqa: BLE001 - said with what was not observed
            self._could_not(what, error)
            return None

    def _could_not(self, what: str, error: Exception) -> None:
        found = NotObserved(what, f"surefit failed: {type(error).__name__}: {error}")
        if found not in self.seen:
            self.seen.append(found)
