"""A fault of surefit itself never hides the user's own error: it is a line below it."""

import re
from pathlib import Path

import pytest

from running import Ran, plainly, run_here, written

FAILS = """
    import os
    def area(sides):
        return sides[0] * sides[2]

    def tolerant(text):
        try:
            return int(text)
        except ValueError:
            return 0

    print("started", tolerant("x"))
    area([2, 3])
"""
WORKS = FAILS.replace("area([2, 3])", "print(area([2, 3, 4]))")

BROKEN_OBSERVER = {
    "the look at a crash": """
        from surefit.observe.inside.autopsy import crash
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        crash.stack = broken
    """,
    "values": """
        from surefit.observe.inside.autopsy import values, crash
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        crash.describe = broken
    """,
    "the failing expression": """
        from surefit.observe.inside.autopsy import expressions
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        expressions.failed_at = broken
    """,
    "handlers": """
        from surefit.observe.inside.caught import swallowed
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        swallowed._first = broken
        swallowed.enter = broken
    """,
    "the compiling of sources": """
        from surefit.observe.inside.caught import swallowed
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        swallowed.probed = broken
    """,
    "the end": """
        from surefit.observe.inside import finishing
        @finishing.at_end
        def broken():
            raise RuntimeError("broken on purpose")
    """,
    "answers": """
        from surefit.observe.inside.autopsy import questions
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        questions.answer_parent = broken
    """,
    "a half-written observation": """
        import os
        with open(os.path.join(os.environ.get("SUREFIT_SPOOL", "."), "1.jsonl"), "w") as out:
            out.write('{"saw": "Crash", "id": 3}\\n{"saw": "Nothing"}\\n[1]\\n\\xff\\n{"saw": "Sc')
    """,
}
"""Run by a `sitecustomize` of the test's own, after surefit's."""


def assert_own_error_is_whole(plain: Ran, ran: Ran) -> None:
    assert ran.out == plain.out
    assert ran.code == plain.code
    assert ran.err.startswith(plain.err)


def lines_of_surefit(ran: Ran) -> list[str]:
    return [line for line in ran.err.splitlines() if line.startswith("surefit: ")]


@pytest.mark.parametrize("part", BROKEN_OBSERVER)
@pytest.mark.parametrize("text", [FAILS, WORKS], ids=["fails", "works"])
def test_fault_in_the_observer(part: str, text: str, tmp_path: Path) -> None:
    script = written(tmp_path, script=text)
    (tmp_path / "fault").mkdir()
    plain = plainly([script], tmp_path)
    written(tmp_path / "fault", sitecustomize=BROKEN_OBSERVER[part])
    ran = run_here([script], tmp_path, PYTHONPATH=str(tmp_path / "fault"))
    assert_own_error_is_whole(plain, ran)
    assert "This is a bug in surefit" not in ran.err
    assert "Traceback" not in ran.err[len(plain.err) :]


@pytest.mark.parametrize("part", ["the look at a crash", "values", "the end"])
def test_fault_in_the_observer_is_a_line(part: str, tmp_path: Path) -> None:
    script = written(tmp_path, script=FAILS)
    (tmp_path / "fault").mkdir()
    written(tmp_path / "fault", sitecustomize=BROKEN_OBSERVER[part])
    ran = run_here([script], tmp_path, PYTHONPATH=str(tmp_path / "fault"))
    told = [line for line in lines_of_surefit(ran) if "broken on purpose" in line]
    assert told
    assert all(re.match(r"surefit: not observed: .*: RuntimeError: broken", line) for line in told)
    assert any("broken on purpose" in line for line in ran.document["not_observed"])


def test_what_else_was_seen_is_still_told(tmp_path: Path) -> None:
    """Only the values are lost: the line that failed is not."""
    script = written(tmp_path, script=FAILS)
    (tmp_path / "fault").mkdir()
    written(tmp_path / "fault", sitecustomize=BROKEN_OBSERVER["values"])
    ran = run_here([script], tmp_path, PYTHONPATH=str(tmp_path / "fault"))
    (finding,) = ran.document["findings"]
    assert finding["place"]["line"] == 3
    assert finding["python_said"] == "IndexError: list index out of range"


BROKEN_PARENT = {
    "a rule": (
        "surefit.rules.run.unrecognised_crash",
        "RULE.checks[0] = (RULE.checks[0][0], broken)",
        "the rule unrecognised-crash failed: RuntimeError: broken on purpose",
    ),
    "the diagnosis": (
        "surefit.examination",
        "diagnose = broken",
        "the diagnosis failed: RuntimeError: broken on purpose",
    ),
    "the proof": (
        "surefit.examination",
        "prove = broken",
        "the proof failed: RuntimeError: broken on purpose",
    ),
    "the folder before the run": (
        "surefit.examination",
        "snapshot = broken",
        "the folder before the run failed: RuntimeError: broken on purpose",
    ),
    "the reading of the spool": (
        "surefit.observe.watching",
        "read = broken",
        "not observed: the run: surefit failed: RuntimeError: broken on purpose",
    ),
    "the watching": (
        "surefit.observe.watching",
        "resident = broken",
        "not observed: the running script: surefit failed: RuntimeError: broken on purpose",
    ),
    "the asking": (
        "surefit.observe.watching",
        "Asker.crashed = broken",
        "not observed: questions to a crashed process: surefit failed: RuntimeError: broken on",
    ),
}
"""Module of the parent, what is done to it, and the line that tells of it."""


@pytest.mark.parametrize("part", BROKEN_PARENT)
def test_fault_in_the_parent(part: str, tmp_path: Path) -> None:
    module, change, told = BROKEN_PARENT[part]
    driver = f"""
        import sys
        import {module} as module
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        vars(module)["broken"] = broken
        exec({change!r}, vars(module))
        from surefit.cli import main
        sys.exit(main(["run", sys.argv[1]]))
    """
    script = written(tmp_path, script=FAILS, driver=driver)
    plain = plainly([script], tmp_path)
    ran = plainly(["driver.py", script], tmp_path)
    assert_own_error_is_whole(plain, ran)
    below = ran.err[len(plain.err) :]
    assert "Traceback" not in below
    assert any(line.startswith(f"surefit: {told}") for line in below.splitlines()), below


def test_fault_in_the_parent_leaves_a_healthy_run_alone(tmp_path: Path) -> None:
    driver = """
        import sys
        from surefit.observe import watching
        def broken(*_, **__):
            raise RuntimeError("broken on purpose")
        watching.resident = watching.read = watching.Asker.crashed = broken
        from surefit.cli import main
        sys.exit(main(["run", sys.argv[1]]))
    """
    slow = f"{WORKS}\n    import time; time.sleep(1); print('to the end')\n"
    script = written(tmp_path, script=slow, driver=driver)
    plain = plainly([script], tmp_path)
    ran = plainly(["driver.py", script], tmp_path)
    assert plain.out.endswith("to the end\n")
    assert (ran.out, ran.code) == (plain.out, 0)


def test_a_spool_that_cannot_be_written(tmp_path: Path) -> None:
    """A full disk: the script does not notice, and one line says that nothing was seen."""
    script = written(
        tmp_path,
        script="""
            import os, shutil
            shutil.rmtree(os.environ.get("SUREFIT_SPOOL", "absent"), ignore_errors=True)
            print("on")
            try:
                int("x")
            except ValueError:
                print("still on")
            [][0]
        """,
    )
    plain = plainly([script], tmp_path)
    ran = run_here([script], tmp_path)
    assert_own_error_is_whole(plain, ran)
    assert "not observed: the whole run" in ran.err


def test_another_version_of_python_internals(tmp_path: Path) -> None:
    """Where the step of start-up is missing that swaps the code, the script runs as it is."""
    script = written(tmp_path, script=FAILS)
    (tmp_path / "fault").mkdir()
    written(
        tmp_path / "fault",
        runpy="""
            import sys
            here = sys.path.pop(0)
            del sys.modules["runpy"]
            import runpy
            sys.path.insert(0, here)
            del runpy._run_code
        """,
    )
    plain = plainly([script], tmp_path)
    ran = run_here([script], tmp_path, PYTHONPATH=str(tmp_path / "fault"))
    assert (ran.out, ran.code) == (plain.out, plain.code)
    assert "IndexError: list index out of range" in ran.err
