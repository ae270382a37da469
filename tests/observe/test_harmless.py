"""Healthy scripts print, end and compute the same with `surefit run` as without."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import Ran, forked_plainly, forked_run, plainly, surefit_run

SCRIPTS = Path(__file__).parent / "harmless"

slow = pytest.mark.slow

HEALTHY = [
    pytest.param("plain_loop.py", ["--epochs", "3"], 0, id="plain loop"),
    pytest.param("threads.py", [], 0, marks=slow, id="threads"),
    pytest.param("torch_function.py", [], 0, marks=slow, id="custom __torch_function__"),
    pytest.param("forked_model.py", [], 0, marks=slow, id="a model that is forked"),
    pytest.param("workers_fork.py", [], 0, marks=slow, id="workers by fork"),
    pytest.param("workers_spawn.py", [], 0, marks=slow, id="workers by spawn"),
    pytest.param("trainer.py", [], 0, marks=slow, id="Trainer"),
    pytest.param("trainer.py", ["3"], 3, marks=slow, id="sys.exit in a callback"),
    pytest.param("trl_sft.py", [], 0, marks=slow, id="TRL"),
    pytest.param("accelerated.py", [], 0, marks=slow, id="accelerate"),
    pytest.param("compiled.py", [], 0, marks=slow, id="torch.compile"),
    pytest.param("two_processes.py", [], 0, marks=slow, id="two gloo processes"),
    pytest.param("subprocesses.py", [], 0, marks=slow, id="subprocesses"),
    pytest.param("mapped.py", [], 0, marks=slow, id="mapped rows"),
]


BY_FORK = {
    "plain_loop.py",
    "threads.py",
    "torch_function.py",
    "forked_model.py",
    "workers_fork.py",
    "compiled.py",
    "trainer.py",
    "trl_sft.py",
    "accelerated.py",
    "mapped.py",
}
"""Scripts that start no Python: plainly, they run in a fork of one that has torch in it."""

SEEN_BY_FORK = {("trainer.py", 3)}
"""Another end of a script that is run from nothing, too."""


def without_times(text: str) -> str:
    """The Trainer prints how long it took."""
    return re.sub(r"'\w+_(runtime|per_second)': '[^']*'", "", text)


def assert_same(plain: Ran, with_surefit: Ran) -> None:
    assert without_times(with_surefit.out) == without_times(plain.out)
    assert "weights " in plain.out
    assert "streams " in plain.out
    assert with_surefit.code == plain.code
    assert with_surefit.faults == []


def unless_torch_aborts(run: Callable[[list[Any], Path], Ran], words: list[Any], at: Path) -> Ran:
    """Again where a process of gloo died while it ended, as it does now and then, with surefit and
    without: torch leaves a thread behind that nobody waits for."""
    for _ in range(3):
        ran = run(words, at)
        if "terminate called without an active exception" not in ran.err:
            break
    return ran


@pytest.mark.parametrize(("script", "arguments", "code"), HEALTHY)
def test_same_output_weights_and_code(
    script: str, arguments: list[str], code: int, tmp_path: Path
) -> None:
    words = [SCRIPTS / script, *arguments]
    plain = unless_torch_aborts(forked_plainly if script in BY_FORK else plainly, words, tmp_path)
    assert plain.code == code, plain.err
    way = forked_run if (script, code) in SEEN_BY_FORK else surefit_run
    with_surefit = unless_torch_aborts(way, words, tmp_path)
    assert_same(plain, with_surefit)
    assert with_surefit.rules() == []
    assert with_surefit.err.startswith(plain.err.rstrip()[:200])


@slow
def test_ctrl_c_ends_it_by_its_signal(tmp_path: Path) -> None:
    plain = plainly([SCRIPTS / "interrupted.py"], tmp_path)
    assert plain.code == -2
    with_surefit = surefit_run([SCRIPTS / "interrupted.py"], tmp_path)
    assert with_surefit.out == plain.out
    assert with_surefit.code == 130
    assert with_surefit.rules() == []
    assert with_surefit.err.startswith(plain.err.rstrip())


@slow
def test_hook_of_the_users_own_prints_the_same(tmp_path: Path) -> None:
    """Also tracebacks that the script prints itself: no frame of surefit is in them."""
    plain = plainly([SCRIPTS / "patched_excepthook.py"], tmp_path)
    assert plain.code == 1
    assert "mine: RuntimeError mat1 and mat2" in plain.out
    with_surefit = surefit_run([SCRIPTS / "patched_excepthook.py"], tmp_path, ["--no-proof"])
    assert_same(plain, with_surefit)
    assert with_surefit.rules() != []


@slow
def test_two_ranks_of_torchrun(tmp_path: Path) -> None:
    launched = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    plain = plainly([*launched, SCRIPTS / "two_ranks.py"], tmp_path)
    assert plain.code == 0, plain.err
    with_surefit = surefit_run([*launched, SCRIPTS / "two_ranks.py"], tmp_path)
    assert_same(plain, with_surefit)
    assert with_surefit.rules() == []
