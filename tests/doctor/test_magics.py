"""What only IPython understands is taken out of a cell, and no line moves."""

import pytest

from surefit.source.magics import without_magics

CELL = '''\
%matplotlib inline
!pip install -q torch \\
    peft
said = """
!important
%not a magic
"""
rest = (7
  % 4)
%time trainer.train(rest)
files = !ls *.py
if rest:
    !ls
    %env WANDB_MODE=disabled run
model?
%cd ../data
%run other.py
'''


def plain(text: str) -> str:
    return "\n".join(without_magics(text.split("\n")).lines)


def left_out(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.text) for one in without_magics(text.split("\n")).left_out]


def test_every_kind_of_line() -> None:
    made = plain(CELL).split("\n")
    compile("\n".join(made), "cell", "exec")
    assert len(made) == len(CELL.split("\n"))
    assert made[3:9] == CELL.split("\n")[3:9]
    assert made[9].index("trainer") == CELL.split("\n")[9].index("trainer")
    names: dict[str, object] = {}
    exec("\n".join(made[10:11]), names)
    assert names["files"] == []


def test_what_a_training_can_depend_on_is_told() -> None:
    assert left_out(CELL) == [
        (2, "!pip install -q torch \\"),
        (11, "files = !ls *.py"),
        (13, "!ls"),
        (17, "%run other.py"),
    ]


@pytest.mark.parametrize(
    "text", ["x = 7 % 4", "a != b", 's = "100%"', "x = [\n%y\n]".replace("%y", "1")]
)
def test_python_stays_as_it_is(text: str) -> None:
    assert plain(text) == text
    assert left_out(text) == []


@pytest.mark.parametrize("magic", ["time", "capture output", "timeit -n 1"])
def test_a_cell_magic_about_python(magic: str) -> None:
    made = plain(f"%%{magic}\nx = 1\n!ls")
    assert made.split("\n") == [f"pass  # %%{magic}", "x = 1", "pass  # !ls"]
    assert left_out(f"%%{magic}\nx = 1\n!ls") == [(3, "!ls")]


def test_a_cell_of_something_else() -> None:
    assert plain("%%bash\nrm -r x\nfi (") == "pass  # %%bash\n# rm -r x\n# fi ("
    assert left_out("%%bash\nrm -r x") == [(1, "%%bash")]
    assert left_out("%%html\n<b>") == []


def test_what_is_broken_stays_so() -> None:
    assert plain("x = (1\n") == "x = (1\n"
