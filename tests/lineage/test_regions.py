"""Long loops are noted in parts; what is carried on over them is found all the same."""

from pathlib import Path

import pytest

from recorded_lineage import recording, run, texts
from surefit.observe.inside.lineage import regions

STEPS = 200


@pytest.fixture
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "FREE_NOTES", -1)
    monkeypatch.setattr(regions, "FIRST_TURNS", 3)


CARRIED = {
    "name": ("x = [0]", "x = x + [i]", "x", {"[0]", "x + [i]"}),
    "scalar": ("x = 0.5", "x = x * 0.9", "x", {"0.5", "x * 0.9"}),
    "augmented": ("x = 0.5", "x += len(str(i))", "x", {"0.5", "x += len(str(i))"}),
    "attribute": ("box.x = (1, 2)", "box.x = box.x + (i,)", "box.x", {"(1, 2)", "box.x + (i,)"}),
    "augmented attribute": ("box.x = 0.5", "box.x += 1.5", "box.x", {"0.5", "box.x += 1.5"}),
    "item": (
        "d = {'x': [0]}",
        "d['x'] = d['x'] + [i]",
        "d['x']",
        {"d['x'] = d['x'] + [i]", "d['x'] + [i]"},
    ),
    "list": ("x = [[3]]", "x.append([i, 3])", "x", {"[[3]]", "x.append([i, 3])", "[i, 3]"}),
    "an early item": ("x = [[3, 4]]", "x.append([i, 3])", "x[0]", {"[3, 4]"}),
    "a late item": ("x = []", "x.append([i, 3])", "x[-1]", {"[i, 3]"}),
    "unchanged": ("x = [5, 6]", "y = x", "y", {"[5, 6]"}),
    "function": (
        "def f(a, b):\n    return a + [b]\nx = [0]",
        "x = f(x, i)",
        "x",
        {"[0]", "a + [b]", "f(x, i)"},
    ),
    "method": (
        "class C:\n    def __init__(self):\n        self.h = [1, 2]\n"
        "    def __call__(self, i):\n        self.h = self.h + [i]\n        return self.h\nc = C()",
        "x = c(i)",
        "x",
        {"[1, 2]", "self.h + [i]", "c(i)"},
    ),
}


@pytest.mark.usefixtures("few_turns")
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("deep", [False, True])
def test_what_is_carried_on_is_found(name: str, deep: bool, tmp_path: Path) -> None:
    before, step, asked, through = CARRIED[name]
    lines = [f"stepped(i, [{STEPS}])", f"if i == {STEPS}:", f"    ask({asked})"]
    if deep:
        # Loops inside, and a turn of the outer one that is left out when the step comes.
        loop = [f"for epoch in range({STEPS} // 8 + 1):", "    for j in range(8):"]
        loop += [f"        {line}" for line in ("i = epoch * 8 + j", *lines[:1], step, *lines[1:])]
    else:
        loop = [f"for i in range({STEPS} + 1):", *(f"    {line}" for line in (lines[0], step))]
        loop += [f"    {line}" for line in lines[1:]]
    source = "class Box: pass\nbox = Box()\n" + "\n".join([before, *loop])
    with recording() as recorder:
        names = run(source, tmp_path, recorder)
    assert regions.has_gaps()
    assert recorder.total < 60 * STEPS / 5
    found = set(texts(names["asked"][0]))
    assert through <= found, source


@pytest.mark.usefixtures("few_turns")
def test_an_item_is_not_taken_for_the_one_that_was_noted_in_its_place(tmp_path: Path) -> None:
    source = "rows = [[i, 3 * i] for i in range(400)]\nask(rows[5])\nask(rows[2])\n"
    with recording() as recorder:
        left_out, noted = run(source, tmp_path, recorder)["asked"]
    assert "[[i, 3 * i] for i in range(400)]" in texts(left_out)
    assert texts(noted)[:2] == ["[i, 3 * i]", "3 * i"]
    assert "[[i, 3 * i] for i in range(400)]" not in texts(noted)


@pytest.mark.usefixtures("few_turns")
def test_the_turn_in_which_a_fault_comes_is_told_and_noted_next_time(tmp_path: Path) -> None:
    source = """
def fails(i):
    for j in range(3):
        x = [i, j, 7]
        if i == 777:
            1 / 0
for i in range(900):
    fails(i)
"""

    def told(fault: dict[str, int] | None) -> tuple[dict[str, int] | None, int]:
        with recording(fault) as recorder:
            try:
                run(source, tmp_path, recorder)
            except ZeroDivisionError as error:
                frames, at = [], error.__traceback__
                while at is not None:
                    frames.append(at.tb_frame)
                    at = at.tb_next
                return regions.left_out(frames), recorder.total
        raise AssertionError

    turn, notes = told(None)
    assert turn is not None
    assert turn["turn"] == 778
    again, more = told(turn)
    assert again is None
    assert more < notes + 200


@pytest.mark.usefixtures("few_turns")
def test_an_expression_that_is_asked_about_is_noted_in_every_turn(tmp_path: Path) -> None:
    source = "for i in range(300):\n    x = i * 3\n"
    with recording() as recorder:
        recorder.wrapped = lambda file: regions.note_always(file, 2)
        run(source, tmp_path, recorder)
    assert not regions.has_gaps() or max(recorder.counts.values()) >= 300


def test_everything_is_noted_in_the_steps_that_are_asked_about_and_before_each() -> None:
    with recording() as recorder:
        noted = []
        for step in range(1, 11):
            recorder.stepped(step, [0, 5, 9])
            noted.append((step, bool(regions.everything)))
    assert [step for step, everything in noted if everything] == [4, 5, 8, 9]
