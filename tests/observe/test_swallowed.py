"""Exceptions that the user's own code caught: how often, where, and that nothing else changes."""

import ast
from pathlib import Path

import pytest

from running import observed, plainly, written
from surefit.doctor.observations import Assigned, Crash

COUNTED = """
    import contextlib

    def parsed(text):
        try:
            value = int(text)
        except (ValueError, TypeError) as error:
            value = -1
        return value

    def nested(text):
        try:
            return int(text)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                return None

    print([parsed(text) for text in ("1", "x", None, "y", "2")])
    print([nested(text) for text in ("1", "1.5", "x")])
    for text in ("a", "1"):
        with contextlib.suppress(ValueError):
            int(text)
    try:
        {}["absent"]
    except KeyError:
        pass
    else:
        print("never")
    finally:
        print("finally")
    def endless():
        try:
            yield 1
        except GeneratorExit:
            print("closed")
    next(endless())
    try:
        raise SystemExit
    except SystemExit:
        print("stayed")
    try:
        raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
    except* ValueError as group:
        print(group.exceptions)
    except* TypeError:
        print("the other")
"""


def test_counts_by_handler_kind_and_line(tmp_path: Path) -> None:
    script = written(tmp_path, script=COUNTED)
    plain, ran = plainly([script], tmp_path), observed([script], tmp_path)
    assert (ran.out, ran.err, ran.code) == (plain.out, plain.err, plain.code)
    assert ran.faults == []
    counted = {
        (one.handler.line, one.said.partition(":")[0]): (one.times, one.entries)
        for one in ran.swallowed
    }
    assert counted == {
        (6, "ValueError"): (2, 5),
        (6, "TypeError"): (1, 5),
        (13, "ValueError"): (2, 3),
        (16, "ValueError"): (1, 2),
        (22, "ValueError"): (1, 2),
        (26, "KeyError"): (1, 1),
        (44, "ExceptionGroup"): (1, 1),
        (46, "ExceptionGroup"): (1, 1),
    }


def test_places_and_what_stands_instead(tmp_path: Path) -> None:
    script = written(tmp_path, script=COUNTED)
    first = observed([script], tmp_path).swallowed[0]
    assert (str(first.handler), first.handler.end_line) == ("script.py:6", 7)
    assert (str(first.tried), first.tried.end_line) == ("script.py:4", 5)
    assert str(first.raised_at) == "script.py:5"
    assert first.said == "ValueError: invalid literal for int() with base 10: 'x'"
    (instead,) = first.instead
    assert isinstance(instead, Assigned)
    assert (instead.name, ast.literal_eval(instead.text), instead.place.line) == ("value", -1, 7)
    assert first.ran == ()
    assert first.crash is None


@pytest.mark.slow
def test_what_was_under_way_and_a_look_into_its_frames(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import torch
            from torch import nn
            model = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 1))
            model.eval()
            total = 0.0
            with torch.no_grad():
                for batch in range(4):
                    try:
                        total += model(torch.ones(2, 3)).sum().item()
                    except RuntimeError:
                        continue
            print(total)
        """,
    )
    ran = observed([script], tmp_path)
    assert ran.out == "0.0\n"
    (one,) = ran.swallowed
    assert (one.times, one.entries, one.ran) == (4, 4, ("module",))
    assert (one.training, one.grad) == (False, False)
    assert [(name.name, name.text, name.place.line) for name in one.instead] == [
        ("total", "0.0", 5)
    ]
    (crash,) = ran.seen.all(Crash)
    assert (crash.id, crash.swallowed) == (one.crash, True)
    assert crash.layer is not None
    assert (crash.layer.path, crash.layer.sizes["in_features"]) == ("1", 5)


def test_modules_that_the_script_imports_count_too(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    written(
        tmp_path / "own", __init__="", parsing="try:\n    int('x')\nexcept ValueError:\n    n = 0\n"
    )
    script = written(tmp_path, script="from own import parsing\nprint(parsing.n)")
    ran = observed([script], tmp_path)
    (one,) = ran.swallowed
    assert (str(one.handler), str(one.raised_at)) == ("own/parsing.py:3", "own/parsing.py:2")


def test_libraries_are_left_alone(tmp_path: Path) -> None:
    """Their own handlers are no business of anybody's, and their code is not compiled again."""
    script = written(
        tmp_path,
        script="""
            import importlib.util, json.decoder
            try:
                json.loads("{")
            except json.JSONDecodeError as error:
                print(error.pos, type(json.decoder.__spec__.loader).__name__)
        """,
    )
    ran = observed([script], tmp_path)
    assert ran.out == "1 SourceFileLoader\n"
    assert [str(one.handler) for one in ran.swallowed] == ["script.py:4"]


@pytest.mark.slow
def test_traceback_that_the_handler_prints_is_pythons(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import sys, traceback
            from torch import nn
            import torch
            def fails():
                nn.Linear(2, 2)(torch.ones(1, 3))
            try:
                fails()
            except RuntimeError as error:
                traceback.print_exc(file=sys.stdout)
                print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
        """,
    )
    plain, ran = plainly([script], tmp_path), observed([script], tmp_path)
    assert "mat1 and mat2" in plain.out
    assert ran.out == plain.out


def test_text_of_an_exception_of_the_users_own_is_not_asked_for(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            class Mine(Exception):
                def __str__(self):
                    print("asked")
                    return "text"
                def __eq__(self, other):
                    print("compared")
                def __bool__(self):
                    print("weighed")
            try:
                raise Mine("given", 3) from Mine("first")
            except Mine:
                print("caught")
            raise Mine("last")
        """,
    )
    plain, ran = plainly([script], tmp_path), observed([script], tmp_path)
    assert (ran.out, ran.err) == (plain.out, plain.err)
    assert ran.swallowed[0].said == "Mine: ('given', 3)"
    assert ran.crash.said == "Mine: last"


def test_a_function_that_is_translated_gets_no_probe(tmp_path: Path) -> None:
    """As numba does: it makes something else of the names that a function uses."""
    script = written(
        tmp_path,
        script="""
            class numba:
                @staticmethod
                def njit(**_):
                    return lambda function: print(function.__name__, function.__code__.co_names)

            @numba.njit(cache=True)
            def translated(x):
                try:
                    return int(x)
                except Exception:
                    return 0

            def as_written(x):
                try:
                    return int(x)
                except Exception:
                    return 0
            print(len(as_written.__code__.co_names))
        """,
    )
    plain, ran = plainly([script], tmp_path), observed([script], tmp_path)
    assert plain.out == "translated ('int', 'Exception')\n2\n"
    assert ran.out == "translated ('int', 'Exception')\n4\n"


def test_a_killed_process_has_left_its_counts(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import os, signal
            for text in "abcdefgh":
                try:
                    int(text)
                except ValueError:
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    (one,) = observed([script], tmp_path).swallowed
    assert (one.times, one.entries) == (8, 8)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_stays_one_graph(backend: str, tmp_path: Path) -> None:
    """A probe in a compiled function breaks no graph and makes no second one."""
    script = written(
        tmp_path,
        script="""
            import contextlib, sys
            import torch
            from torch._dynamo.utils import counters

            def step(x, names):
                try:
                    scale = names["absent"]
                except KeyError:
                    scale = 2.0
                try:
                    y = torch.relu(x) * scale
                except ValueError:
                    y = x
                with contextlib.suppress(KeyError):
                    y = y + names["one"]
                return y.sum()

            whole = torch.compile(step, backend=sys.argv[1], fullgraph=True)
            for size in (3, 3, 3):
                print(whole(torch.ones(size), {"one": 1.0}).item())
            print(dict(counters["stats"]), dict(counters["graph_break"]), dict(counters["frames"]))
        """,
    )
    plain, ran = plainly([script, backend], tmp_path), observed([script, backend], tmp_path)
    assert plain.code == 0, plain.err
    assert "'unique_graphs': 1" in plain.out
    assert (ran.out, ran.code) == (plain.out, 0), ran.err
