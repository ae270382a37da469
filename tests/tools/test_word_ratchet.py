"""Words to avoid are counted; a count that rises or was not lowered fails, each by itself."""

import json
import os
from pathlib import Path

import pytest

from tools.word_ratchet import INSTEAD, STORED, all_uses, main

VARIABLE, PARAMETER, CLASSES, PHRASES = json.loads(STORED.read_text())
"""Names of the counts."""

FIRST = '''\
"""A whole number; Whole numbers, go
through; a function that writes_anew; go on without it; renewed."""

class Width:
    """The user must say, for only you know
    it."""

for one in [one for one in (1, 2)]:
    print(one, lambda one: one)

def shown(one: int, *, other: int) -> str:
    # kind
    # of number
    match one:
        case [one, *_]:
            return f"without {one} " f"a " \\
                f"word"
    with open("x") as one, open("y") as other:
        return ("goes without "
                f"a word")
'''
SECOND = """\
class Width: ...

def inner():
    class Height: ...
    class Single: ...

class Height: ...
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "surefit"
    (package / "rules").mkdir(parents=True)
    (tmp_path / "docs" / "rules").mkdir(parents=True)
    (package / "first.py").write_text(FIRST)
    (package / "rules" / "second.py").write_text(SECOND)
    (tmp_path / "docs" / "rules" / "page.md").write_text("The loss **wants a\ngradient**.\n")
    for age, name in enumerate(["first.py", "rules/second.py"]):
        os.utime(package / name, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


def stored(root: Path, **changes: int) -> Path:
    file = root / "counts.json"
    counts = {what: len(uses) for what, uses in all_uses(root).items()}
    more = {VARIABLE: "variable", PARAMETER: "parameter", CLASSES: "classes", PHRASES: "phrases"}
    file.write_text(
        json.dumps({what: n + changes.get(more[what], 0) for what, n in counts.items()})
    )
    return file


def test_what_is_counted(root: Path) -> None:
    uses = all_uses(root)
    assert [use.line for use in uses[VARIABLE]] == [8, 8, 18]
    assert sorted(use.line for use in uses[PARAMETER]) == [9, 11, 15]
    assert [(use.file.name, use.line, use.advice) for use in uses[CLASSES]] == [
        ("first.py", 4, "another name for `Width`, which is also a class at second.py:1"),
        ("second.py", 7, "another name for `Height`, which is also a class at second.py:4"),
    ]
    assert [(use.file.name, use.line, use.advice) for use in uses[PHRASES]] == [
        ("page.md", 1, '"requires grad" instead of "wants a gradient"'),
        ("first.py", 1, '"integer" instead of "whole number"'),
        ("first.py", 1, '"integer" instead of "Whole numbers"'),
        ("first.py", 1, '"iterate" instead of "go through"'),
        ("first.py", 2, '"again" instead of "anew"'),
        ("first.py", 5, '"your choice: ..." instead of "only you know"'),
        ("first.py", 12, '"dtype" instead of "kind of number"'),
        ("first.py", 19, '"silently" instead of "without a word"'),
    ]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_every_phrase_is_counted(phrase: str, root: Path) -> None:
    before = len(all_uses(root)[PHRASES])
    (root / "docs" / "more.md").write_text(f"A {phrase.capitalize()}.\n")
    assert len(all_uses(root)[PHRASES]) == before + 1


def test_equal_counts_pass(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], root, stored(root)) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("count", "what", "line"),
    [
        ("variable", VARIABLE, "src/surefit/first.py:8: name the thing, as in `for frame in fr"),
        ("parameter", PARAMETER, "src/surefit/first.py:11: name the thing, as in `lambda frame"),
        ("classes", CLASSES, "src/surefit/first.py:4: another name for `Width`, which is also "),
        ("phrases", PHRASES, 'docs/rules/page.md:1: "requires grad" instead of "wants a gradie'),
    ],
)
def test_a_count_that_rises_fails(
    count: str, what: str, line: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It cannot be stored, either."""
    file = stored(root, **{count: -1})
    before = json.loads(file.read_text())
    for arguments in ([], ["--update"]):
        assert main(arguments, root, file) == 1
        said = capsys.readouterr().out
        assert said.startswith(
            f"{what}: {before[what] + 1}, and at most {before[what]} are allowed"
        )
        assert f"\n  {line}" in said
        assert len(said.splitlines()) == before[what] + 2, "the other counts are silent"
        assert json.loads(file.read_text()) == before


@pytest.mark.parametrize("count", ["variable", "parameter", "classes", "phrases"])
def test_a_count_that_fell_is_to_be_stored(
    count: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = stored(root, **{count: 3})
    assert main([], root, file) == 1
    (said,) = capsys.readouterr().out.splitlines()
    assert "fewer than the stored" in said
    assert said.endswith("Run `python -m tools.word_ratchet --update`")
    assert main(["--update"], root, file) == 0
    assert main([], root, file) == 0
    assert json.loads(file.read_text()) == {k: len(v) for k, v in all_uses(root).items()}


def test_some_of_many_lines_are_shown_from_the_newest_file(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = stored(root)
    (root / "src" / "surefit" / "newest.py").write_text("one = 1\n" * 30)
    assert main([], root, file) == 1
    first, *shown, last = capsys.readouterr().out.splitlines()
    assert first.startswith("`one` as a variable: 33, and at most 3 are allowed")
    assert shown == [
        f"  src/surefit/newest.py:{line}: name the thing, as in `for frame in frames`"
        for line in range(1, 11)
    ]
    assert last == "  ... and 23 more; files written last come first"


def test_a_flag_it_does_not_know(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--updat"], root, stored(root, classes=1)) == 2
    assert "tools.word_ratchet [--update]" in capsys.readouterr().out
