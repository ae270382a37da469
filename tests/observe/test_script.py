"""The script is the main program, as if nobody watched."""

import signal
import sys
from pathlib import Path

import pytest

from running import Ran, forked_run, observed, plainly, surefit_run, written
from surefit.doctor.observations import Crash, Ended, NotObserved, Script
from surefit.observe.script import Launch, python_command, watch

ABOUT_ITSELF = """
    '''What a script can know of itself.'''
    from __future__ import annotations
    import atexit, inspect, os, pickle, sys, threading, time

    class Kept:
        def __init__(self) -> None:
            self.number: int = 3

    def source() -> str:
        return inspect.getsource(source)

    def late() -> None:
        time.sleep(0.2)
        print("late", pickle.loads(pickle.dumps(Kept())).number, __name__, source()[:12])

    def last() -> None:
        kept = pickle.loads(pickle.dumps(Kept()))
        print("last", kept.number, sys.modules["__main__"].Kept is type(kept) is Kept)

    main = sys.modules["__main__"]
    print(sys.argv, sys.orig_argv[1:], sys.path[0], __file__, __name__, __doc__)
    print(__spec__, __package__, __cached__, type(__loader__).__name__, list(vars(main))[:9])
    print(source(), Kept.__module__, Kept.__init__.__annotations__, inspect.getfile(Kept))
    print([hook.__qualname__ for hook in sys.path_hooks])
    print(os.getcwd(), [entry for entry in sys.path if "surefit" in entry and "observe" in entry])
    try:
        raise ValueError("caught")
    except ValueError as error:
        print(error.__traceback__.tb_lineno, error.__traceback__.tb_next)
    atexit.register(last)
    threading.Thread(target=late).start()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return written(tmp_path, about_itself=ABOUT_ITSELF)


def assert_same(plain: Ran, with_surefit: Ran) -> None:
    assert with_surefit.out == plain.out
    assert with_surefit.err == plain.err
    assert with_surefit.code == plain.code
    assert with_surefit.faults == []


@pytest.mark.parametrize(
    "typed",
    ["about_itself.py", "./about_itself.py", "sub/../about_itself.py", "{}/about_itself.py"],
)
def test_knows_the_same_of_itself(typed: str, script: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    words = [typed.format(tmp_path), "--lr", "3e-4"]
    plain, with_surefit = plainly(words, tmp_path), observed(words, tmp_path)
    assert "late 3 __main__ def source()" in plain.out
    assert "last 3 True" in plain.out
    assert_same(plain, with_surefit)
    (main,) = [one for one in with_surefit.seen.all(Script) if one.main]
    assert (main.file, main.text) == (script.name, script.read_text())
    assert [one.raised_at and one.raised_at.line for one in with_surefit.swallowed] == [27]


def test_through_a_symbolic_link(script: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.py").symlink_to(script)
    words = ["elsewhere/link.py"]
    assert_same(plainly(words, tmp_path), observed(words, tmp_path))


def test_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    written(
        tmp_path / "package",
        __init__="",
        train="""
            import sys
            from . import other
            print(sys.argv[1:], __name__, __package__, __spec__.name, sys.path[0], other.ONE)
            other.fail()
        """,
        other="""
            ONE = 1
            def fail():
                [][ONE]
        """,
    )
    words = ["-m", "package.train", "-x"]
    plain, with_surefit = plainly(words, tmp_path), observed(words, tmp_path)
    assert plain.code == 1
    assert_same(plain, with_surefit)
    assert with_surefit.crash.kind == "IndexError"
    frame = with_surefit.crash.own_frame
    assert frame is not None
    assert (str(frame.place), frame.expression) == ("package/other.py:3", "[][ONE]")
    read = {one.file for one in with_surefit.seen.all(Script)}
    assert read == {"package/__init__.py", "package/train.py", "package/other.py"}


ENDINGS = {
    "falls off the end": ("print('done')", 0),
    "sys.exit(3)": ("import sys; sys.exit(3)", 3),
    "sys.exit in words": ("import sys; sys.exit('bye')", 1),
    "exception": ("def f(x):\n    return 1 / x\nf(0)", 1),
    "chained": (
        "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no a') from e",
        1,
    ),
    "group": ("raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])", 1),
    "recursion": ("def f():\n    f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)", 0),
    "syntax error": ("print('never')\ndef f(:\n    pass", 1),
    "bytes that are no text": ("print('\udcff')", 1),
    "os._exit(7)": ("import os; print('x', flush=True); os._exit(7)", 7),
    "abort": ("import os; os.abort()", -signal.SIGABRT),
    "interrupt": ("raise KeyboardInterrupt", -signal.SIGINT),
    "exit at exit": ("import atexit, os; atexit.register(os._exit, 4)", 4),
    "warning": ("import warnings\ndef f():\n    warnings.warn('w', stacklevel=2)\nf()", 0),
    "wrong escape": ("import re; print(re.split('\\d', 'a1b'))\ntry: 1\nexcept OSError: 2", 0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_ends_the_same_way(ending: str, tmp_path: Path) -> None:
    text, code = ENDINGS[ending]
    script = tmp_path / "ending.py"
    script.write_bytes(text.encode(errors="surrogateescape"))
    plain, with_surefit = plainly([script.name], tmp_path), observed([script.name], tmp_path)
    assert plain.code == code, plain.err
    assert_same(plain, with_surefit)


def test_syntax_error_in_a_module_is_told_as_python_tells_it(tmp_path: Path) -> None:
    script = written(tmp_path, main="import broken", broken="x = (1,\ny = 2\n")
    plain, with_surefit = plainly([script], tmp_path), observed([script], tmp_path)
    assert_same(plain, with_surefit)
    assert with_surefit.crash.said == "SyntaxError: '(' was never closed (broken.py, line 1)"
    frame = with_surefit.crash.own_frame
    assert frame is not None
    assert (str(frame.place), frame.line) == ("broken.py:1", "x = (1,")


def test_error_while_a_module_is_imported(tmp_path: Path) -> None:
    script = written(tmp_path, main="import first", first="import second", second="import nowhere")
    plain, with_surefit = plainly([script], tmp_path), observed([script], tmp_path)
    assert plain.code == 1
    assert_same(plain, with_surefit)


def test_modules_are_found_as_python_finds_them(tmp_path: Path) -> None:
    """A folder of data beside the script hides no package, and a package no module."""
    (tmp_path / "json").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "space").mkdir()
    script = written(
        tmp_path,
        main="""
            import sys
            sys.path[1:1] = ["lib", 3, b"bytes"]
            import importlib.util, json, mine, space
            print(json.dumps(1), mine.__file__, type(mine.__spec__.loader).__mro__[-3].__name__)
            print(list(space.__path__), space.__file__, importlib.reload(mine).ONE)
            print(importlib.util.find_spec("absent"), importlib.util.find_spec("broken").origin)
        """,
        mine="ONE = 1",
        broken="def",
    )
    plain, with_surefit = plainly([script], tmp_path), observed([script], tmp_path)
    assert plain.code == 0, plain.err
    assert_same(plain, with_surefit)


def test_sitecustomize_of_the_users_own_runs(tmp_path: Path) -> None:
    written(tmp_path, sitecustomize="import sys; print('mine', sys.argv, __name__, __file__)")
    script = written(tmp_path, main="import sitecustomize; print(sitecustomize.__file__)")
    more = {"PYTHONPATH": str(tmp_path)}
    plain = plainly([script], tmp_path, **more)
    with_surefit = observed([script], tmp_path, **more)
    assert plain.out.startswith("mine")
    assert_same(plain, with_surefit)
    assert with_surefit.seen.all(Script)


def test_children_are_observed_too(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        main="""
            import subprocess, sys
            sys.exit(subprocess.run([sys.executable, "child.py"]).returncode)
        """,
        child="int('x')",
    )
    with_surefit = observed([script], tmp_path)
    assert with_surefit.code == 1
    assert with_surefit.crash.said == "ValueError: invalid literal for int() with base 10: 'x'"
    assert with_surefit.crash.process.role == "child"


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-IB"])
def test_says_which_child_is_not_observed(flag: str, tmp_path: Path) -> None:
    script = written(
        tmp_path,
        main="""
            import subprocess, sys
            subprocess.run([sys.executable, sys.argv[1], "child.py"], check=True)
        """,
        child="print('ran')",
    )
    with_surefit = observed([script, flag], tmp_path)
    assert with_surefit.out == "ran\n"
    (said,) = with_surefit.seen.all(NotObserved)
    assert said.what == "a Python process that the script started"
    assert said.why == f"`{sys.executable} {flag} child.py` does not read PYTHONPATH"


def test_says_that_a_child_with_another_environment_is_not_observed(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        main="import subprocess, sys; subprocess.run([sys.executable, 'c.py'], env={})",
        c="print('ran')",
    )
    with_surefit = observed([script], tmp_path)
    (said,) = with_surefit.seen.all(NotObserved)
    assert said.why == f"`{sys.executable} c.py` was given an environment of its own"


def test_says_when_nothing_was_observed(tmp_path: Path) -> None:
    script = written(tmp_path, main="print('ran')")
    watched = watch(Launch((sys.executable, "-I", str(script)), tmp_path), quiet=True)
    assert watched.code == 0
    (said,) = watched.recording.all(NotObserved)
    assert said.what == "the whole run"


def test_watches_a_run_to_its_end(tmp_path: Path) -> None:
    script = written(tmp_path, main="import sys; sys.exit(int(sys.argv[1]))")
    watched = watch(Launch((sys.executable, str(script), "5"), tmp_path, "main.py"), quiet=True)
    assert (watched.code, watched.stopped) == (5, "")
    (ended,) = watched.recording.all(Ended)
    assert (ended.script, ended.code, ended.command[1:]) == ("main.py", 5, (str(script), "5"))
    assert ended.seconds > 0


def test_ends_a_run_that_takes_too_long(tmp_path: Path) -> None:
    script = written(tmp_path, main="import time; time.sleep(60)")
    watched = watch(Launch((sys.executable, str(script)), tmp_path), quiet=True, seconds=0.5)
    assert (watched.code, watched.stopped) == (128 + signal.SIGKILL, "time")


def test_crashes_are_told_while_the_process_waits(tmp_path: Path) -> None:
    script = written(tmp_path, main="numbers = [1, 2]\nnumbers[2]")
    told: list[str] = []
    watch(
        Launch((sys.executable, str(script)), tmp_path),
        quiet=True,
        on_crash=lambda seen, _ask: told.extend(crash.said for crash in seen.all(Crash)),
    )
    assert told == ["IndexError: list index out of range"]


def test_what_is_run_for_the_words_of_a_call(tmp_path: Path) -> None:
    assert python_command(["train.py", "-x"]) == (sys.executable, "train.py", "-x")
    assert python_command(["-m", "package"]) == (sys.executable, "-m", "package")
    assert python_command(["train"]) == (sys.executable, "train")
    beside = str(Path(sys.executable).parent / "torchrun")
    assert Path(python_command(["torchrun", "x.py"])[0]).name == Path(beside).name
    assert python_command([str(tmp_path / "none.py")])[0] == sys.executable


CODES = {
    "its own": ("import sys; sys.exit(3)", [], 3),
    "a signal": ("import os; os.kill(os.getpid(), 9)", [], 137),
    "good": ("print('fine')", [], 0),
    "an exception": ("1 / 0", [], 1),
    "good, and --exit-zero": ("print('fine')", ["--exit-zero"], 0),
    "an exception, and --exit-zero": ("1 / 0", ["--exit-zero"], 1),
}


@pytest.mark.parametrize("case", CODES)
def test_exit_code_is_the_scripts(case: str, tmp_path: Path) -> None:
    text, flags, code = CODES[case]
    script = written(tmp_path, main=text)
    ran = surefit_run([script], tmp_path, flags)
    assert ran.code == code
    assert ran.document["ended"]["code"] == code


SWALLOWS = """
    import torch
    from torch import nn
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        loss = model(torch.randn(4, 2)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    total = 0.0
    model.eval()
    for batch in range(6):
        try:
            logits = model(torch.randn(3, 5))
            total += nn.functional.cross_entropy(logits, torch.tensor([0, 0, 0])).item()
        except RuntimeError:
            total = 100.0
    print(total)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "code"), [([], 1), (["--exit-zero"], 0)])
def test_silent_failure_is_an_error_unless_told_otherwise(
    flags: list[str], code: int, tmp_path: Path
) -> None:
    script = written(tmp_path, main=SWALLOWS)
    ran = forked_run([script], tmp_path, ["--no-proof", *flags])
    assert ran.out == "100.0\n"
    assert "swallowed-evaluation" in ran.rules()
    assert ran.code == code


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_signals_are_passed_on(name: str, tmp_path: Path) -> None:
    """Who ends `surefit run` ends the script, by a handler of the script's own, once."""
    script = written(
        tmp_path,
        main="""
            import os, signal, sys, time
            number = signal.Signals[sys.argv[1]]
            count = []
            def saved(number, frame):
                count.append(number)
            signal.signal(number, saved)
            os.kill(os.getppid(), number)
            ends = time.monotonic() + 60
            while not count and time.monotonic() < ends:
                time.sleep(0.05)
            time.sleep(0.5)
            print("saved", len(count))
            sys.exit(6)
        """,
    )
    ran = surefit_run([script, name], tmp_path)
    assert ran.out == "saved 1\n"
    assert ran.code == 6


def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path) -> None:
    script = written(tmp_path, main="1 / 0")
    (tmp_path / "temporary").mkdir()
    surefit_run([script], tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert list((tmp_path / "temporary").iterdir()) == []
