"""Runs of several processes of which a seed kills one, resumed with another number of them."""

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from .children import Child, begin, surefit
from .ends import nearly, steps_of
from .outcomes import Outcome, last_line, refused, succeeded
from .trainings import Training

TWICE = 0.4
"""The share of sharded runs of which a process is killed again when they were resumed."""

LAST_SAFE = 0.7
"""The share of a run's steps after which it could end before it is killed."""


@dataclass(frozen=True, slots=True)
class Alone:
    """An unbroken run in one process, whose sums those of several come near to."""

    training: Training
    out: Path
    steps: int


def run_alone(training: Training, place: Path) -> Alone:
    place.mkdir()
    out = place / "run"
    child = begin(surefit(training.without_dropout(out)), place / "log.txt")
    if child.wait() != 0:
        raise RuntimeError(f"an unbroken run fails:\n{child.said}")
    return Alone(training, out, steps_of(out))


def killed_ranks(alone: Alone, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    recipe = alone.training.recipe
    for processes in (2, 4):
        outcome = Outcome(f"{recipe}: a rank of {processes} killed, resumed with another number")
        for number in range(times):
            name = f"{recipe}-rank-of-{processes}-{seed}-{number}"
            outcome.add(name, _killed(alone, place / name, Random(name), processes))
        yield outcome


def killed_shards(alone: Alone, place: Path, times: int, seed: int) -> Iterator[Outcome]:
    """Weights are spread over two processes by `fully_shard`, before the kill and after it."""
    recipe = alone.training.recipe
    outcome = Outcome(f"{recipe}: a rank of 2 under FSDP killed, resumed under FSDP")
    twice = 0
    for number in range(times):
        name = f"{recipe}-shard-{seed}-{number}"
        random = Random(name)
        here, kills = place / name, 1 + (random.random() < TWICE)
        here.mkdir()
        lost = _killed_in_shards(alone, here, random, kills)
        twice += kills > 1
        outcome.add(name, lost)
    outcome.what += f", {twice} of them twice in a row" if twice else ""
    yield outcome


def _killed(alone: Alone, place: Path, random: Random, processes: int) -> list[str]:
    place.mkdir()
    out = place / "run"
    step = random.randint(1, int(alone.steps * LAST_SAFE))
    ranks = launched(surefit(alone.training.started(out, processes)), processes, place, "killed")
    lost = _kill_one(ranks, out, step, random)
    again = random.choice([number for number in (1, 2, 4) if number != processes])
    resumed = launched(surefit(alone.training.resumed(out)), again, place, "resumed")
    return [*lost, *_losses_at_the_end(alone, resumed, out)]


def _killed_in_shards(alone: Alone, place: Path, random: Random, kills: int) -> list[str]:
    out, recipe = place / "run", alone.training.recipe
    last = int(alone.steps * LAST_SAFE)
    lost: list[str] = []
    for kill in range(kills):
        begun = (out / "settings.json").exists()
        words = alone.training.resumed(out) if begun else alone.training.started(out, 2)
        step = random.randint(1 + kill * last // kills, (kill + 1) * last // kills)
        ranks = launched(in_shards(recipe, surefit(words)), 2, place, f"killed-{kill}")
        lost += _kill_one(ranks, out, step, random)
    words = alone.training.resumed(out)
    resumed = launched(in_shards(recipe, surefit(words)), 2, place, "resumed")
    return [*lost, *_losses_at_the_end(alone, resumed, out)]


def in_shards(recipe: str, work: Callable[[], int]) -> Callable[[], int]:
    """The command with its model sharded over the processes that run it."""

    def sharded() -> int:
        from .sharding import sharding

        module = sys.modules[f"surefit.recipes.{recipe}"]
        vars(module)["make_accelerator"] = sharding(vars(module)["make_accelerator"])
        return work()

    return sharded


def _kill_one(ranks: list[Child], out: Path, step: int, random: Random) -> list[str]:
    """Any of them, a moment after a step; what the others should have said and did not."""
    rank = random.randrange(len(ranks))
    while steps_of(out) < step and all(child.is_running() for child in ranks):
        time.sleep(0.002)
    time.sleep(random.random() * 0.1)
    ranks[rank].kill()
    return [f"rank {number}: {line}" for number, line in _others(ranks, rank)]


def _losses_at_the_end(alone: Alone, ranks: list[Child], out: Path) -> Iterator[str]:
    for child in ranks:
        yield from succeeded(child)
    yield from nearly(alone.out, out)


def _others(ranks: list[Child], killed: int) -> Iterator[tuple[int, str]]:
    """They end with a finding, by themselves; one of them tells it."""
    others = [child for number, child in enumerate(ranks) if number != killed]
    for number, child in enumerate(others):
        if child.wait() in (None, 0):
            yield number, f"exit code {child.code}: {last_line(child.said)}"
    if not any("other-process-died" in child.said for child in others):
        yield 0, refused(others[0], "other-process-died")[0]


def launched(work: Callable[[], int], processes: int, place: Path, name: str) -> list[Child]:
    """As `torchrun` starts them, but for the launcher; one process alone is none of several."""
    if processes == 1:
        return [begin(work, place / f"{name}.txt")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        "WORLD_SIZE": processes,
        "LOCAL_WORLD_SIZE": processes,
        "GROUP_RANK": 0,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": f"{place.name}-{name}",
    }
    return [
        begin(
            _under(work, {**common, "RANK": rank, "LOCAL_RANK": rank}),
            place / f"{name}-{rank}.txt",
        )
        for rank in range(processes)
    ]


def _under(work: Callable[[], int], launch: dict[str, object]) -> Callable[[], int]:
    def under() -> int:
        os.environ.update({name: str(value) for name, value in launch.items()})
        return work()

    return under
