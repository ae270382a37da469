"""What only real processes show: the budget under a limit, ends of threads, rows over ranks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feature_arrays import write_shards

STEPS, FEATURES = 20, 271
ROW = STEPS * FEATURES * 4
GB = 1_000_000_000

UNDER_A_LIMIT = """
import gc, json, resource, sys
from pathlib import Path
import torch
from surefit.data.features.loaders import loaders
from surefit.errors import BadInput

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.split(":")[0] in name)

def run(folder, budget, batch, workers, allowed):
    torch.ones(1) + 1
    gc.collect()
    before = status(["RssAnon", "RssShmem"])
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (status(["VmData"]) + allowed, hard))
    try:
        train, test, data = loaders(
            folder, batch, budget / 1e9, steps=20, features=271, shuffle="blocks", workers=workers
        )
    except BadInput as refused:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return {"refused": refused.findings[0].code}
    most = steps = 0
    for step, batch in zip(range(data.plan.window + 3), train):
        most = max(most, status(["RssAnon", "RssShmem"]) - before)
        steps += 1
    for batch in test:
        most = max(most, status(["RssAnon", "RssShmem"]) - before)
        break
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    return {"most": most, "planned": data.plan.bytes, "steps": steps, "window": data.plan.window}

folder, budget, batch, *workers = sys.argv[1:]
made = [run(folder, int(budget), int(batch), int(count), int(budget)) for count in workers]
made.append(run(folder, int(budget), int(batch), 1, int(budget) // 5))
print(json.dumps(made))
"""


def sparse(path: Path, rows: int) -> Path:
    """A file that takes no room: all of its rows are zero."""
    path.mkdir()
    header = np.lib.format.header_data_from_array_1_0(np.empty((0, STEPS, FEATURES), "float32"))
    with (path / "part-0.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, STEPS, FEATURES)})
        file.truncate(file.tell() + rows * ROW)
    return path


def ran(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA and /proc are Linux's")
@pytest.mark.parametrize(
    ("gigabytes", "batch", "workers"), [(0.3, 256, "012"), (1.0, 256, "02"), (4.0, 2048, "1")]
)
def test_the_budget_is_a_hard_bound(
    tmp_path: Path, gigabytes: float, batch: int, workers: str
) -> None:
    budget = int(gigabytes * GB)
    folder = sparse(tmp_path / "data", 3 * budget // ROW)
    child = ran(UNDER_A_LIMIT, str(folder), str(budget), str(batch), *workers)
    assert child.returncode == 0, child.stderr
    found: list[dict[str, Any]] = json.loads(child.stdout)
    for one in found[:-1]:
        assert one["steps"] > one["window"]
        assert one["most"] <= one["planned"] <= budget
    assert max(one["most"] for one in found[:-1]) > budget / 2  # it was put to the test
    assert found[-1] == {"refused": "SF054"}  # memory that the system has not got


IN_THE_MIDDLE = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from surefit.data.features.loaders import loaders
train, test, data = loaders(sys.argv[1], 8, 0.1, steps=3, features=5, workers=2)
running = iter(train)
next(running)
print("begun", flush=True)
if sys.argv[2] == "fail":
    raise ZeroDivisionError
if sys.argv[2] == "wait":
    while True:
        time.sleep(0.05)
        for batch in train:
            pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = np.zeros((400, 3, 5), "float32")
    rows[:, 0, 0] = np.arange(400)
    return write_shards(tmp_path / "data", rows[:250], rows[250:])


@pytest.mark.slow
def test_a_program_ends_in_the_middle_of_a_pass(folder: Path) -> None:
    ended = ran(IN_THE_MIDDLE, str(folder), "end")
    assert (ended.returncode, ended.stderr) == (0, "")
    failed = ran(IN_THE_MIDDLE, str(folder), "fail")
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == "ZeroDivisionError"


@pytest.mark.slow
def test_control_c_ends_it(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", IN_THE_MIDDLE, str(folder), "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    assert child.returncode in (1, -signal.SIGINT)
    assert said.splitlines()[-1] == "KeyboardInterrupt"


A_RANK = """
import os, sys, torch
import torch.distributed as dist
from surefit.data.features.loaders import loaders
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", f"file://{sys.argv[2]}", rank=rank, world_size=2)
train, test, data = loaders(sys.argv[1], 9, 0.1, steps=3, features=5, held_out=0.1)
for epoch in range(2):
    counts = torch.zeros(400, dtype=torch.int64)
    for loader in (train, test):
        for batch in loader:
            counts += torch.bincount(batch["inputs_embeds"][:, 0, 0].long(), minlength=400)
            steps = torch.tensor([1])
            dist.all_reduce(steps)  # every rank has as many steps
            assert steps.item() == 2
    own = int(counts.sum())
    dist.all_reduce(counts)
    assert (counts == 1).all()
    assert abs(own - 200) <= len(train) + len(test)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_see_every_row_exactly_once(folder: Path, tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", A_RANK, str(folder), str(tmp_path / "meet")],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
