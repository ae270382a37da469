"""What observing costs a training step, and how long a diagnosis takes.

    python benchmarks/observe.py [--rounds 30] [--only mlp|gpt2|delays|tries]

Three processes train the same model for as long as this runs: one observed as `surefit run` does
it, two not observed, which are the noise floor. They take turns, a block of steps each, in an order
that is shuffled in every round; the others wait meanwhile. A ratio is that of two blocks of one
round, in CPU time of the whole process; the table has the median over all rounds, with an interval
from 2000 resamplings of the rounds.

Where a ratio does not resolve what is small, the observer's time is counted directly, in a fourth
process: clocks around every function through which training enters the observer, and for the
wrappers around calls of modules the number of calls times the time of one.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]
BOOT = ROOT / "src" / "surefit" / "observe" / "inside" / "boot"
RESAMPLINGS = 2000

Arm = Literal["plain", "plain again", "observed", "counted"]


@dataclass(frozen=True, slots=True)
class Workload:
    """A model, and how many of its steps are a block."""

    name: str
    block: int
    warm: int
    """Steps before anything is measured: in the first ones the observer looks at all it can, once
    for about half a second in all."""
    aim: float
    """Share of a step that observing is to stay below."""


WORKLOADS = (
    Workload("mlp", 400, 3000, 0.10),
    Workload("gpt2", 1, 2, 0.02),
)


@dataclass(frozen=True, slots=True)
class Block:
    """What a process says of a block of steps: seconds."""

    cpu: float
    wall: float
    own: float
    """Counted directly; 0 where nothing is counted."""


# ---------------------------------------------------------------- in the processes that train


def train(workload: str, counting: bool) -> None:
    """Reads a number of steps from each line of standard input, trains them, answers in JSON."""
    clock = Clock()
    if counting:
        count_entries(clock)
    step = {"mlp": mlp, "gpt2": gpt2}[workload]()
    step()
    idle = idle_seconds(step) if counting else 0.0
    print("ready", flush=True)
    waiting = time.perf_counter()
    for line in sys.stdin:
        steps, spent = int(line), clock.spent
        leave_out(time.perf_counter() - waiting)
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(steps):
            step()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        own = clock.spent - spent + idle * steps
        print(json.dumps({"cpu": cpu, "wall": wall, "own": own}), flush=True)
        waiting = time.perf_counter()


def leave_out(seconds: float) -> None:
    """The turns of others are no time of the run, of which the observer has its share."""
    budget = sys.modules.get("surefit.observe.inside.training.budget")
    for each in budget._all if budget is not None else ():
        each.begun += seconds if each.begun else 0.0
        each.due += seconds if each.due else 0.0


def mlp() -> Callable[[], None]:
    """About a millisecond."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows, labels = torch.randn(256, 64), torch.randint(0, 10, (256,))

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()

    return step


def gpt2() -> Callable[[], None]:
    """6 layers, width 384, batches of 8 x 256 tokens."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=384, n_head=6, n_positions=256))
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, 50257, (8, 256))

    def step() -> None:
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


class Clock:
    """CPU time inside the observer; what an entry calls in turn is counted once."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.inside = False
        self.empty = 0.0
        self.empty = median_of(self.timed(lambda: None), lambda: self.spent)
        self.spent = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def entry(*args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return function(*args, **kwargs)
            self.inside = True
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent += time.thread_time() - began - self.empty
                self.inside = False

        return entry


def median_of(call: Callable[[], Any], total: Callable[[], float]) -> float:
    """By how much a total grows with one call."""
    grown = []
    for _ in range(2000):
        before = total()
        call()
        grown.append(total() - before)
    return statistics.median(grown)


ENTRIES = {
    "forwards": ("begin", "end", "nested"),
    "backward": ("begin", "end"),
    "letters": ("note",),
    "losses": ("note",),
    "stepping": ("_before", "_after"),
}
WRAPPED = 4
"""Calls of a step that go through a wrapper: clearing, loss, backward, clipping."""


def count_entries(clock: Clock) -> None:
    """Before torch is imported, because that is when the observer takes its functions from here."""
    for name, functions in ENTRIES.items():
        module = sys.modules[f"surefit.observe.inside.training.{name}"]
        for function in functions:
            setattr(module, function, clock.timed(getattr(module, function)))


def idle_seconds(step: Callable[[], None]) -> float:
    """What the wrappers themselves cost a step: the number of calls times the time of one."""
    import torch

    from surefit.observe.inside.training.under_way import now
    from surefit.observe.inside.unseen import around

    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    hook = torch.nn.modules.module.register_module_forward_pre_hook(count)
    step()
    hook.remove()
    part, kind = torch.nn.Identity(), torch.nn.Module
    now.inside = True
    more = best(kind.__call__, part, None) - best(kind._wrapped_call_impl, part, None)
    now.inside = False

    def plain(_: None) -> None:
        pass

    wrapper = best(around(plain, lambda _args, _kwargs: False), None) - best(plain, None)
    return calls * max(0.0, more) + WRAPPED * wrapper


def best(function: Callable[..., Any], *args: Any) -> float:
    """Seconds of one call, the least over several thousands."""
    return min(timeit.repeat(lambda: function(*args), number=1000, repeat=20)) / 1000


# ---------------------------------------------------------------- in the process that measures


class Trainer:
    """A process that trains when it is told to."""

    def __init__(self, workload: Workload, arm: Arm, spool: Path) -> None:
        self.arm = arm
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        if arm in ("observed", "counted"):
            where = spool / arm
            where.mkdir()
            environment |= {"PYTHONPATH": str(BOOT), "SUREFIT_SPOOL": str(where)}
        command = [sys.executable, __file__, "--train", workload.name]
        self.process = subprocess.Popen(
            [*command, "--count"] if arm == "counted" else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._answer()

    def steps(self, count: int) -> Block:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return Block(**json.loads(self._answer()))

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process {self.arm!r} has ended")
        return line

    def end(self) -> None:
        self.process.communicate()


@dataclass(frozen=True, slots=True)
class Interval:
    """A median, and where 95 % of the medians of resampled rounds lie."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        places = 2 if abs(self.middle) < 0.005 else 1
        shown = [f"{value:+.{places}%}" for value in (self.middle, self.low, self.high)]
        return f"{shown[0]} ({shown[1]} to {shown[2]})"


def interval(values: Sequence[float], chance: random.Random) -> Interval:
    medians = sorted(
        statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLINGS)
    )
    low, high = medians[int(0.025 * RESAMPLINGS)], medians[int(0.975 * RESAMPLINGS)]
    return Interval(statistics.median(values), low, high)


def measure(workload: Workload, rounds: int) -> str:
    """A line of the table."""
    chance = random.Random(0)
    arms: tuple[Arm, ...] = ("plain", "plain again", "observed", "counted")
    blocks: dict[Arm, list[Block]] = {arm: [] for arm in arms}
    with tempfile.TemporaryDirectory(prefix="surefit-") as spool:
        trainers = {arm: Trainer(workload, arm, Path(spool)) for arm in arms}
        for trainer in trainers.values():
            trainer.steps(workload.warm)
        for _ in range(rounds):
            for arm in chance.sample(arms, len(arms)):
                blocks[arm].append(trainers[arm].steps(workload.block))
        for trainer in trainers.values():
            trainer.end()
    cpu = {arm: [block.cpu for block in blocks[arm]] for arm in arms}
    more = [one / other - 1 for one, other in zip(cpu["observed"], cpu["plain"], strict=True)]
    noise = [one / other - 1 for one, other in zip(cpu["plain again"], cpu["plain"], strict=True)]
    own = [block.own / (block.cpu - block.own) for block in blocks["counted"]]
    step = statistics.median(cpu["plain"]) / workload.block
    shown = f"{step * 1000:.2f} ms" if step < 1 else f"{step:.2f} s"
    return (
        f"| {workload.name} | {shown} | {rounds} × {workload.block} | {interval(more, chance)} | "
        f"{interval(noise, chance)} | {interval(own, chance)} | {workload.aim:.0%} |"
    )


CASES = ("ragged-labels", "feature-width-mismatch", "view-of-a-slice")
"""Scripts that crash, of the tests of their rules."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds from an exception to the end of `surefit run`, CPU seconds of all of it, and what the
    proof said."""

    seconds: float
    cpu: float
    proof: str


def delay(case: str, prove: bool) -> Delay:
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        here = Path(shutil.copytree(ROOT / "tests" / "cases" / case, Path(folder) / "case"))
        record, told = Path(folder) / "record.jsonl", Path(folder) / "told.json"
        asked = ["--record", record, "--json", told, *([] if prove else ["--no-proof"])]
        command = [sys.executable, "-m", "surefit", "run", *map(str, asked), "bad.py"]
        kept = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        before = cpu_of_children()
        subprocess.run(command, cwd=here, env=kept, capture_output=True, check=False)
        ended, cpu = time.time(), cpu_of_children() - before
        seen = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        findings = json.loads(told.read_text(encoding="utf-8"))["findings"]
    raised = min(one["at"] for one in seen if one["saw"] == "Crash")
    proofs = [fix["proof"]["status"] for fix in findings[0]["fixes"] if fix.get("proof")]
    return Delay(ended - raised, cpu, proofs[0] if proofs else "none")


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def delays(case: str, times: int) -> str:
    """A line of the second table."""
    diagnosed = [delay(case, prove=False) for _ in range(times)]
    proved = [delay(case, prove=True) for _ in range(times)]
    seconds = [statistics.median(one.seconds for one in every) for every in (diagnosed, proved)]
    cpu = [statistics.median(one.cpu for one in every) for every in (diagnosed, proved)]
    return (
        f"| {case} | {seconds[0]:.1f} s | {seconds[1]:.1f} s | {cpu[0]:.1f} s | {cpu[1]:.1f} s |"
        f" {proved[0].proof} |"
    )


MOST_TRIES = 10


def tries(case: str, count: int) -> tuple[float, float]:
    """Seconds in which so many fixes of one crash are tried, the same one each time; CPU seconds of
    the whole examination."""
    from dataclasses import replace
    from unittest.mock import patch

    from surefit.examination import examine
    from surefit.observe.script import Launch
    from surefit.proof.trial import prove

    def several(findings: Any, *args: Any, **how: Any) -> Any:
        first = next(fix for fix in findings[0].fixes if fix.edit and fix.must)
        began = time.monotonic()
        proved = prove([replace(findings[0], fixes=(first,) * count)], *args, **how)
        took.append(time.monotonic() - began)
        held.extend(fix.has_held for fix in proved[0].fixes)
        return proved

    took: list[float] = []
    held: list[bool] = []
    before = cpu_of_children()
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        here = Path(shutil.copytree(ROOT / "tests" / "cases" / case, Path(folder) / "case"))
        launch = Launch((sys.executable, "bad.py"), here, "bad.py")
        with patch("surefit.examination.prove", several):
            examine(launch, proof_seconds=600.0)
    if held != [True] * count:
        raise RuntimeError(f"{sum(held)} of {count} tries held")
    return took[0], cpu_of_children() - before


def tries_line(case: str, times: int) -> str:
    """A line of the third table."""
    single = [tries(case, 1) for _ in range(times)]
    several = [tries(case, MOST_TRIES) for _ in range(times)]
    both = (single, several)
    figures = [statistics.median(one[at] for one in every) for at in (0, 1) for every in both]
    return "| " + " | ".join([case, *(f"{value:.1f} s" for value in figures)]) + " |"


HEAD = (
    "| model | step, CPU | rounds × steps | observed | two unobserved | counted directly | aim |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)

DELAYS_HEAD = (
    "| case | from crash to diagnosis | from crash to proof | CPU, diagnosis | CPU, proof |"
    " proof |\n| --- | --- | --- | --- | --- | --- |"
)
TRIES_HEAD = (
    f"| case | one try | {MOST_TRIES} tries | CPU of all, one | CPU of all, {MOST_TRIES} |\n"
    "| --- | --- | --- | --- | --- |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--only", choices=[*names, "delays", "tries"])
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.train:
        train(asked.train, asked.count)
        return
    for workload in WORKLOADS:
        if asked.only in (None, workload.name):
            print(f"{HEAD}\n{measure(workload, asked.rounds)}\n", flush=True)
    if asked.only in (None, "delays"):
        print(DELAYS_HEAD)
        for case in CASES:
            print(delays(case, times=3), flush=True)
    if asked.only in (None, "tries"):
        print(f"\n{TRIES_HEAD}")
        for case in ("ragged-labels", "view-of-a-slice"):
            print(tries_line(case, times=3), flush=True)


if __name__ == "__main__":
    main()
